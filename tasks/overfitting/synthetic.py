"""The synthetic experiment of section 4: two half-spaces of 500 dimensions, of which only the first says the
class; a linear classifier, its adversarial examples with their exact density, the tests for every ε, and the
findings.

𝒳 = ℝ^500; a sample of class y = ±1 is drawn from N(y e₁, 500 I), cut off at y x₁ > 0.025; the true label is sgn x₁.
All constants are those of appendix A.

A rightly classified point moves by ε against its label along the classifier's normal u = w / ‖w‖, unless that would
cross the true boundary: g(x) = x − ε y u if f(x) = y and sgn(x₁ − ε y u₁) = y, else x. The density needs three
numbers per point: its margin y (wᵀx + b), y x₁ and y uᵀx. So all ε together cost no more than one pass over the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from toolz import groupby

from assay.data.schemas import SyntheticRuns, SyntheticTests
from assay.infra.stages.exact import Seeds
from assay.tasks.overfitting import independence
from assay.tasks.reporting.parts import Estimate
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share

DIMENSIONS = 500
SIGMA = 500**0.5
MARGIN = 0.025

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Samples [n, 500] and their labels, −1 or 1."""

    x: Matrix
    y: Vector

    def take(self, chosen: npt.NDArray[np.int64] | slice) -> Points:
        """Some of the samples."""
        return Points(self.x[chosen], self.y[chosen])


def draw(n: int, generator: np.random.Generator) -> Points:
    """n independent samples of both classes."""
    y = np.where(generator.random(n) < 0.5, 1.0, -1.0)
    x = generator.standard_normal((n, DIMENSIONS))
    x *= SIGMA
    x[:, 0] = y * _first_coordinate(generator.random(n))
    return Points(x, y)


@dataclass(frozen=True)
class Line:
    """A linear classifier, sgn(wᵀx + b)."""

    weights: Vector
    offset: float

    def margins(self, points: Points) -> Vector:
        """y (wᵀx + b): above zero where the classifier is right."""
        return np.asarray(points.y * (points.x @ self.weights + self.offset))

    def risk(self) -> float:
        """R, the probability that it errs, by integration over the first coordinate: the others are Gaussian.

        >>> first = np.eye(1, DIMENSIONS)[0]
        >>> Line(first, 0.0).risk(), round(Line(first[::-1].copy(), 0.0).risk(), 9)
        (0.0, 0.5)
        """
        from scipy.special import ndtr

        t = _first_coordinate((np.arange(20_000) + 0.5) / 20_000)
        spread = SIGMA * float(np.linalg.norm(self.weights[1:]))
        sides = [t * self.weights[0] + y * self.offset for y in (-1, 1)]  # y (w₁ x₁ + b), as y x₁ = t
        if spread == 0:
            return float(np.mean([side <= 0 for side in sides]))
        return float(np.mean([ndtr(-side / spread) for side in sides]))


def _first_coordinate(uniform: Vector) -> Vector:
    """y x₁, from N(1, 500) cut off below 0.025, by its distribution function."""
    from scipy.special import ndtr, ndtri

    below = ndtr((MARGIN - 1) / SIGMA)
    return np.asarray(np.maximum(1 + SIGMA * ndtri(below + uniform * (1 - below)), np.nextafter(MARGIN, 1)))


RATE, DECAY, TINY = 0.01, 0.9, 1e-10
INITIAL = 0.01
BATCH = 100
PENALTY = 1e4


def learn(points: Points, steps: int, penalty: float, generator: np.random.Generator) -> Line:
    """A linear classifier after so many steps on batches of 100, the samples being shuffled anew for every pass.

    The loss is ln(1 + exp(−y (wᵀx + b))), and `penalty` · w₁² where the bias shall be wrong. The paper gives the rate;
    decay, the small constant and the first weights (N(0, 0.01²), offset 0) it does not: see docs/overfitting.md.
    """
    # The offset is one more weight, of a coordinate that is always 1.
    weights = np.append(INITIAL * generator.standard_normal(DIMENSIONS), 0.0)
    signed = np.hstack([points.x, np.ones((len(points.y), 1))]) * points.y[:, None]
    squares, step = np.zeros_like(weights), 0
    while step < steps:
        shuffled = signed[generator.permutation(len(signed))]
        for start in range(0, len(shuffled) - BATCH + 1, BATCH)[: steps - step]:
            _step(weights, squares, shuffled[start : start + BATCH], penalty)
            step += 1
    return Line(weights[:-1], float(weights[-1]))


def _step(weights: Vector, squares: Vector, batch: Matrix, penalty: float) -> None:
    """One step of RMSProp, in place; rows of the batch are y · (x, 1)."""
    # σ(−t) by tanh: no overflow for any margin
    pull = 0.5 - 0.5 * np.tanh(0.5 * (batch @ weights))
    slope = pull @ batch
    slope *= -1 / len(batch)
    slope[0] += 2 * penalty * weights[0]
    squares *= DECAY
    squares += (1 - DECAY) * slope * slope
    weights -= RATE * slope / (np.sqrt(squares) + TINY)


SPAN = 2.0
"""U: here h may come close to 1 at an adversarial point, so T_i lies anywhere in [−1, 1]."""


@dataclass(frozen=True)
class Projected:
    """What the adversarial examples of some points depend on."""

    margins: Vector
    """y (wᵀx + b)."""
    first: Vector
    """y x₁."""
    along: Vector
    """y uᵀx, u being the classifier's normal."""
    length: float
    """‖w‖."""
    u1: float
    """The first coordinate of u."""

    @property
    def errors(self) -> npt.NDArray[np.bool_]:
        """Which points are misclassified."""
        return self.margins <= 0

    def moved(self, eps: float) -> Projected:
        """All points moved by ε against their labels, whether they may or not."""
        margins, first = self.margins - eps * self.length, self.first - eps * self.u1
        return replace(self, margins=margins, first=first, along=self.along - eps)


def project(line: Line, points: Points) -> Projected:
    """What is to be known of points before a classifier."""
    length = float(np.linalg.norm(line.weights))
    margins = line.margins(points)
    apart = (margins - points.y * line.offset) / length
    return Projected(margins, points.y * points.x[:, 0], apart, length, float(line.weights[0]) / length)


def attack(points: Projected, eps: float) -> independence.Answers:
    """Errors, adversarial errors, and h at the adversarial version of every point."""
    errors, there = points.errors, points.moved(eps)
    fooled = ~errors & (there.first > 0) & there.errors
    densities = np.ones(len(errors))
    densities[errors] = density(points, eps)[errors]
    densities[fooled] = density(there, eps)[fooled]
    return independence.Answers(errors, errors | fooled, densities)


def density(points: Projected, eps: float) -> Vector:
    """h(z) = ρ(z) / (ρ(z) + Σ ρ(p) over the p ≠ z with g(p) = z), for misclassified points z (Eq. 3).

    The only such p is z + ε y u, if it is classified rightly and on the true side; its density is
    ρ(z) exp(−(ε² + 2ε (y uᵀz − u₁)) / (2 σ²)), and none in the empty margin. z itself may lie in that margin: h = 0.
    """
    exponent = -(eps**2 + 2 * eps * (points.along - points.u1)) / (2 * SIGMA**2)
    comes = (points.margins + eps * points.length > 0) & (points.first + eps * points.u1 > MARGIN)
    with np.errstate(over="ignore"):  # an overflow is a pre-image that is infinitely more likely: h = 0
        weight = np.where(comes, np.exp(exponent), 0.0)
    return np.where(points.first > MARGIN, 1 / (1 + weight), 0.0)


Experiment = Literal["independent", "dependent"]
EXPERIMENTS: tuple[Experiment, ...] = ("independent", "dependent")
TRAINING = 500
TEST = {"independent": 10_000, "dependent": 1_000}
"""How many samples are tested; the dependent classifier learns from half of them."""


@dataclass(frozen=True)
class SyntheticRun:
    """A run of an experiment: a piece of work."""

    experiment: Experiment
    run: int


@dataclass(frozen=True)
class TrainedClassifier:
    """A classifier, what it learnt from, and what it is tested on."""

    line: Line
    training: Points
    test: Points


def classifier(piece: SyntheticRun, steps: int, fixed_test_set: bool, seeds: Seeds) -> TrainedClassifier:
    """The classifier of a run.

    Independent: it learns from samples of its own. Dependent: it learns, with a penalty that forbids what is worth
    knowing, from half of its test set. With `fixed_test_set` all runs of an experiment are tested on the same samples,
    and what differs is what they learn from.
    """
    generator = seeds.generator(f"{piece.experiment} {piece.run}")
    shared = seeds.generator(f"{piece.experiment} test set")
    test = draw(TEST[piece.experiment], shared if fixed_test_set else generator)
    if piece.experiment == "independent":
        training, penalty = draw(TRAINING, generator), 0.0
    else:
        training, penalty = test.take(generator.permutation(len(test.y))[:TRAINING]), PENALTY
    return TrainedClassifier(learn(training, steps, penalty, generator), training, test)


def run_experiment(
    piece: SyntheticRun, *, eps: Sequence[float], steps: int, fixed_test_set: bool, seeds: Seeds
) -> pa.Table:
    """The rows of one run, one per ε."""
    trained = classifier(piece, steps, fixed_test_set, seeds)
    points = project(trained.line, trained.test)
    shared = {
        "experiment": piece.experiment,
        "run": piece.run,
        "risk": trained.line.risk(),
        "training_accuracy": float((trained.line.margins(trained.training) > 0).mean()),
        "first_weight": float(trained.line.weights[0]),
    }
    return pa.Table.from_pylist([shared | row_at(points, distance) for distance in eps], schema=SyntheticRuns.schema)


def row_at(points: Projected, eps: float) -> dict[str, object]:
    """What the tests say at one ε, and what lies behind it."""
    answers = attack(points, eps)
    errors, weighted = answers.errors.astype(float), answers.adversarial * answers.densities
    fooled = answers.adversarial & ~answers.errors
    tested = independence.pairwise_test(answers.values, SPAN)
    return {
        "eps": eps,
        **_columns_of(tested),
        "basic_p": independence.basic_p(errors, weighted),
        "error": errors.mean(),
        "error_sigma": errors.std(),
        "adversarial_error": answers.adversarial.mean(),
        "estimate": weighted.mean(),
        "estimate_sigma": weighted.std(),
        "h_original": independence.mean_or_none(answers.densities[answers.errors]),
        "h_adversarial": independence.mean_or_none(answers.densities[fooled]),
        "values": answers.values.astype(np.float32),
    }


def _columns_of(tested: independence.Tested) -> dict[str, object]:
    return {name: getattr(tested, name) for name in ("n", "mean", "sigma", "log_p")}


def bin_tests(table: pa.Table, *, models: int) -> pa.Table:
    """The N-model test on the runs of a bin, for every ε; `table` holds all rows of the bin, runs in order."""
    rows, values = table.drop_columns(["values"]).to_pylist(), table["values"]
    tests = []
    for eps, places in groupby(lambda place: rows[place]["eps"], range(len(rows))).items():
        stacked = np.stack([np.asarray(values[place].values, np.float64) for place in places])
        about = {"experiment": rows[0]["experiment"], "models": models, "bin": rows[0]["run"] // models, "eps": eps}
        tests.append(about | _columns_of(independence.n_model_test(stacked, SPAN)))
    return pa.Table.from_pylist(tests, schema=SyntheticTests.schema)


WITHOUT_VALUES = [name for name in SyntheticRuns.schema.names if name != "values"]
ERRORS = ("error", "adversarial_error", "estimate", "risk")
DENSITIES = ("h_original", "h_adversarial")
_TAIL = 0.025


@dataclass(frozen=True)
class Runs:
    """The runs of one experiment, without their values; columns as arrays [runs], by ε."""

    table: pa.Table
    tests: pa.Table

    @cached_property
    def experiment(self) -> str:
        """Which experiment it is."""
        return str(self.table["experiment"][0])

    @cached_property
    def eps(self) -> list[float]:
        """The distances, ascending."""
        return sorted(set(self.table["eps"].to_pylist()))

    @cached_property
    def models(self) -> list[int]:
        """The numbers of models that were averaged, ascending."""
        return sorted(set(self.tests["models"].to_pylist()))

    def column(self, name: str, eps: float) -> npt.NDArray[np.float64]:
        """A number per run at one ε; runs in which there is none are left out."""
        values = self._columns[name][self._columns["eps"] == eps]
        return np.asarray(values[~np.isnan(values)])

    def p(self, eps: float, models: int = 1) -> npt.NDArray[np.float64]:
        """The p-values of the N-model test, one per bin (N = 1: one per run)."""
        if models == 1:
            return np.asarray(np.exp(self.column("log_p", eps)))
        return np.array(
            [exp(row["log_p"]) for row in self.tests.to_pylist() if row["eps"] == eps and row["models"] == models]
        )

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[np.float64]]:
        names = [name for name in self.table.column_names if name != "experiment"]
        return {name: self.table[name].to_numpy().astype(np.float64) for name in names}


def spread(values: npt.NDArray[np.float64], extremes: bool = False) -> Estimate | None:
    """Mean and the middle 95 % (or the extremes, where values are few); None of nothing.

    >>> spread(np.array([0.0, 1.0]), extremes=True)
    Estimate(value=0.5, low=0.0, high=1.0, n=2)
    """
    if not len(values):
        return None
    low, high = (0.0, 1.0) if extremes else (_TAIL, 1 - _TAIL)
    return Estimate(
        float(values.mean()), float(np.quantile(values, low)), float(np.quantile(values, high)), len(values)
    )


def synthetic_findings(table: pa.Table, tests: pa.Table, alpha: float) -> list[Finding]:
    """The findings on one experiment; `of` is the experiment, `group` the ε (and N, where models were averaged)."""
    return list(_findings(Runs(table, tests), alpha))


def _findings(runs: Runs, alpha: float) -> Iterator[Finding]:
    of = runs.experiment
    for eps in runs.eps:
        group = f"eps={eps:g}"
        p = runs.p(eps)
        yield _finding("p_value", of, group, spread(p))
        yield share("overfitting.rejected", int((p <= alpha).sum()), len(p), of=of, group=group)
        basic = runs.column("basic_p", eps)
        yield share("overfitting.rejected_basic", int((basic <= alpha).sum()), len(basic), of=of, group=group)
        yield _finding("gap", of, group, spread(runs.column("mean", eps)))
        floors = [
            independence.bernstein_bound(int(n), sigma, SPAN, alpha)
            for n, sigma in zip(runs.column("n", eps), runs.column("sigma", eps), strict=True)
        ]
        yield _finding("minimum_gap", of, group, spread(np.array(floors)))
        for name in (*ERRORS, *DENSITIES):
            yield _finding(name, of, group, spread(runs.column(name, eps)))
        for models in runs.models:
            if models > 1:
                bins = spread(runs.p(eps, models), extremes=True)
                yield _finding("p_value", of, f"{group}, N={models}", bins)


def _finding(metric: str, of: str, group: str, spread: Estimate | None) -> Finding:
    return Finding(f"overfitting.{metric}", of, group, n=0 if spread is None else spread.n).estimated(spread)
