"""Gold labels as kinds of audit: how far the annotators agree who gave them, and which of them subjects contradict that
have not learned from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.data.schemas import Findings, LabelDoubts, SampleHardness
from assay.flows import kind
from assay.flows.audits.challenge_clashes import one_class_each, some_subject
from assay.infra.storage.artifacts import Artifact
from assay.tasks.agreement.alpha import Annotators
from assay.tasks.label_errors.confident import LabelErrors
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.kinds import kind_of


def compare_annotators(ground: kind.Ground, settings: Annotators | None) -> kind.Measurements:
    """Read their labels and hold them against each other."""
    from assay.flows.audits.data import Data
    from assay.tasks.agreement.alpha import measure_agreement

    data = ground.of(Data)
    return kind.Measurements(() if settings is None else [measure_agreement(data.samples, data.classes, settings)])


ANNOTATORS = kind.AuditKind(
    "annotators",
    lambda pipeline: pipeline.asked(Annotators) is not None,
    compare_annotators,
    keys=(kind.Key("annotators", Annotators, "[first_reader, second_reader]"),),
    stands_on=("data",),
    measures=(kind.Measured("annotators", metrics_of("annotators"), ("annotators",)),),
    clashes=lambda pipeline: one_class_each(pipeline, "annotators"),
    columns=lambda pipeline: kind.listed_columns(pipeline, Annotators, "annotators", "an annotator's labels are in"),
    background=kind.shown_if_measured("annotators", kind.Late("assay.tasks.agreement.page").page),
)


IN_SAMPLE = "came trained: if it has learned from these labels, it doubts too few of them"


@dataclass(frozen=True)
class DoubtedLabels:
    """The findings, and what is known of every sample with a gold label; nothing without subjects."""

    findings: tuple[Artifact[Findings], ...] = ()
    doubts: Artifact[LabelDoubts] | None = None


def doubt_gold(ground: kind.Ground, settings: LabelErrors | None) -> DoubtedLabels:
    """Hold gold against what subjects say that predict out of their folds, or samples that were set apart."""
    from assay.flows.audits.data import Data
    from assay.flows.audits.subjects_flow import predictions_of
    from assay.infra.stages.runs import current_run
    from assay.tasks.label_errors.confident import doubt_labels

    data, predictions = ground.of(Data), predictions_of(ground)
    if settings is None or not predictions:
        return DoubtedLabels()
    audit = doubt_labels(data.samples, predictions, data.classes, settings)
    for name in came_trained(ground.pipeline, audit.doubts):
        current_run().notice(f"label_errors: {name} {IN_SAMPLE}.")
    return DoubtedLabels((audit.findings,), audit.doubts)


def came_trained(pipeline: kind.AuditRequest, doubts: Artifact[LabelDoubts]) -> list[str]:
    """The subjects that doubt labels, and of which nobody here knows what they learned from."""
    from assay.infra.stages.partitions import collect

    trained = [each.name for each in pipeline.subjects if not kind_of(each).learns(each.named, each.train)]
    asked = set(collect(doubts, ["subject"])["subject"].unique().to_pylist())
    return [name for name in trained if name in asked]


def label_error_clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """There is a subject, and one class a sample."""
    yield from some_subject(pipeline, "label_errors", "are found by what a subject says")
    yield from one_class_each(pipeline, "label_errors")


def gold_doubt(_ground: kind.Ground, made: DoubtedLabels) -> Iterator[Artifact[SampleHardness]]:
    """How little each subject believes the gold label of a sample."""
    from assay.tasks.hardness.measures import GOLD_DOUBT
    from assay.tasks.hardness.task import find_hardness

    if made.doubts is not None:
        yield find_hardness(made.doubts, GOLD_DOUBT, "")


def label_errors_page(ground: kind.Ground, made: DoubtedLabels, findings: FindingIndex) -> Iterator[Part]:
    """How many gold labels are doubtful, and the samples."""
    from assay.flows.audits.data import classes_of
    from assay.infra.stages.partitions import collect
    from assay.tasks.label_errors.page import page as of_labels

    settings = ground.pipeline.asked(LabelErrors)
    if made.doubts is not None and settings is not None:
        notes = [f"{name} {IN_SAMPLE}." for name in came_trained(ground.pipeline, made.doubts)]
        yield of_labels(findings, collect(made.doubts, None), classes_of(ground), settings.shown, notes)


LABEL_ERRORS = kind.AuditKind(
    "label-errors",
    lambda pipeline: pipeline.asked(LabelErrors) is not None,
    doubt_gold,
    keys=(kind.Key("label_errors", LabelErrors, "{}"),),
    stands_on=("data", "tables", "subjects"),
    measures=(kind.Measured("label_errors", metrics_of("label_errors"), ("label_errors",)),),
    clashes=label_error_clashes,
    hardness=gold_doubt,
    page=label_errors_page,
)
