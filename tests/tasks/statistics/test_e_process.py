"""What new samples say together: false alarms as allowed, however often one looks; a small loss is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom, norm

from assay.tasks.statistics.e_process import NewSamples, evidence


def highest(rng: np.random.Generator, rates: list[float], n: int, bound: float = 0.0) -> float:
    """The most that E came to on any night."""
    return max(evidence([NewSamples(int(rng.binomial(n, rate)), n) for rate in rates], 91, bound))


def test_it_is_the_product_of_bets_on_hypergeometric_p_values():
    nights, tilts = [NewSamples(90, 100), NewSamples(80, 100), NewSamples(85, 100)], np.array([0.25, 0.5, 1.0, 2.0])
    z = [norm.ppf(hypergeom.cdf(80, 200, 170, 100)), norm.ppf(hypergeom.cdf(85, 300, 255, 100))]
    bets = [np.exp(-tilts * each - tilts**2 / 2) for each in z]
    expected = (bets[0] * bets[1] / 10 + bets[1] / 10).mean() + 0.8
    assert evidence(nights, 10)[-1] == pytest.approx(expected)


def test_one_night_says_nothing_and_neither_do_nights_without_new_samples():
    assert evidence([NewSamples(9, 10)], 91) == [1.0]
    assert evidence([NewSamples(9, 10), NewSamples(0, 0), NewSamples(0, 0)], 91) == [1.0] * 3


def test_a_night_of_an_earlier_period_is_known_and_not_bet_on():
    bad = NewSamples(50, 100, counts=False)
    assert evidence([NewSamples(90, 100), bad, bad], 91) == [1.0] * 3


def test_looking_every_night_of_a_quarter_keeps_the_promise():
    rng = np.random.default_rng(0)
    most = [highest(rng, [0.9] * 91, 60) for _ in range(120)]
    assert np.mean([each >= 10 for each in most]) <= 0.05  # Ville promises a tenth


def test_a_loss_that_the_bound_allows_is_no_loss():
    rng = np.random.default_rng(1)
    most = [highest(rng, [0.9] * 30 + [0.88] * 40, 400, bound=0.02) for _ in range(40)]
    assert sum(each >= 10 for each in most) <= 2


def test_two_points_are_found_within_thirty_nights_of_500_new_samples():
    rng = np.random.default_rng(2)
    most = [highest(rng, [0.9] * 30 + [0.88] * 30, 500) for _ in range(40)]
    assert np.mean([each >= 24 for each in most]) >= 0.8  # twelve gates, half of one alarm a quarter


def test_the_best_of_ten_nights_as_a_baseline_costs_no_alarm():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(60):
        best = max(rng.binomial(500, 0.9, size=10))
        nights = [NewSamples(int(best), 500), *(NewSamples(int(rng.binomial(500, 0.9)), 500) for _ in range(60))]
        alarms += max(evidence(nights, 91)) >= 24
    assert alarms <= 3
