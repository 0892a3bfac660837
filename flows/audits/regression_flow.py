"""Subjects that predict numbers are asked, and held against the truth and the order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from assay.data.schemas import Findings, PredictedNumbers, Samples
from assay.flows.audits.curation_flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.subjects import of_numbers
from assay.flows.kind import SAMPLES, BySubject, Ground, Handles, Outcomes, Tables
from assay.infra.stages.branches import branch_outcomes, start_each, subflow
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.settings import Ordering
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.numbers.errors import CLEAN
from assay.tasks.subjects.numbers.page import page
from assay.tasks.subjects.numbers.task import measure_numbers, predict_numbers, predict_under_noise, predicted_of
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.spot_check import as_it_answers_now
from assay.tasks.subjects.tables.task import train_subject
from assay.tasks.subjects.task import hold_out


@dataclass(frozen=True)
class Regressed:
    """What one subject predicts of the audited samples, and how good that is."""

    predictions: Artifact[PredictedNumbers]
    findings: tuple[Artifact[Findings], ...]
    audited: Artifact[Samples]


class Regressions(BySubject[Regressed]):
    """The subjects that predict numbers."""


@subflow("regression")
def measure_all(ground: Ground) -> Regressions:
    """Every subject that predicts a number."""
    each = {subject.name: (ground, subject) for subject in of_numbers(ground.pipeline)}
    return Regressions(branch_outcomes(start_each("subject", measure_one, each)))


def measure_one(ground: Ground, subject: Subject) -> Regressed:
    """Ask one subject about the audited samples, and hold it against the truth."""
    data, curation, pipeline = ground.of(Data), ground.maybe(Curation) or Curation(), ground.pipeline
    samples, since = data.samples, pipeline.evaluation.since is not None
    if since:
        samples = hold_out(samples, pipeline.evaluation).evaluation
    resolved, column = resolve_subject(subject, ground.folder), str(subject.predicts)
    learn = partial(train_subject, samples, None, data.classes)
    resolved, files = as_it_answers_now(samples, data.classes, resolved, learn)
    predictions = predict_numbers(samples, files, resolved)
    order = None if since else curation.headline
    curated, intervals = (None, None) if order is None else (order.curated, order.intervals)
    ordering, significance = pipeline.asked(Ordering) or Ordering(), pipeline.statistics.significance
    about = (column, subject.interval, subject.name, ordering, significance)
    noisy = {f"{amount:g}": predict_under_noise(samples, files, resolved, amount) for amount in subject.noise}
    findings = measure_numbers(samples, predictions, curated, intervals, curation.clusters, *about, noisy)
    return Regressed(predictions, (findings,), samples)


def outcomes(ground: Ground, made: Regressions) -> Iterator[Outcomes]:
    """The errors on the samples as they are."""
    for subject in of_numbers(ground.pipeline):
        if (measured := made.subjects.get(subject.name)) is not None:
            tables: Handles = {"predictions": measured.predictions, SAMPLES: measured.audited}
            for name in ("mae", "rmse", "r2", *(() if subject.interval is None else ("coverage",))):
                yield Outcomes(f"regression.{name}", subject.name, str(subject.predicts), tables, CLEAN)


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """What each sample adds to an error."""
    if group:
        return None
    truth = tables.read(SAMPLES, ["id", outcomes.reading])
    answers = tables.read("predictions", ["id", "value", "low", "high"])
    return predicted_of(truth, answers, outcomes.reading).sampled(outcomes.metric.partition(".")[2])


def show(ground: Ground, _made: Regressions, findings: FindingIndex) -> Iterator[Part]:
    """How far off the predicted numbers are."""
    yield page(findings, {subject.name: subject for subject in of_numbers(ground.pipeline)})
