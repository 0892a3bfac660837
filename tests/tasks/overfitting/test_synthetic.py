"""The paper's experiment: exact densities, the acceptance grid, and the same results on any number of workers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect
from assay.tasks.overfitting.page import page as page_of
from assay.tasks.overfitting.synthetic import (
    DIMENSIONS,
    MARGIN,
    PENALTY,
    SIGMA,
    Line,
    Points,
    Runs,
    SyntheticRun,
    attack,
    bin_tests,
    classifier,
    density,
    draw,
    learn,
    project,
    run_experiment,
    synthetic_findings,
)
from assay.tasks.overfitting.task import average_models, measure_synthetic, run_synthetic
from assay.tasks.statistics.findings import FindingIndex, findings_from

EPS = (0.1, 1.0, 10.0, 20.0, 30.0, 50.0, 75.0, 200.0)
SEEDS = Seeds(0, "run_synthetic")


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def grid(experiment: str, runs: int, steps: int, fixed: bool = False, eps: tuple[float, ...] = EPS) -> pa.Table:
    return pa.concat_tables(
        [
            run_experiment(SyntheticRun(experiment, run), eps=eps, steps=steps, fixed_test_set=fixed, seeds=SEEDS)
            for run in range(runs)
        ]
    )


def summed(table: pa.Table, models: tuple[int, ...]) -> Runs:
    steps = {count: count * len(set(table["eps"].to_pylist())) for count in models}
    tests = [
        bin_tests(table.slice(start, rows), models=count)
        for count, rows in steps.items()
        for start in range(0, table.num_rows, rows)
    ]
    return Runs(table.drop_columns(["values"]), pa.concat_tables(tests))


@pytest.fixture(scope="module")
def dependent() -> Runs:
    return summed(grid("dependent", 6, 3000), (1, 2, 6))


@pytest.fixture(scope="module")
def independent() -> Runs:
    return summed(grid("independent", 4, 2000), (1, 2, 4))


@pytest.fixture(scope="module")
def trained() -> tuple[Line, Points]:
    made = classifier(SyntheticRun("dependent", 0), 1500, False, SEEDS)
    return made.line, made.test


def log_rho(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The logarithm of the density as the paper defines it, up to a constant; −∞ in the empty margin."""
    centred = x.copy()
    centred[:, 0] -= y
    inside = y * x[:, 0] > MARGIN
    return np.where(inside, -(centred**2).sum(axis=1) / (2 * SIGMA**2), -np.inf)


def test_points_are_drawn_on_their_side_of_an_empty_margin_with_the_papers_spread():
    points = draw(4000, np.random.default_rng(0))
    first = points.y * points.x[:, 0]
    assert first.min() > MARGIN
    assert first.mean() == pytest.approx(18.3, abs=0.8)  # of N(1, 500) above 0.025
    assert points.x[:, 1:].std() == pytest.approx(SIGMA, rel=0.01)
    assert abs(points.y.mean()) < 0.06


@pytest.mark.parametrize("eps", [0.5, 10.0, 30.0, 100.0])
def test_densities_are_those_of_the_two_densities_evaluated_directly(trained, eps):
    line, points = trained
    answers, u = attack(project(line, points), eps), line.weights / np.linalg.norm(line.weights)
    moved = points.x - eps * points.y[:, None] * u
    right = line.margins(points) > 0
    goes = right & (points.y * moved[:, 0] > 0)
    image = np.where(goes[:, None], moved, points.x)
    errs = ~(points.y * (image @ line.weights + line.offset) > 0)
    assert (answers.errors == ~right).all()
    assert (answers.adversarial == errs).all()
    before = image + eps * points.y[:, None] * u
    comes = (points.y * (before @ line.weights + line.offset) > 0) & (points.y * before[:, 0] > 0)
    here, there = log_rho(image, points.y), np.where(comes, log_rho(before, points.y), -np.inf)
    with np.errstate(invalid="ignore"):
        h = np.where(np.isinf(here), 0.0, 1 / (1 + np.exp(there - here)))
    assert np.abs(answers.densities - h)[errs].max() < 1e-12
    assert errs.sum() > right.size / 5


def test_the_estimate_is_the_true_error_whatever_the_classifier():
    """Unbiased: over 200,000 fresh points the estimate agrees with R at every ε, for an arbitrary classifier."""
    generator = np.random.default_rng(0)
    weights = 0.02 * generator.standard_normal(DIMENSIONS)
    weights[0] = 0.05
    line = Line(weights, 0.3)
    blocks = [project(line, draw(20_000, generator)) for _ in range(5)]
    for eps in (1.0, 20.0, 60.0):
        made = [attack(block, eps) for block in blocks]
        values = np.concatenate([one.values for one in made])
        assert abs(values.mean()) < 4 * values.std() / len(values) ** 0.5
        assert np.concatenate([one.errors for one in made]).mean() == pytest.approx(line.risk(), abs=0.006)


def test_an_arbitrarily_distant_point_gets_density_one_and_none_in_the_margin():
    points = project(Line(np.eye(1, DIMENSIONS)[0], 0.0), draw(10, np.random.default_rng(1)))
    assert (density(points, 1e4) == 1.0).all()
    assert (density(points.moved(1e4), 1.0) == 0.0).all()


def test_the_penalty_leaves_the_limit_cycle_of_rmsprop():
    points = draw(500, np.random.default_rng(0))
    line = learn(points, 3000, PENALTY, np.random.default_rng(1))
    assert abs(line.weights[0]) == pytest.approx(0.005, rel=0.01)
    assert (line.margins(points) > 0).all()
    assert PENALTY * line.weights[0] ** 2 == pytest.approx(0.25, rel=0.02)


def test_one_step_of_training_is_rmsprop():
    points, generator = draw(100, np.random.default_rng(0)), np.random.default_rng(1)
    line = learn(points, 1, 0.0, np.random.default_rng(1))
    weights = 0.01 * generator.standard_normal(DIMENSIONS)
    pull = 1 / (1 + np.exp(points.y * (points.x @ weights)))
    slope = -(pull * points.y) @ points.x / 100
    assert line.weights == pytest.approx(weights - 0.01 * slope / (np.sqrt(0.1 * slope**2) + 1e-10), rel=1e-9)


def test_dependence_is_found_where_the_paper_finds_it(dependent):
    for eps in (20.0, 30.0, 50.0):
        assert dependent.p(eps).max() < 0.05
    for eps in (0.1, 1.0, 200.0):
        assert dependent.p(eps).min() > 0.5
    assert dependent.column("basic_p", 75.0).min() > 0.5
    assert dependent.column("risk", 20.0) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("eps", [10.0, 20.0, 30.0, 50.0, 75.0])
def test_more_models_find_more(dependent, eps):
    means = [dependent.p(eps, models).mean() for models in (1, 2, 6)]
    assert means[0] > means[1] > means[2]
    assert len(dependent.p(eps, 2)) == 3


def test_independence_is_never_rejected(independent):
    assert min(independent.p(eps, models).min() for eps in EPS for models in (1, 2, 4)) > 0.05
    errors = np.array([independent.column("estimate", eps).mean() for eps in EPS])
    assert np.ptp(errors) < 0.02  # flat, while …
    assert independent.column("adversarial_error", 30.0).mean() > 1.5 * errors.max()


def test_findings_say_how_often_and_by_how_much(dependent):
    found = {(one.metric, one.group): one for one in synthetic_findings(dependent.table, dependent.tests, 0.05)}
    rejected = found["overfitting.rejected", "eps=20"]
    assert (rejected.value, rejected.n, rejected.of) == (1.0, 6, "dependent")
    assert found["overfitting.p_value", "eps=200"].value == 1.0
    assert found["overfitting.p_value", "eps=75, N=6"].n == 1
    assert found["overfitting.p_value", "eps=20"].p_value is None  # a mean over runs is no test of tonight's models
    assert "Of 6 dependent models, 6 are rejected at ε = " in page([], [], [dependent]).sentence


def test_the_page_draws_p_and_errors_of_both_experiments_over_the_offset(dependent, independent):
    p_values, errors = page([], [], [independent, dependent]).blocks
    assert [plot.title for plot in p_values.plots] == [plot.title for plot in errors.plots]
    assert [line.name for line in p_values.plots[1].series] == ["N = 1", "N = 2", "N = 6"]
    assert p_values.plots[1].series[0].y == [pytest.approx(dependent.p(eps).mean()) for eps in dependent.eps]
    assert errors.plots[0].series[2].y == [independent.column("estimate", eps).mean() for eps in independent.eps]


def test_on_one_test_set_only_what_is_learned_differs():
    made = [classifier(SyntheticRun("dependent", run), 1, True, SEEDS) for run in range(2)]
    assert (made[0].test.x == made[1].test.x).all()
    assert len({row.tobytes() for one in made for row in one.training.x}) > 600
    apart = [classifier(SyntheticRun("dependent", run), 1, False, SEEDS) for run in range(2)]
    assert (apart[0].test.x != apart[1].test.x).all()


@pytest.mark.usefixtures("run")
def test_every_run_is_a_piece_of_work_and_every_bin_is_tested():
    runs = run_synthetic("dependent", (10.0, 30.0), 4, 60, False)
    tests = average_models(runs, (10.0, 30.0), (1, 2, 4))
    found = findings_from(collect(measure_synthetic(runs, tests, 0.05), None))
    assert (runs.partitions, runs.rows, tests.rows) == (4, 8, 2 * (4 + 2 + 1))
    single = {(row["eps"], row["bin"]): row["log_p"] for row in collect(tests, None).to_pylist() if row["models"] == 1}
    for row in collect(runs, ["eps", "run", "log_p"]).to_pylist():
        assert single[row["eps"], row["run"]] == pytest.approx(row["log_p"], rel=1e-5)  # T_i are kept as float32
    assert {one.group for one in found if one.metric == "overfitting.p_value"} == {
        f"eps={eps}{models}" for eps in (10, 30) for models in ("", ", N=2", ", N=4")
    }


@pytest.mark.slow
def test_the_full_grid_is_the_papers():
    eps = (0.01, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 6.0, 10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0)
    dependent = summed(grid("dependent", 100, 5000, eps=eps), (1, 2, 10, 25, 100))
    for one in eps:
        means = [dependent.p(one, models).mean() for models in dependent.models]
        if one in (20, 30, 50):
            assert dependent.p(one).max() < 0.05
        if one <= 1 or one == 200:
            assert dependent.p(one).min() > 0.5
        if one in (10, 20, 30, 50, 75):
            assert all(later < earlier for earlier, later in pairwise(means))
    independent = summed(grid("independent", 50, 5000, eps=eps), (1, 2, 10, 25, 50))
    assert all(independent.p(one, models).mean() > 0.9 for one in eps for models in independent.models)
    assert all(independent.p(one).min() > 0.05 for one in eps)
