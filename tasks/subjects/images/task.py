"""The stages of an image subject: a network learns from some samples, predicts others, and is measured."""

from __future__ import annotations

import json

from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles, class_names
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, first_rows, map_partitions, read_files, reduce_partitions
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_of
from assay.tasks.subjects.holding_out import columns_of
from assay.tasks.subjects.images.dataset import LABELS, image_findings, predict_table
from assay.tasks.subjects.images.learning import PROBED, learn_images, normalisation_in_words
from assay.tasks.subjects.images.model import CARD
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.token_networks.hugging_face import notice_order
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker


@stage(version=2, title="train", draws=True, gpu=True)
def train_network(training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject) -> TrainedSubject:
    """The subject's files: its network trained on these samples, or with the weights that it came with."""
    names = class_names(collect(classes, None))
    if subject.settings.train is None:  # nothing is learned: some images to look at are enough
        training = write_table(first_rows(training, PROBED), into=Samples, name="probed")
    trained = trained_on_worker(learn_images, training, subject=subject, classes=tuple(names), seeds=stage_seeds())
    if subject.source is not None and subject.settings.train is None:
        from assay.tasks.subjects.images.given_networks import ABOUT

        about = json.loads(read_files(trained.files)[CARD])[ABOUT]
        notice_order(about["config"], f'The network "{subject.settings.network}"', names)
    say(_summary(trained, subject, training.rows))
    return trained


@stage(version=1, title="predictions", gpu=True)
def predict_images(
    evaluation: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Predictions]:
    """What the subject says of every audited image."""
    contents = read_files(files)
    require_classes(contents, classes.rows, subject.settings.name)
    say(f"{subject.settings.network} · {evaluation.rows} images")
    predictions: Artifact[Predictions] = map_partitions(
        predict_table, evaluation, into=Predictions, subject=subject, files=contents
    )
    return predictions


@stage(version=6, title="clean")
def measure_images(
    predictions: Artifact[Predictions], evaluation: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """The findings on one subject and clean images: accuracy, AUC, recall per class, entropy, and if it is constant."""
    names = class_names(collect(classes, None))
    several = LABELS in reduce_partitions(columns_of, evaluation)["columns"]
    columns = ["id", "gold", *([LABELS] if several else [])]
    rows = collect(evaluation, columns)
    findings = image_findings(collect(predictions, None), rows, names, name, groups_of(evaluation))
    say(f"{name} · {_measured(findings)}")
    return write_table(findings_table(findings), into=Findings)


def require_classes(files: dict[str, bytes], classes: int, name: str) -> None:
    """Raises unless the subject's network knows as many classes as the pipeline has."""
    known = json.loads(files[CARD])["classes"]
    if known != classes:
        raise InputError(f"The network of {name} knows {known} classes, and the pipeline has {classes}.")


def _summary(trained: TrainedSubject, subject: ResolvedSubject, samples: int) -> str:
    settings = subject.settings
    last = trained.last_epoch()
    if not last:
        how = "" if settings.mean and settings.std else f" · {normalisation_in_words(subject)}"
        return f"{settings.network}, with the weights it came with{how}"
    aside = last["validation_accuracy"]
    shown = "" if aside is None else f", {aside:.1%} of the validation samples right"
    return f"{settings.network} · {last['epoch']} epochs of {samples} samples{shown}"


def _measured(findings: list[Finding]) -> str:
    by_metric = {finding.metric: finding for finding in findings if not finding.group}
    accuracy, area = by_metric["subject.accuracy"].value, by_metric.get("subject.auc")
    shown = ["–" if value is None else f"{value:.1%}" for value in (accuracy, area and area.value)]
    degenerate = next((f" · {each.verdict}" for each in findings if each.verdict.startswith("degenerate")), "")
    return f"{shown[0]} right, AUC {shown[1]}{degenerate}"
