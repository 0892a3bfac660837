"""The synthetic experiment as stages: a run is a piece of work, so any number of workers share them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from assay.data.overfitting_schemas import SyntheticRuns, SyntheticTests
from assay.data.schemas import Findings
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, map_pieces
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.overfitting.synthetic import Experiment, One, bin_tests, run_experiment
from assay.tasks.overfitting.synthetic_findings import WITHOUT_VALUES, synthetic_findings
from assay.tasks.statistics.findings import findings_table


@stage(version=1, title="synthetic", draws=True)
def run_synthetic(
    experiment: Experiment, eps: tuple[float, ...], runs: int, steps: int, fixed_test_set: bool
) -> Artifact[SyntheticRuns]:
    """Every run of an experiment: data are drawn, a classifier learns, and is tested for every ε."""
    simulated: Artifact[SyntheticRuns] = map_pieces(
        run_experiment,
        [One(experiment, run) for run in range(runs)],
        into=SyntheticRuns,
        eps=eps,
        steps=steps,
        fixed_test_set=fixed_test_set,
        seeds=stage_seeds(),
    )
    say(f"{experiment} · {runs} classifiers, {steps} steps each · {len(eps)} values of ε")
    return simulated


@stage(version=1, title="N-model test")
def average_models(
    runs: Artifact[SyntheticRuns], eps: tuple[float, ...], models: tuple[int, ...]
) -> Artifact[SyntheticTests]:
    """The N-model test over disjoint bins of the runs, for every N and ε."""
    tables: list[Artifact[Any]] = [
        map_partitions(
            bin_tests, runs, into=SyntheticTests, name=f"tests-of-{count}", rows=count * len(eps), models=count
        )
        for count in models
    ]
    say(f"N = {', '.join(map(str, models))}")
    return write_table(pa.concat_tables([collect(table, None) for table in tables]), into=SyntheticTests)


@stage(version=1, title="synthetic findings")
def measure_synthetic(
    runs: Artifact[SyntheticRuns], tests: Artifact[SyntheticTests], alpha: float
) -> Artifact[Findings]:
    """The findings on one experiment: p, rejections and errors at every ε."""
    findings = synthetic_findings(collect(runs, WITHOUT_VALUES), collect(tests, None), alpha)
    say(f"{len(findings)} findings")
    return write_table(findings_table(findings), into=Findings)
