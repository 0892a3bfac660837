"""Subjects that look at columns of numbers, or only at their predictions: measured along D1 … DN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from assay.data.schemas import Findings, Predictions
from assay.flows.audits.curation.flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import learners, teacher_of
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import outcomes, start
from assay.infra.subflows import subflow
from assay.tasks.ordering.settings import Ordering
from assay.tasks.subjects.asking_again import as_it_answers_now
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.tables.task import judge_subject, measure_subject, predict_samples, train_subject


@dataclass(frozen=True)
class MeasuredSubject:
    """What one subject says of all samples, and how good that is along D1 … DN, where there is an order."""

    predictions: Artifact[Predictions]
    findings: tuple[Artifact[Findings], ...] = ()


@dataclass(frozen=True)
class TableSubjects:
    """The subjects that came through, by name."""

    subjects: Mapping[str, MeasuredSubject]

    @property
    def predictions(self) -> dict[str, Artifact[Predictions]]:
        """What each subject says of all samples."""
        return {name: one.predictions for name, one in self.subjects.items()}

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """How good they are along the order."""
        return [findings for one in self.subjects.values() for findings in one.findings]


def of_tables(pipeline: Pipeline) -> list[Subject]:
    """The subjects that look at columns of numbers."""
    return [one for one in pipeline.subjects if one not in learners(pipeline)]


@subflow("subjects on tables")
def measure_all(ground: Ground) -> TableSubjects:
    """Every subject on the curated sets."""
    branches = {
        subject.name: start(f"subject {subject.name}", measure_one, ground, subject)
        for subject in of_tables(ground.pipeline)
    }
    return TableSubjects(outcomes(branches))


def measure_one(ground: Ground, subject: Subject) -> MeasuredSubject:
    """Train the subject if it is ours to train, let it predict, and hold it against D1 … DN."""
    data, curation = ground.of(Data), ground.maybe(Curation) or Curation()
    resolved = resolve_subject(subject, ground.folder)
    labels = teacher_of(ground, subject) if subject.train_on == "weak" else None
    learn = partial(train_subject, data.samples, labels, data.classes)
    resolved, files = as_it_answers_now(data.samples, data.classes, resolved, learn)
    predictions = predict_samples(data.samples, data.classes, files, resolved)
    ordering, order = ground.pipeline.asked(Ordering), curation.headline
    if order is None or ordering is None or curation.clusters is None:
        return MeasuredSubject(predictions)
    significance = ground.pipeline.statistics.significance
    measured = measure_subject(
        predictions,
        order.curated,
        data.classes,
        name=subject.name,
        datasets=ordering.datasets,
        permutations=ordering.permutations,
    )
    judged = judge_subject(
        predictions, order.intervals, data.samples, curation.clusters, subject.name, ordering.undecided, significance
    )
    return MeasuredSubject(predictions, (measured, judged))
