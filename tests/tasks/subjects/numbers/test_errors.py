"""Errors of predicted numbers: as scikit-learn counts them, with intervals that hold the truth, and planted truths."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from assay.tasks.statistics.findings import Finding
from assay.tasks.subjects.numbers.errors import (
    CLEAN,
    Predicted,
    error_findings,
    error_trend,
    mean_interval,
    noise_findings,
    ratio_interval,
)

RNG = np.random.default_rng(0)


def predicted(
    truth: np.ndarray, value: np.ndarray, half: float | None = None, groups: np.ndarray | None = None
) -> Predicted:
    """Samples with intervals of that half width."""
    low, high = (value - half, value + half) if half else (np.full(len(value), np.nan),) * 2
    return Predicted(np.arange(len(truth)).astype(str), truth, value, low, high, groups)


def found(samples: Predicted, promised: float | None = None) -> dict[str, Finding]:
    """The findings by the last part of their metric."""
    return {each.metric.partition(".")[2]: each for each in error_findings(Finding("", CLEAN), samples, promised)}


def test_errors_are_those_of_scikit_learn() -> None:
    truth = RNG.normal(50, 10, 300)
    value = truth + RNG.normal(2, 3, 300)
    ours = found(predicted(truth, value))
    assert ours["mae"].value == pytest.approx(mean_absolute_error(truth, value), rel=1e-12)
    assert ours["rmse"].value == pytest.approx(root_mean_squared_error(truth, value), rel=1e-12)
    assert ours["r2"].value == pytest.approx(r2_score(truth, value), rel=1e-12)
    assert ours["constant_mae"].value == pytest.approx(mean_absolute_error(truth, np.full(300, np.median(truth))))


@pytest.mark.parametrize("name", ["mae", "rmse", "r2", "coverage"])
def test_what_each_sample_adds_comes_to_the_finding(name: str) -> None:
    truth = RNG.normal(size=80)
    samples = predicted(truth, truth + RNG.normal(size=80), 1.0)
    assert samples.sampled(name).value == pytest.approx(found(samples, 0.9)[name].value, rel=1e-12)
    exact = predicted(truth, truth, 1.0)
    assert exact.sampled(name).value == {"mae": 0, "rmse": 0, "r2": 1, "coverage": 1}[name]


def test_intervals_hold_the_errors_of_a_linear_model_with_known_noise() -> None:
    """ŷ = 2x, y = 2x + ε with ε of standard deviation 1: RMSE 1, MAE √(2/π), R² 4/5, and ± 1 holds 68.27 %."""
    truths = {"mae": np.sqrt(2 / np.pi), "rmse": 1.0, "r2": 0.8, "coverage": 0.6827, "interval_width": 2.0}
    rng, times, held = np.random.default_rng(1), 400, dict.fromkeys(truths, 0)
    for _ in range(times):
        x = rng.normal(size=100)
        ours = found(predicted(2 * x + rng.normal(size=100), 2 * x, 1.0), 0.6827)
        for name in ("mae", "rmse", "r2", "coverage"):
            held[name] += (ours[name].low or 0) <= truths[name] <= (ours[name].high or 9)
    assert all(0.92 <= held[name] / times <= 0.975 for name in ("mae", "rmse", "r2", "coverage")), held
    assert ours["interval_width"].value == pytest.approx(2.0)


def test_grouped_samples_have_wider_intervals_that_hold() -> None:
    rng, times, held, plain = np.random.default_rng(2), 300, 0, 0
    groups = np.repeat(np.arange(40), 5)
    for _ in range(times):
        error = np.repeat(rng.normal(size=40), 5) + 0.3 * rng.normal(size=200)
        true = np.sqrt(2 / np.pi) * np.sqrt(1.09)
        for by, name in ((groups, "by group"), (None, "plain")):
            interval = ratio_interval(np.abs(error), np.ones(200), by)
            if interval.low <= true <= interval.high:
                held, plain = (held + 1, plain) if name == "by group" else (held, plain + 1)
    assert held / times > 0.92 > 0.8 > plain / times


@pytest.mark.parametrize(
    ("half", "promised", "verdict"),
    [
        (1.0, 0.9, "less than promised (90 %)"),
        (1.645, 0.9, "as promised (90 %)"),
        (1.036, 0.7, "as promised (70 %)"),
        (1.036, 0.9, "less than promised (90 %)"),
        (3.0, 0.9, "more than promised (90 %)"),
    ],
)
def test_a_promise_is_held_against_what_intervals_hold(half: float, promised: float, verdict: str) -> None:
    rng = np.random.default_rng(3)
    value = rng.normal(size=500)
    assert found(predicted(value + rng.normal(size=500), value, half), promised)["coverage"].verdict == verdict


def test_a_constant_prediction_has_no_r2_to_speak_of() -> None:
    truth = np.random.default_rng(4).normal(size=200)
    ours = found(predicted(truth, np.full(200, truth.mean())))
    assert ours["r2"].value == pytest.approx(0.0, abs=1e-12)
    assert ours["r2"].verdict == "not shown to be better than one constant number"


def test_equal_truths_have_no_r2_and_exact_predictions_no_interval() -> None:
    ours = found(predicted(np.ones(50), np.ones(50)))
    assert ours["r2"].value is None
    assert ours["r2"].verdict.startswith("not measured")
    assert (ours["mae"].value, ours["mae"].low, ours["mae"].high) == (0.0, None, None)
    tenths = found(predicted(np.full(50, 0.1), np.ones(50)))  # whose mean is not exactly 0.1
    assert tenths["r2"].value is None


def test_a_model_without_errors_is_better_than_one_constant_number() -> None:
    exact = found(predicted(RNG.normal(size=50), np.zeros(50)))
    assert exact["r2"].verdict.startswith("not shown")
    truth = RNG.normal(size=50)
    assert found(predicted(truth, truth))["r2"].verdict == "better than one constant number"


def trend(errors: np.ndarray, scores: np.ndarray, patterns: np.ndarray | None, seed: int = 0) -> Finding:
    rng, groups = np.random.default_rng(seed), np.arange(len(errors)) // 4
    return error_trend(Finding("", "along"), errors, scores, patterns, groups, 0.01, rng)


@pytest.mark.parametrize("grouped", [False, True])
def test_errors_planted_to_grow_along_the_order_are_found(grouped: bool) -> None:
    rng = np.random.default_rng(5)
    patterns = np.repeat(np.arange(60), 10)
    scores = patterns / 60
    hard_end = rng.normal(size=600) * (2 - scores)
    tested = trend(hard_end, scores, None if grouped else patterns)
    assert (tested.verdict, (tested.p_value or 1) < 0.01) == ("adverse", True)
    assert trend(hard_end, -scores, None if grouped else patterns).verdict == "violation"


def test_errors_that_do_not_grow_are_seldom_called_so() -> None:
    rng, called = np.random.default_rng(6), 0
    patterns = np.repeat(np.arange(40), 8)
    for seed in range(100):
        size = np.repeat(rng.lognormal(size=40), 8)  # errors differ between patterns, whatever their score
        called += not trend(rng.normal(size=320) * size, patterns / 40, patterns, seed).verdict.startswith("not shown")
    assert called <= 5


def test_few_patterns_are_not_tested() -> None:
    patterns = np.repeat(np.arange(5), 20)
    assert trend(RNG.normal(size=100), patterns / 5, patterns).verdict == "not measured: 5 patterns of votes"


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_of_a_mean_hold_it(grouped: bool) -> None:
    rng, held = np.random.default_rng(7), 0
    groups = np.repeat(np.arange(40), 5)
    for _ in range(400):
        amounts = np.repeat(rng.normal(size=40), 5) + rng.normal(size=200) if grouped else rng.normal(size=200)
        interval = mean_interval(amounts, groups if grouped else None)
        held += interval.low <= 0 <= interval.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize(("moved", "verdict"), [(2.0, "more"), (0.0, "not shown to be more")])
def test_the_rise_under_noise_is_that_of_the_same_samples(moved: float, verdict: str) -> None:
    rng = np.random.default_rng(8)
    truth = rng.normal(size=500)
    clean, noisy = predicted(truth, truth), predicted(truth, truth + moved * rng.normal(size=500))
    fewer = noisy.at(np.arange(500) >= 20)  # a partition was not asked under noise
    (rise,) = (each for each in noise_findings(Finding("", "noise"), clean, fewer, None) if "rise" in each.metric)
    assert rise.n == 480
    assert rise.verdict == f"{verdict} than without noise"
    assert (rise.low or 0) <= moved * np.sqrt(2 / np.pi) <= (rise.high or 0)
