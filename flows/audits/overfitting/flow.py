"""Can the test score be believed? Shifted windows, closed symmetries, and the experiment that shows what to expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.data.overfitting_schemas import IndependenceTests, SyntheticRuns, SyntheticTests
from assay.data.schemas import Findings, Predictions, Samples
from assay.flows.audits.data import Data
from assay.flows.audits.kind import Ground
from assay.flows.audits.overfitting.shifted_windows import ShiftedSubject, shift_all
from assay.flows.audits.subjects.flow import Examination
from assay.flows.audits.subjects.on_tables import TableSubjects
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branch, outcomes, start
from assay.infra.subflows import subflow
from assay.tasks.overfitting.judging import Judged
from assay.tasks.overfitting.orbit_task import compare_orbits
from assay.tasks.overfitting.settings import Overfitting, Synthetic
from assay.tasks.overfitting.synthetic import EXPERIMENTS, Experiment
from assay.tasks.overfitting.synthetic_task import average_models, measure_synthetic, run_synthetic


@dataclass(frozen=True)
class Simulated:
    """One synthetic experiment: all runs, the N-model tests over them, and what they come to."""

    runs: Artifact[SyntheticRuns]
    tests: Artifact[SyntheticTests]
    measured: Artifact[Findings]


@dataclass(frozen=True)
class OverfittingAudit:
    """The tests of independence that were made, and, once the run knows which look at the test set it is, judged."""

    shifted: Mapping[str, ShiftedSubject]
    orbits: Mapping[str, Artifact[IndependenceTests]]
    simulated: Mapping[Experiment, Simulated]
    alpha: float
    judged: Sequence[Judged] = ()

    @property
    def tests(self) -> list[Artifact[IndependenceTests]]:
        """Every test of independence."""
        return [*(one.tests for one in self.shifted.values()), *self.orbits.values()]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured along the windows, and in the experiments; the tests are judged later."""
        return [*(one.measured for one in self.shifted.values()), *(one.measured for one in self.simulated.values())]


@subflow("overfitting")
def doubt_score(ground: Ground) -> OverfittingAudit:
    """Every test of independence that the pipeline asks for, of every subject that it can be made on."""
    asked, examination = ground.pipeline.asked(Overfitting) or Overfitting(), ground.maybe(Examination)
    shifting = shift_all(ground, examination, asked) if examination is not None else {}
    comparing = compare_all(ground, examination, asked)
    simulating = {
        experiment: start(f"{experiment} experiment", simulate, experiment, asked.synthetic, asked.alpha)
        for experiment in (EXPERIMENTS if asked.synthetic is not None else ())
    }
    return OverfittingAudit(outcomes(shifting), outcomes(comparing), outcomes(simulating), asked.alpha)


def compare_all(
    ground: Ground, examination: Examination | None, asked: Overfitting
) -> dict[str, Branch[Artifact[IndependenceTests]]]:
    """The exact test of every subject that answers with a class; a defended copy is not asked, since every model that
    is asked costs a look at the test set."""
    if asked.orbit is None:
        return {}
    tables, answered = ground.maybe(TableSubjects), dict[str, tuple[Artifact[Samples], Artifact[Predictions]]]()
    if tables is not None:
        answered = {name: (ground.of(Data).samples, one.predictions) for name, one in tables.subjects.items()}
    if examination is not None:
        subjects = (*examination.of("network"), *examination.of("classifier"))
        answered |= {one.name: (examination.evaluation, one.predictions) for one in subjects}
    return {
        name: start(f"orbits of {name}", compare_orbits, *table, asked.orbit, asked.bound, asked.alpha, name)
        for name, table in answered.items()
    }


def simulate(experiment: Experiment, settings: Synthetic, alpha: float) -> Simulated:
    """One synthetic experiment: its runs, the test of one model and of several, and what they come to."""
    runs = run_synthetic(experiment, settings.eps, settings.runs, settings.steps, settings.fixed_test_set)
    tests = average_models(runs, settings.eps, settings.models)
    return Simulated(runs, tests, measure_synthetic(runs, tests, alpha))
