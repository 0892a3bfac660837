"""The stages of a text subject: it learns from some texts (or comes trained), predicts others, and is measured."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import Reuse, collect, map_partitions, read_files
from assay.infra.runs import current_run
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.grouped_samples import groups_of
from assay.tasks.subjects.cut_short import cut_in_words
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.features import TextFeatures, feature_rows
from assay.tasks.subjects.texts.learning import card_file, learn_texts
from assay.tasks.subjects.texts.measures import predict_table, text_findings
from assay.tasks.subjects.texts.rows import labelled_codes
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker, without_epochs


def train_classifier(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject
) -> TrainedSubject:
    """The subject's files by the stage that makes them: trained on these texts, or as it came."""
    if subject.way == "minilm-linear":
        return fit_classifier(encode_texts(training, subject), classes, subject)
    if subject.way == "small-bert" or (subject.way == "hugging-face" and subject.settings.train is not None):
        return teach_classifier(training, classes, subject)
    return take_classifier(classes, subject)


@stage(version=1, title="train", draws=True, gpu=True)
def teach_classifier(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject
) -> TrainedSubject:
    """A small BERT from scratch, or a Hugging Face model trained further, by epochs on one worker."""
    names = class_names(collect(classes, None))
    trained = trained_on_worker(learn_texts, training, subject=subject, classes=tuple(names), seeds=stage_seeds())
    last = trained.last_epoch()
    aside = last["validation_accuracy"]
    shown = "" if aside is None else f", {aside:.1%} of the validation texts right"
    say(f"{subject.settings.classifier} · {last['epoch']} epochs of {training.rows} texts{shown}")
    return trained


@stage(version=1, title="encode", gpu=True)
def encode_texts(training: Artifact[Samples], subject: ResolvedSubject) -> Artifact[TextFeatures]:
    """MiniLM's features of every training text, once."""
    features: Artifact[TextFeatures] = map_partitions(
        feature_rows, training, into=TextFeatures, text=subject.settings.text
    )
    say(f"features of {features.rows} texts")
    return features


@stage(version=1, title="train")
def fit_classifier(
    features: Artifact[TextFeatures], classes: Artifact[Classes], subject: ResolvedSubject
) -> TrainedSubject:
    """A linear layer on features."""
    from assay.tasks.subjects.texts.linear import about_head, fit_head, head_files

    names = class_names(collect(classes, None))
    known, codes = labelled_codes(collect(features, None), names)
    matrix = np.stack(known["features"].to_numpy(zero_copy_only=False)).astype(np.float64)
    files = head_files(*fit_head(matrix, codes, len(names)))
    card = card_file(subject, names, files, about_head(subject, len(codes), names))
    say(f"{subject.settings.classifier} · a linear layer on {len(codes)} texts")
    return without_epochs(files | card)


@stage(version=1, title="subject")
def take_classifier(classes: Artifact[Classes], subject: ResolvedSubject) -> TrainedSubject:
    """A classifier as it came: the user's function, or a Hugging Face model with its files."""
    names = class_names(collect(classes, None))
    say(f"{subject.settings.classifier}, as it came")
    files: dict[str, bytes] = {}
    if subject.source is None:
        about: dict[str, Any] = {"how": "the user's own function", "code": subject.fingerprint}
    else:
        from assay.tasks.subjects.texts.hugging_face import given_model
        from assay.tasks.subjects.token_networks.class_names import in_its_own_order

        files, about = given_model(subject.source, names)
        if in_its_own_order(json.loads(files["config.json"])):
            current_run().notice(
                f'The classifier "{subject.settings.classifier}" names no classes (LABEL_0, …): its outputs are taken '
                f"for {', '.join(names[:8])}, in this order."
            )
    return without_epochs(files | card_file(subject, names, files, about))


@stage(version=1, title="predictions", gpu=True)
def predict_texts(
    samples: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Predictions]:
    """What the subject says of every text."""
    names = class_names(collect(classes, None))
    predictions: Artifact[Predictions] = map_partitions(
        predict_table,
        samples,
        into=Predictions,
        reuse=Reuse() if subject.is_known_whole else None,
        subject=subject,
        files=read_files(files),
        classes=tuple(names),
    )
    say(f"{subject.settings.classifier} · {samples.rows} texts{cut_in_words(predictions)}")
    return predictions


@stage(version=2, title="clean")
def measure_texts(
    predictions: Artifact[Predictions], samples: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """The findings on one subject: accuracy, AUC, recall per class, and a flag if it always says the same."""
    names = class_names(collect(classes, None))
    rows = collect(samples, ["id", "gold"])
    findings = text_findings(collect(predictions, None), rows, names, name, groups_of(samples))
    right = next(one for one in findings if one.metric == "subject.accuracy")
    constant = next((one.verdict for one in findings if one.verdict.startswith("degenerate")), "")
    shown = "no gold labels to measure by" if right.value is None else f"{right.value:.1%} of {right.n} right"
    say(f"{name} · {shown}" + (f" · {constant}" if constant else ""))
    return write_table(findings_table(findings), into=Findings)
