"""Correlations are scipy's, also in resamples with ties, and their intervals hold what they promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from assay.tasks.statistics.correlation import measured, nested_accuracy, permutation_p, resamples_of, spearman_rows
from assay.tasks.statistics.entities import percentiles
from assay.tasks.statistics.resampling import Interval


def compared(statistic, gold, predicted, combine, generator) -> Interval:
    """A combination of several systems' statistics with its paired bootstrap interval."""
    times = resamples_of(len(gold), generator)
    value = float(combine(*(measured(statistic, gold, scores) for scores in predicted))[0])
    drawn = combine(*(measured(statistic, gold, scores, times) for scores in predicted))
    return Interval(value, *(percentiles(drawn) if np.isfinite(value) else (np.nan, np.nan)))


def estimated(statistic, gold, predicted, generator) -> Interval:
    return compared(statistic, gold, [predicted], lambda value: value, generator)


values = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=4, max_size=12)


@settings(max_examples=80)
@given(values, st.integers(0, 1000))
def test_a_resample_has_the_correlation_of_the_pairs_drawn(pairs, seed):
    gold, said = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    n = len(gold)
    times = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=1).astype(float)
    drawn = times[0].astype(int)
    x, y = np.repeat(gold, drawn), np.repeat(said, drawn)
    for name, theirs in (("pearson", pearsonr), ("spearman", spearmanr)):
        ours = measured(name, gold, said, times)[0]
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan(ours)
        else:
            assert ours == pytest.approx(theirs(x, y)[0], abs=1e-9)
    assert measured("mae", gold, said, times)[0] == pytest.approx(np.abs(x - y).mean())


@pytest.mark.parametrize("n", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_nineteen_intervals_in_twenty_hold_the_truth(name, n):
    rng, truth, hits = np.random.default_rng(4), 0.7, 0
    rho = 6 / np.pi * np.arcsin(truth / 2) if name == "spearman" else truth
    for _ in range(30):
        x, noise = rng.normal(size=(2, n))
        one = estimated(name, x, truth * x + np.sqrt(1 - truth**2) * noise, rng)
        hits += one.low <= rho <= one.high
    assert hits >= 25


def test_a_difference_between_two_scorers_is_paired():
    rng = np.random.default_rng(5)
    gold = rng.normal(size=100)
    said = gold + rng.normal(size=100)
    worse = said + 0.3 * rng.normal(size=100)
    apart = compared("pearson", gold, [said, worse], lambda one, other: one - other, rng)
    alone = [estimated("pearson", gold, one, rng) for one in (said, worse)]
    assert 0 < apart.high - apart.low < 0.6 * (alone[0].high - alone[0].low)
    same = compared("pearson", gold, [said, said], lambda one, other: one - other, rng)
    assert same == (0.0, 0.0, 0.0)


def test_scores_that_are_all_alike_have_no_correlation():
    assert np.isnan(measured("pearson", np.arange(5.0), np.full(5, 0.1))[0])
    assert np.isnan(estimated("spearman", np.arange(5.0), np.full(5, 0.1), np.random.default_rng(0)).low)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 29, 30])
def test_a_few_pairs_have_no_interval_and_three_no_correlation(n):
    gold, rng = np.arange(float(n)), np.random.default_rng(0)
    for name in ("pearson", "spearman"):
        one = estimated(name, gold, gold + 1, rng)
        assert np.isfinite(one.value) == (n >= 4)
        assert np.isfinite([one.low, one.high]).all() == (n >= 30)
        assert np.isnan(compared(name, gold, [gold, -gold], lambda a, b: a - b, rng).low) == (n < 30)
    assert np.isnan(estimated("mae", gold, gold + 1, rng).value) == (n == 0)


@given(st.integers(3, 30), st.integers(0, 10_000), st.integers(2, 12))
@settings(max_examples=50, deadline=None)
def test_every_row_is_scipys_spearman(width: int, seed: int, levels: int) -> None:
    rows = np.random.default_rng(seed).integers(0, levels, (4, width)) / levels
    ours = spearman_rows(rows)
    for row, rho, p_value in zip(rows, *ours, strict=True):
        if np.ptp(row) == 0:
            assert np.isnan(rho)
            assert np.isnan(p_value)
            continue
        theirs = spearmanr(np.arange(width), row)
        assert rho == pytest.approx(theirs.statistic, abs=1e-12)
        assert p_value == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("width", [2, 3, 10, 100, 1000])
def test_monotone_rows_reach_one_exactly(width: int) -> None:
    rising = np.arange(width) / width
    assert spearman_rows([rising, rising[::-1]]).rho.tolist() == [1.0, -1.0]


def test_perfect_correlation_of_ten_is_certain() -> None:
    assert spearman_rows(np.arange(10.0)).p_value[0] == 0.0


def test_two_values_have_a_sign_but_no_p_value() -> None:
    found = spearman_rows([[0.5, 0.4]])
    assert found.rho[0] == -1.0
    assert np.isnan(found.p_value[0])


def test_a_row_with_nan_is_undefined_and_leaves_the_others_alone() -> None:
    found = spearman_rows([[0.9, np.nan, 0.7], [0.9, 0.8, 0.7]])
    assert np.isnan(found.rho[0])
    assert found.rho[1] == -1.0


def test_papers_threshold_at_ten_data_sets() -> None:
    """|ρ| ≥ 0.765 is what p ≤ 0.01 asks of ten points (t(8) = 3.355)."""
    t = 3.3553873313333966
    critical = t / np.sqrt(8 + t * t)
    assert critical == pytest.approx(0.765, abs=5e-4)
    rows = np.array([np.random.default_rng(s).permutation(10) for s in range(500)])
    found = spearman_rows(rows)
    assert ((found.p_value <= 0.01) == (np.abs(found.rho) >= critical)).all()


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def explicit(right: np.ndarray, sizes: list[int], orders: np.ndarray) -> np.ndarray:
    """ρ of the nested accuracies for explicit orders of the samples, 0 where the curve is constant."""
    cuts = np.cumsum(sizes)
    hits = np.cumsum(right[orders], axis=1)[:, cuts - 1]
    return np.nan_to_num(spearman_rows(hits / cuts).rho)


def test_p_equals_the_full_enumeration_of_orders() -> None:
    """Seven samples in three strata: all 5040 orders against 40 000 draws from the hypergeometric law."""
    right, sizes = np.array([1, 1, 1, 1, 0, 0, 1]), [3, 2, 2]
    rho = explicit(right, sizes, np.array(list(itertools.permutations(range(7)))))
    observed = rho[0]
    test = permutation_p([3, 1, 1], sizes, 40_000, rng())
    assert test.rho == pytest.approx(observed)
    assert test.p_adverse == pytest.approx((rho <= observed + 1e-9).mean(), abs=0.01)
    assert test.p_violation == pytest.approx((rho >= observed - 1e-9).mean(), abs=0.01)


def test_p_agrees_with_shuffled_samples_of_unequal_strata() -> None:
    generator, sizes = rng(1), [40, 25, 35, 30, 45, 25]
    right = generator.random(200) < np.linspace(0.85, 0.75, 200)
    orders = generator.permuted(np.tile(np.arange(200), (8000, 1)), axis=1)
    shuffled = explicit(right, sizes, orders)
    hits = np.add.reduceat(right.astype(int), np.cumsum([0, *sizes[:-1]]))
    test = permutation_p(hits, sizes, 8000, rng(2))
    assert test.rho is not None
    assert test.p_adverse == pytest.approx((shuffled <= test.rho + 1e-9).mean(), abs=0.02)


def test_random_orders_are_called_adverse_no_more_often_than_promised() -> None:
    """Where the paper's nested t-test fires on about 15 % of random orders, this one keeps to γ = 1 %."""
    generator, draws = rng(3), 1000
    sizes = np.full(10, 30)
    hits = generator.multivariate_hypergeometric(sizes, 210, size=draws)
    paper = spearman_rows(nested_accuracy(hits, sizes))
    fired = (paper.p_value <= 0.01) & (paper.rho < 0)
    adverse = np.array([permutation_p(row, sizes, 500, generator).p_adverse <= 0.01 for row in hits])
    assert 0.11 <= fired.mean() <= 0.19
    assert adverse.mean() <= 0.02


def test_best_p_value_does_not_fall_with_more_permutations() -> None:
    """ρ = −1 comes up by chance about once in 2^(N−1) random orders: nested curves are no finer than that."""
    sizes = np.full(10, 1000)
    hits = np.rint(1000 * np.linspace(0.95, 0.7, 10)).astype(int)
    test = permutation_p(hits, sizes, 50_000, rng())
    assert test.rho == -1.0
    assert test.p_adverse == pytest.approx(1 / 512, rel=0.25)


def test_falling_and_rising_agreement_get_opposite_verdicts() -> None:
    falling = np.array([30, 29, 28, 27, 25, 24, 22, 21, 19, 17])
    sizes = np.full(10, 30)
    down, up = permutation_p(falling, sizes, 2000, rng()), permutation_p(falling[::-1], sizes, 2000, rng())
    assert down.p_adverse <= 0.01 < down.p_violation
    assert up.p_violation <= 0.01 < up.p_adverse
    assert (down.rho, up.rho) == (-1.0, 1.0)
    still = permutation_p(np.array([20, 21, 20, 21, 20, 21, 20, 21, 20, 21]), sizes, 2000, rng())
    assert min(still.p_adverse, still.p_violation) > 0.01


@pytest.mark.parametrize("hits", [[0, 0, 0, 0], [5, 5, 5, 5]])
def test_a_subject_that_is_always_right_or_always_wrong_has_no_trend(hits: list[int]) -> None:
    test = permutation_p(hits, [5, 5, 5, 5], 99, rng())
    assert (test.rho, test.p_adverse, test.p_violation) == (None, 1.0, 1.0)


def test_p_is_never_zero_and_counts_the_observed_order() -> None:
    test = permutation_p([500, 0], [500, 500], 9, rng())
    assert test.p_adverse >= 1 / 10


def test_permutations_beyond_one_block_are_all_counted() -> None:
    test = permutation_p([4, 3, 2], [5, 5, 5], 20_000, rng())
    assert test.p_adverse + test.p_violation > 1  # ties are in both tails
