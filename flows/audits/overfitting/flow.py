"""Can the test score be believed? Shifted windows, closed symmetries, and the experiment that shows what to expect."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.data.overfitting_schemas import IndependenceTests, SyntheticRuns, SyntheticTests
from assay.data.schemas import Findings, Predictions, Samples
from assay.flows.audits.curation.flow import Curation
from assay.flows.audits.overfitting.shifted_windows import shift_all
from assay.flows.audits.subjects.flow import Examination
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.subflows import subflow
from assay.tasks.overfitting.judging import Judged
from assay.tasks.overfitting.orbit_task import compare_orbits
from assay.tasks.overfitting.settings import Synthetic
from assay.tasks.overfitting.synthetic import EXPERIMENTS, Experiment
from assay.tasks.overfitting.synthetic_task import average_models, measure_synthetic, run_synthetic
from assay.tasks.statistics.findings import Finding


@dataclass(frozen=True)
class Simulated:
    """One synthetic experiment: all runs, and the N-model tests over them."""

    runs: Artifact[SyntheticRuns]
    tests: Artifact[SyntheticTests]


@dataclass
class OverfittingAudit:
    """The tests of independence that were made, and, once the run knows which look at the test set it is, judged."""

    tests: list[Artifact[IndependenceTests]] = field(default_factory=list)
    simulated: dict[Experiment, Simulated] = field(default_factory=dict)
    findings: list[Artifact[Findings]] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    said: list[Finding] = field(default_factory=list)
    alpha: float = 0.05


@subflow("overfitting")
def doubt_score(
    pipeline: Pipeline, curation: Curation, examination: Examination | None, branches: Branches
) -> OverfittingAudit:
    """Every test of independence that the pipeline asks for, of every subject that it can be made on."""
    asked = pipeline.overfitting
    if asked is None:
        return OverfittingAudit()
    result = OverfittingAudit(alpha=asked.alpha)
    if asked.translations is not None and examination is not None:
        shifted = shift_all(pipeline, examination, branches)
        result.tests += shifted.tests.values()
        result.findings += shifted.findings
    if asked.orbit is not None:
        compare_all(result, pipeline, curation, examination, branches)
    if asked.synthetic is not None:
        for experiment in EXPERIMENTS:
            branches.attempt(f"{experiment} experiment", simulate, result, experiment, asked.synthetic, asked.alpha)
    return result


def compare_all(
    result: OverfittingAudit, pipeline: Pipeline, curation: Curation, examination: Examination | None,
    branches: Branches,
) -> None:  # fmt: skip
    """The exact test of every subject that answers with a class."""
    for name, predictions in curation.predictions.items():
        branches.attempt(f"orbits of {name}", compare, result, pipeline, curation.samples, predictions, name)
    if examination is not None:
        own = {subject.name for subject in pipeline.subjects}
        for subject in (*examination.of("network"), *examination.of("classifier")):
            if subject.name not in own:
                continue  # a defended copy: every model that is asked costs a look at the test set
            branches.attempt(
                f"orbits of {subject.name}", compare, result, pipeline, examination.evaluation, subject.predictions,
                subject.name,
            )  # fmt: skip


def compare(
    result: OverfittingAudit, pipeline: Pipeline, samples: Artifact[Samples], predictions: Artifact[Predictions],
    name: str,
) -> None:  # fmt: skip
    """The exact test of one subject."""
    asked = pipeline.overfitting
    assert asked is not None
    assert asked.orbit is not None
    result.tests.append(compare_orbits(samples, predictions, asked.orbit, asked.bound, asked.alpha, name))


def simulate(result: OverfittingAudit, experiment: Experiment, settings: Synthetic, alpha: float) -> None:
    """One synthetic experiment: its runs, the test of one model and of several, and what they come to."""
    runs = run_synthetic(experiment, settings.eps, settings.runs, settings.steps, settings.fixed_test_set)
    tests = average_models(runs, settings.eps, settings.models)
    result.simulated[experiment] = Simulated(runs, tests)
    result.findings.append(measure_synthetic(runs, tests, alpha))
