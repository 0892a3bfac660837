"""Resampled intervals: against SciPy's, and whether they hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap, norm

from assay.tasks.statistics.resampling import (
    bca_interval,
    bca_interval_of_sums,
    critical_value,
    mean_of_ratios,
    ratio_of,
    replicates,
)


def test_bca_is_scipys():
    values = np.random.default_rng(0).exponential(size=80)
    ours = bca_interval(ratio_of(values, np.ones(80)), 80, np.random.default_rng(1), resamples=20_000)
    theirs = bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(2)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_the_same_seed_gives_the_same_bits():
    values = np.random.default_rng(3).random((50, 4))
    first, second = (replicates(lambda w: w @ values, 50, np.random.default_rng(9), 300).tobytes() for _ in range(2))
    assert first == second


def test_what_never_varies_has_no_interval():
    found = bca_interval(ratio_of(np.ones(30), np.ones(30)), 30, np.random.default_rng(0))
    assert found.value == 1
    assert np.isnan(found.low)


def test_a_mean_of_ratios_weighs_every_kind_alike():
    above, below = np.array([[9.0, 80.0], [0.0, 20.0]]), np.array([[10.0, 300.0], [0.0, 100.0]])
    assert mean_of_ratios(above, below)(np.ones((1, 2)))[0] == pytest.approx((0.9 + 0.25) / 2)
    assert mean_of_ratios(above, below)(np.array([[0.0, 2.0]]))[0] == pytest.approx(0.2)


def test_one_value_alone_has_the_usual_critical_value():
    drawn = np.random.default_rng(0).normal(size=(20_000, 1))
    assert critical_value(drawn, np.zeros(1)) == pytest.approx(1.96, abs=0.03)


def test_independent_values_have_sidaks_critical_value():
    drawn = np.random.default_rng(0).normal(size=(20_000, 42))
    assert critical_value(drawn, np.zeros(42)) == pytest.approx(norm.isf((1 - 0.95 ** (1 / 42)) / 2), abs=0.05)


@pytest.mark.slow
def test_mean_flip_probability_over_600_draws():
    """BCa by image holds the mean of 100 images in at least .91 (600 draws: ± .012) where most never flip."""
    rng, covered = np.random.default_rng(6), 0
    for _ in range(600):
        flips = rng.binomial(30, rng.beta(0.2, 3, 100)).astype(float)
        found = bca_interval(ratio_of(flips, np.full(100, 30.0)), 100, rng, resamples=1000)
        covered += found.low <= 0.0625 <= found.high
    assert covered / 600 >= 0.91


def test_groups_that_are_alike_count_as_often_as_they_are(monkeypatch):
    monkeypatch.setattr("assay.tasks.statistics.resampling.RESAMPLES", 40_000)
    values, often = np.array([0.0, 1.0, 5.0]), np.array([30, 20, 10])
    each = np.repeat(values, often)
    whole = bca_interval(ratio_of(each, np.ones(60)), 60, np.random.default_rng(0), resamples=40_000)
    sums = np.column_stack([values, np.ones(3)])
    counted = bca_interval_of_sums(lambda found: found[:, 0] / found[:, 1], sums, often, np.random.default_rng(1))
    assert counted.value == pytest.approx(whole.value)
    assert (counted.low, counted.high) == pytest.approx((whole.low, whole.high), abs=0.02)


def test_what_does_not_vary_among_kinds_has_no_interval():
    for often in ([1], [40]):
        found = bca_interval_of_sums(
            lambda sums: sums[:, 0], np.ones((1, 1)), np.array(often), np.random.default_rng(0)
        )
        assert np.isnan([found.low, found.high]).all()
