"""Correlations are scipy's, also in resamples with ties, and their intervals hold what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from assay.tasks.statistics.correlation import measured, resamples_of
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
