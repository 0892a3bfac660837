"""The stages of an image subject: samples are set apart, a network learns from some and predicts the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, first_rows, map_partitions, read_files, reduce_partitions
from assay.infra.runs import current_run
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.subjects.grouping_steps import Parted, parting, shared_by_pairs
from assay.tasks.subjects.holding_out import (
    Side,
    alike,
    audited_ids,
    columns_of,
    content_columns,
    content_marks,
    draw_in_proportion,
    require_splits,
    rows_as_they_are,
    rows_on_side,
    splits_in,
)
from assay.tasks.subjects.image_learning import PROBED, learn_images, normalisation_in_words
from assay.tasks.subjects.image_lessons import LABELS
from assay.tasks.subjects.image_measures import clean_findings, predict_table
from assay.tasks.subjects.image_model import CARD
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Evaluation
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker

ROWS = 128  # of a partition that networks work on: small, since each image is worked on for long


class HeldOut(NamedTuple):
    """The samples that may train, and those that are audited; none is in both."""

    training: Artifact[Samples]
    evaluation: Artifact[Samples]


@stage(version=2, title="hold out")
def hold_out(samples: Artifact[Samples], settings: Evaluation, texts: Sequence[str] = ("text",)) -> HeldOut:
    """The samples apart, by their column `split` or else by a hash of what they hold, in partitions of few rows.

    What they hold is the image, or else the columns of `texts`: copies under several ids are on one side, and so are
    samples that share one of several texts, or a document. A split column is obeyed, and if it parts copies, the stage
    says how many.
    """
    by_column = require_splits(reduce_partitions(splits_in, samples, settings=settings)["splits"], settings)
    columns = reduce_partitions(columns_of, samples)["columns"]
    content = content_columns(columns, texts)
    parted = Parted(content) if by_column else parting(samples, settings, columns, content)
    rule: dict[str, Any] = {
        "settings": settings,
        "by_column": by_column,
        "content": parted.content,
        "texts": parted.texts,
    }

    def side(which: Side, only: frozenset[str] | None = None) -> Artifact[Samples]:
        chosen: Artifact[Samples] = map_partitions(
            rows_on_side, samples, into=Samples, name=f"{which}_rows", side=which, only=only, **rule
        )
        if chosen.rows == 0:
            raise InputError(
                f"No sample is left for {which} out of {samples.rows}: look at `evaluation`, or bring more samples."
            )
        dense: Artifact[Samples] = map_partitions(rows_as_they_are, chosen, into=Samples, name=which, rows=ROWS)
        return dense

    only = None
    if settings.limit is not None:
        audited = map_partitions(audited_ids, samples, into=Samples, name="audited", **rule)
        known = collect(audited, ["id", "gold"])
        only = draw_in_proportion(known["id"].to_pylist(), known["gold"].to_pylist(), settings.limit)
    held = HeldOut(side("training"), side("evaluation", only))
    how = f"split {settings.split}" if by_column else f"{settings.holdout:.0%} by hash"
    say(f"{held.evaluation.rows} audited ({how}), {held.training.rows} may train{parted.said}{_copies(held, content)}")
    return held


def _copies(held: HeldOut, content: tuple[str, ...]) -> str:
    """How many audited samples hold what a training sample holds too, as the end of a line; empty where none does."""
    sides = [
        collect(map_partitions(content_marks, side, into=Samples, name=f"content_{at}", content=content), ["content"])
        for at, side in enumerate(held)
    ]
    copies = alike(*(side["content"].to_numpy() for side in sides))
    if not copies:
        return shared_by_pairs(held.training, held.evaluation, content)
    what = "are also" if copies > 1 else "is also"
    said = f"{copies} of the audited samples {what} among those that train, under another id"
    current_run().notice(f"{said}: what is measured on them is no measure of new samples. Mend the split.")
    return f" · {said}"


@stage(version=2, title="train", draws=True, gpu=True)
def train_network(training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject) -> TrainedSubject:
    """The subject's files: its network trained on these samples, or with the weights that it came with."""
    names = class_names(collect(classes, None))
    if subject.settings.train is None:  # nothing is learned: some images to look at are enough
        training = write_table(first_rows(training, PROBED), into=Samples, name="probed")
    trained = trained_on_worker(learn_images, training, subject=subject, classes=tuple(names), seeds=stage_seeds())
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


@stage(version=1, title="clean")
def measure_images(
    predictions: Artifact[Predictions], evaluation: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """The findings on one subject and clean images: accuracy, AUC, recall per class, entropy, and if it is constant."""
    names = class_names(collect(classes, None))
    columns = ["id", "gold", *([LABELS] if _bears_labels(evaluation) else [])]
    findings = clean_findings(collect(predictions, None), collect(evaluation, columns), names, name)
    say(f"{name} · {_measured(findings)}")
    return write_table(findings_table(findings), into=Findings)


def require_classes(files: dict[str, bytes], classes: int, name: str) -> None:
    """Raises unless the subject's network knows as many classes as the pipeline has."""
    known = json.loads(files[CARD])["classes"]
    if known != classes:
        raise InputError(f"The network of {name} knows {known} classes, and the pipeline has {classes}.")


def _bears_labels(samples: Artifact[Samples]) -> bool:
    found: bool = reduce_partitions(columns_of, samples)["columns"] >= {LABELS}
    return found


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
    by_metric = {one.metric: one for one in findings if not one.group}
    accuracy, area = by_metric["subject.accuracy"], by_metric["subject.auc"]
    shown = ["–" if one.value is None else f"{one.value:.1%}" for one in (accuracy, area)]
    degenerate = findings[-1].verdict
    return f"{shown[0]} right, AUC {shown[1]}" + (f" · {degenerate}" if degenerate.startswith("degenerate") else "")
