"""Tests of independence of every subject (shifted windows, closed symmetries), and the synthetic experiments that
show what to expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.data.schemas import (
    Findings,
    IndependenceTests,
    Samples,
    ShiftedWindows,
    SubjectFiles,
    SyntheticRuns,
    SyntheticTests,
)
from assay.flows.audits.data import Data
from assay.flows.audits.subjects_flow import Examination, Examined, TableSubjects
from assay.flows.kind import AuditRequest, Ground
from assay.infra.errors import InputError
from assay.infra.stages.branches import Branch, branch_outcomes, start_branch, start_each, subflow
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ingest.settings import ORIGINS
from assay.tasks.overfitting import page as overfitting_page
from assay.tasks.overfitting import task
from assay.tasks.overfitting.settings import Overfitting, Synthetic
from assay.tasks.overfitting.synthetic import EXPERIMENTS, WITHOUT_VALUES, Experiment, Runs
from assay.tasks.overfitting.verdicts import Judged, judge_tests
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import Finding, FindingIndex


def shift_one(examination: Examination, asked: Overfitting, subject: Examined) -> task.WindowTests:
    """One subject on the test set, with each of its seeds, and on the controls."""
    settings, classes, resolved = asked.translations, examination.classes, subject.resolved
    assert settings is not None, "asked for before"
    if settings.retrain > 1 and resolved.settings.train is None:
        raise InputError(
            f"`retrain: {settings.retrain}` trains {subject.name} with other seeds, and it came with its weights: "
            "leave `retrain` out, or let Assay train it (`train`)."
        )

    def shift(samples: Artifact[Samples], files: Artifact[SubjectFiles]) -> Artifact[ShiftedWindows]:
        return task.shift_windows(samples, classes, files, resolved, settings.eps, settings.generators)

    again = [task.train_again(subject.learned_from, classes, resolved, number) for number in range(1, settings.retrain)]
    seeds = [subject.files, *(trained.files for trained in again)]
    shifted = {"test": [shift(examination.evaluation, files) for files in seeds]}
    if settings.training and resolved.settings.train is not None:
        shifted["training"] = [shift(task.learned_samples(subject.learned_from, resolved), subject.files)]
    if examination.fresh is not None:
        shifted["fresh"] = [shift(examination.fresh, files) for files in seeds]
    if settings.dishonest is not None:
        copy = task.train_dishonestly(examination.evaluation, classes, subject.files, resolved, settings.dishonest)
        shifted["dishonest"] = [shift(examination.evaluation, copy.files)]
    return task.measure_windows(shifted, subject.name, settings.generators, asked.bound, asked.alpha)


@dataclass(frozen=True)
class Simulated:
    """One synthetic experiment: all runs, the N-model tests over them, and what they come to."""

    runs: Artifact[SyntheticRuns]
    tests: Artifact[SyntheticTests]
    measured: Artifact[Findings]


@dataclass(frozen=True)
class OverfittingAudit:
    """The tests of independence that were made, and, once the run knows which look at the test set it is, judged."""

    shifted: Mapping[str, task.WindowTests]
    orbits: Mapping[str, Artifact[IndependenceTests]]
    simulated: Mapping[Experiment, Simulated]
    alpha: float
    judged: Sequence[Judged] = ()

    @property
    def tests(self) -> list[Artifact[IndependenceTests]]:
        """Every test of independence."""
        return [*(shifted.tests for shifted in self.shifted.values()), *self.orbits.values()]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured along the windows, and in the experiments; the tests are judged later."""
        return [
            *(each.findings for each in self.shifted.values()),
            *(each.measured for each in self.simulated.values()),
        ]


@subflow("overfitting")
def measure_overfitting(ground: Ground, settings: Overfitting | None) -> OverfittingAudit:
    """Every test of independence that the pipeline asks for, of every subject that it can be made on."""
    asked, examination = settings or Overfitting(), ground.maybe(Examination)
    networks = [] if examination is None or asked.translations is None else examination.of("network")
    shifting = start_each("overfitting of", shift_one, {each.name: (examination, asked, each) for each in networks})
    comparing = compare_all(ground, examination, asked)
    simulating = {
        experiment: start_branch(f"{experiment} experiment", simulate, experiment, asked.synthetic, asked.alpha)
        for experiment in (EXPERIMENTS if asked.synthetic is not None else ())
    }
    return OverfittingAudit(
        branch_outcomes(shifting), branch_outcomes(comparing), branch_outcomes(simulating), asked.alpha
    )


def compare_all(
    ground: Ground, examination: Examination | None, asked: Overfitting
) -> dict[str, Branch[Artifact[IndependenceTests]]]:
    """The exact test of every subject that answers with a class; a defended copy is not asked, since every model that
    is asked costs a look at the test set."""
    if asked.orbit is None:
        return {}
    tables = ground.maybe(TableSubjects) or TableSubjects({})
    answered = {name: (ground.of(Data).samples, made) for name, made in tables.predictions.items()}
    if examination is not None:
        answered |= {name: (examination.evaluation, made) for name, made in examination.predictions.items()}
    each = {name: (*table, asked.orbit, asked.bound, asked.alpha, name) for name, table in answered.items()}
    return start_each("orbits of", task.compare_orbits, each)


def simulate(experiment: Experiment, settings: Synthetic, alpha: float) -> Simulated:
    """One synthetic experiment: its runs, the test of one model and of several, and what they come to."""
    runs = task.run_synthetic(experiment, settings.eps, settings.runs, settings.steps, settings.fixed_test_set)
    tests = task.average_models(runs, settings.eps, settings.models)
    return Simulated(runs, tests, task.measure_synthetic(runs, tests, alpha))


def judge_audit(ground: Ground, audit: OverfittingAudit, run: Run) -> tuple[OverfittingAudit, Sequence[Finding]]:
    """The tests, judged as the look at the test set that this run is."""
    settings = ground.pipeline.asked(Overfitting) or Overfitting()
    judged, findings = judge_tests(audit.tests, settings, stream_of(ground.pipeline), run)
    return replace(audit, judged=judged), findings


def stream_of(pipeline: AuditRequest) -> str:
    """What the audited samples come from, by name: whoever mends one of them has the same test set still.

    >>> from assay.flows.pipeline import Pipeline
    >>> stream_of(Pipeline(name="p", source={"csv": ["a.csv", "b.csv"]}))
    'csv a.csv b.csv, split test'
    """
    source = pipeline.source
    origin, places = next((name, value) for name in ORIGINS if (value := getattr(source, name)) is not None)
    return f"{origin} {places if isinstance(places, str) else ' '.join(places)}, split {pipeline.evaluation.split}"


def show_overfitting(_ground: Ground, audit: OverfittingAudit, findings: FindingIndex) -> Iterator[Part]:
    """Judged tests and synthetic experiments."""
    simulated = [
        Runs(collect(simulation.runs, WITHOUT_VALUES), collect(simulation.tests, None))
        for simulation in audit.simulated.values()
    ]
    yield overfitting_page.page(findings, audit.judged, simulated, audit.alpha)
