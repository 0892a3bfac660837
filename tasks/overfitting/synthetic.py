"""One run of the synthetic experiment: data are drawn, a classifier learns, and it is tested for every ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.overfitting_schemas import SyntheticRuns, SyntheticTests
from assay.infra.seeds import Seeds
from assay.tasks.overfitting.half_spaces import Line, Points, draw
from assay.tasks.overfitting.rmsprop import PENALTY, learn
from assay.tasks.overfitting.testing import basic_p, n_model_test, pairwise_test
from assay.tasks.overfitting.translation_of_points import SPAN, Projected, attack, project

Experiment = Literal["independent", "dependent"]
EXPERIMENTS: tuple[Experiment, ...] = ("independent", "dependent")
TRAINING = 500
TEST = {"independent": 10_000, "dependent": 1_000}
"""How many samples are tested; the dependent classifier learns from half of them."""


@dataclass(frozen=True)
class One:
    """A run of an experiment: a piece of work."""

    experiment: Experiment
    run: int


@dataclass(frozen=True)
class Learnt:
    """A classifier, what it learnt from, and what it is tested on."""

    line: Line
    training: Points
    test: Points


def classifier(piece: One, steps: int, fixed_test_set: bool, seeds: Seeds) -> Learnt:
    """The classifier of a run.

    Independent: it learns from samples of its own. Dependent: it learns, with a penalty that forbids what is worth
    knowing, from half of its test set. With `fixed_test_set` all runs of an experiment are tested on the same samples,
    and what differs is what they learn from.
    """
    generator = seeds.generator(f"{piece.experiment} {piece.run}")
    shared = seeds.generator(f"{piece.experiment} test set")
    test = draw(TEST[piece.experiment], shared if fixed_test_set else generator)
    if piece.experiment == "independent":
        training = draw(TRAINING, generator)
        return Learnt(learn(training, steps, 0.0, generator), training, test)
    training = test.take(generator.permutation(len(test.y))[:TRAINING])
    return Learnt(learn(training, steps, PENALTY, generator), training, test)


def run_experiment(piece: One, *, eps: Sequence[float], steps: int, fixed_test_set: bool, seeds: Seeds) -> pa.Table:
    """The rows of one run, one per ε."""
    learnt = classifier(piece, steps, fixed_test_set, seeds)
    points = project(learnt.line, learnt.test)
    shared = {
        "experiment": piece.experiment,
        "run": piece.run,
        "risk": learnt.line.risk(),
        "training_accuracy": float((learnt.line.margins(learnt.training) > 0).mean()),
        "first_weight": float(learnt.line.weights[0]),
    }
    return pa.Table.from_pylist([shared | row_at(points, one) for one in eps], schema=SyntheticRuns.schema)


def row_at(points: Projected, eps: float) -> dict[str, object]:
    """What the tests say at one ε, and what lies behind it."""
    answers = attack(points, eps)
    errors, weighted = answers.errors.astype(float), answers.adversarial * answers.densities
    fooled = answers.adversarial & ~answers.errors
    tested = pairwise_test(answers.values, SPAN)
    return {
        "eps": eps,
        "n": tested.n,
        "mean": tested.mean,
        "sigma": tested.sigma,
        "log_p": tested.log_p,
        "basic_p": basic_p(errors, weighted),
        "error": errors.mean(),
        "error_sigma": errors.std(),
        "adversarial_error": answers.adversarial.mean(),
        "estimate": weighted.mean(),
        "estimate_sigma": weighted.std(),
        "h_original": mean_or_none(answers.densities[answers.errors]),
        "h_adversarial": mean_or_none(answers.densities[fooled]),
        "values": answers.values.astype(np.float32),
    }


def bin_tests(table: pa.Table, *, models: int) -> pa.Table:
    """The N-model test on the runs of a bin, for every ε; `table` holds all rows of the bin, runs in order."""
    rows, values = table.drop_columns(["values"]).to_pylist(), table["values"]
    by_eps: dict[float, list[int]] = {}
    for place, row in enumerate(rows):
        by_eps.setdefault(row["eps"], []).append(place)
    tests = []
    for eps, places in by_eps.items():
        stacked = np.stack([np.asarray(values[place].values, np.float64) for place in places])
        result = n_model_test(stacked, SPAN)
        tests.append(
            {
                "experiment": rows[0]["experiment"],
                "models": models,
                "bin": rows[0]["run"] // models,
                "eps": eps,
                "n": result.n,
                "mean": result.mean,
                "sigma": result.sigma,
                "log_p": result.log_p,
            }
        )
    return pa.Table.from_pylist(tests, schema=SyntheticTests.schema)


def mean_or_none(values: npt.NDArray[np.float64]) -> float | None:
    """The mean, where there is one."""
    return float(values.mean()) if len(values) else None
