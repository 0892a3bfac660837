"""The models under audit as kinds of audit: on tables along the order, and on images and texts before any challenge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground, Measured
from assay.flows.audits.subjects.clashes import clashes, subject_gate
from assay.tasks.subjects.metrics import METRICS
from assay.tasks.subjects.settings import Subject

if TYPE_CHECKING:
    from assay.data.hardness_schemas import SampleHardness
    from assay.data.schemas import Predictions
    from assay.flows.audits.outcomes import Outcomes, Tables
    from assay.flows.audits.subjects.flow import Examination
    from assay.flows.audits.subjects.on_tables import TableSubjects
    from assay.flows.configuration.mistakes import Where
    from assay.flows.configuration.named_columns import NamedColumn
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.pipeline import Pipeline
    from assay.infra.artifacts import Artifact
    from assay.tasks.reporting.following import Headline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import FindingIndex
    from assay.tasks.statistics.sampled import Sampled


def measure_tables(ground: Ground) -> TableSubjects:
    """Let every subject of tables predict, and hold it against D1 … DN."""
    from assay.flows.audits.subjects.on_tables import measure_all

    return measure_all(ground)


def are_tables(pipeline: Pipeline) -> bool:
    """Whether a subject looks at columns of numbers."""
    from assay.flows.audits.subjects.on_tables import of_tables

    return bool(of_tables(pipeline))


def examine_subjects(ground: Ground) -> Examination:
    """Train every subject of images and texts, let it answer, measure it clean."""
    from assay.flows.audits.subjects.flow import examine

    return examine(ground)


def are_learners(pipeline: Pipeline) -> bool:
    """Whether a subject looks at images or texts."""
    from assay.flows.audits.subjects.flow import learners

    return bool(learners(pipeline))


def hard_for_tables(_ground: Ground, subjects: TableSubjects) -> Iterator[Artifact[SampleHardness]]:
    """What subjects of tables are unsure of, and disagree on."""
    yield from _unsure(subjects.predictions)


def hard_for_learners(_ground: Ground, examination: Examination) -> Iterator[Artifact[SampleHardness]]:
    """What subjects of images and texts are unsure of, learned late, and disagree on."""
    from assay.tasks.hardness.task import find_dynamics

    yield from _unsure(examination.predictions)
    for subject in examination.subjects.values():
        train = subject.resolved.settings.train
        if train is not None and train.snapshots:
            yield find_dynamics(examination.evaluation, *subject.model)


def _unsure(predictions: dict[str, Artifact[Predictions]]) -> Iterator[Artifact[SampleHardness]]:
    from assay.tasks.hardness.measures import CONFIDENCE, MARGIN
    from assay.tasks.hardness.task import find_disagreement, find_hardness

    for name, predicted in predictions.items():
        yield find_hardness(predicted, CONFIDENCE, name)
        yield find_hardness(predicted, MARGIN, name)
    if len(predictions) > 1:
        yield find_disagreement(list(predictions.values()))


def libraries(pipeline: Pipeline) -> Iterator[str]:
    """What computes a network, and what its first step of training loads."""
    from assay.flows.audits.subjects.flow import learners

    subjects = learners(pipeline)
    if any(one.network is not None or one.train is not None for one in subjects):
        yield "torch"
    if any(one.train is not None for one in subjects):
        yield "torch._dynamo"


def are_taught_weakly(pipeline: Pipeline) -> bool:
    """Whether a subject of images or texts learns from the weak labels."""
    from assay.flows.audits.subjects.flow import learners

    return any(one.train_on == "weak" for one in learners(pipeline))


def tables_page(_ground: Ground, _subjects: TableSubjects, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects of tables are along the order."""
    from assay.tasks.subjects.page import names, page

    if names(findings) or findings.select("subject.degenerate", of=""):
        yield page(findings)


def clean_page(_ground: Ground, examination: Examination, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects of images and texts are before anything is done to them, and how they learned."""
    from assay.infra.partitions import collect
    from assay.tasks.statistics.grouped_samples import count_groups
    from assay.tasks.subjects.clean_page import page

    if findings.select("subject", of="clean"):
        curves = {name: collect(one.curve, None) for name, one in examination.subjects.items()}
        yield page(findings, curves, count_groups(examination.evaluation))


def tables_verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether a subject finds the hard end hard."""
    from assay.tasks.subjects.page import verdict

    yield from verdict(findings)


def clean_verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How right a subject is on clean samples."""
    from assay.tasks.subjects.clean_page import verdict

    yield from verdict(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How right the subjects are."""
    from assay.tasks.subjects.followed import followed as of_subjects

    yield from of_subjects(findings)


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The columns that every subject reads, or is held against."""
    for where, subject in placed(pipeline):
        for step, column, reader in _columns_of(subject):
            yield (*where, *step), column, reader


def _columns_of(subject: Subject) -> Iterator[NamedColumn]:
    if subject.classifier is not None:
        yield ("text",), subject.text, "the classifier reads"
    if subject.tagger is not None:
        yield ("tokens",), subject.tokens, "the tagger reads"
        yield ("tags",), subject.tags, "the tagger is held against"
    if subject.scorer is not None:
        yield from ((("pair", at), column, "the scorer reads") for at, column in enumerate(subject.pair))
        yield ("score",), subject.score, "the scorer is held against"
    if subject.predictions is not None:
        yield ("predictions",), subject.predictions, "the predictions are in"
    for at, column in enumerate(subject.features or ()):
        yield ("features", at), column, "the model sees"


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Of the subjects, those whose code, weights or model files cannot be had."""
    from functools import partial

    from assay.flows.configuration.named_things import SUBJECT, tried
    from assay.tasks.subjects.resolved import resolve_subject

    for where, subject in placed(pipeline):
        yield from tried(where, SUBJECT, partial(resolve_subject, subject, folder))


def placed(pipeline: Pipeline) -> Iterator[tuple[Where, Subject]]:
    """Every subject, and where it stands in the pipeline."""
    for position, subject in enumerate(pipeline.subjects):
        yield ("subject",) if pipeline.subject is not None else ("subjects", position), subject


def tables_outcomes(ground: Ground, result: TableSubjects) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.subjects.outcomes import outcomes_of_tables as declared

    yield from declared(ground, result)


def sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.subjects.outcomes import sampled as read

    return read(outcomes, tables, of, group)


def clean_outcomes(ground: Ground, result: Examination) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.subjects.outcomes import outcomes_of_clean as declared

    yield from declared(ground, result)


TABLES = AuditKind(
    "tables",
    are_tables,
    measure_tables,
    stands_on=("data", "curation"),
    measures=(Measured("subject", METRICS, ("subject", "subjects"), gate=subject_gate),),
    clashes=clashes,
    columns=columns,
    missing=missing,
    hardness=hard_for_tables,
    background=tables_page,
    verdict=tables_verdict,
    followed=followed,
    outcomes=tables_outcomes,
    sampled=sampled,
)
SUBJECTS = AuditKind(
    "subjects",
    are_learners,
    examine_subjects,
    stands_on=("data", "curation"),
    only_if={"curation": are_taught_weakly},
    libraries=libraries,
    hardness=hard_for_learners,
    background=clean_page,
    verdict=clean_verdict,
    outcomes=clean_outcomes,
    sampled=sampled,
)
