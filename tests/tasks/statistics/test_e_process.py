"""What new samples say together: false alarms as allowed, however often one looks; a small loss is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import hypergeom, norm

from assay.tasks.statistics.e_process import NewSamples, confidence_sequence, evidence, paired_evidence


def highest(rng: np.random.Generator, rates: list[float], n: int, bound: float = 0.0) -> float:
    """The most that E came to on any night."""
    return max(evidence([NewSamples(int(rng.binomial(n, rate)), n) for rate in rates], 91, bound))


def test_it_is_the_product_of_bets_on_hypergeometric_p_values():
    nights, tilts = [NewSamples(90, 100), NewSamples(80, 100), NewSamples(85, 100)], np.array([0.5, 1.0, 2.0])
    z = [norm.ppf(hypergeom.cdf(80, 200, 170, 100)), norm.ppf(hypergeom.cdf(85, 300, 255, 100))]
    bets = [np.exp(-tilts * each - tilts**2 / 2) for each in z]
    expected = (bets[0] * bets[1] * 0.2 + bets[1] * 0.16).mean() + 0.64
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


@pytest.mark.parametrize(("right", "n", "log_e"), [(45, 60, 5.872988568719933), (300, 500, 7.164362856204889)])
def test_a_sequence_ends_where_the_mixture_of_another_library_does(right: int, n: int, log_e: float):
    # expectation 0.6.1, BetaBinomialMixture with g = h = ½ and r = ½, which is a uniform prior, against p = ½
    assert confidence_sequence(right, n, 1 - np.exp(-log_e)).low == pytest.approx(0.5, abs=1e-9)


def test_a_sequence_is_mirrored_and_leaves_out_nothing_that_cannot_be_told():
    some, others = confidence_sequence(90, 100), confidence_sequence(10, 100)
    assert (some.low, some.high) == pytest.approx((1 - others.high, 1 - others.low))
    assert confidence_sequence(0, 100).low == 0.0
    assert confidence_sequence(100, 100).high == 1.0
    assert 0.9 < confidence_sequence(100, 100).low < 1.0


def test_a_sequence_holds_on_every_night_of_a_year_where_wilsons_interval_does_not():
    rng, n = np.random.default_rng(4), 500 * np.arange(1, 366)
    right = np.cumsum(rng.binomial(500, 0.9, size=(40, 365)), axis=1)
    ever = [
        any(not _holds(confidence_sequence(int(year[at]), int(n[at]))) for at in range(0, 365, 30)) for year in right
    ]
    assert sum(ever) <= 2


def _holds(interval) -> bool:
    return interval.low <= 0.9 <= interval.high


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (9, 1), (30, 22), (3, 14)])
def test_pairs_without_a_bound_are_the_integral_over_the_share_that_is_lost(lost, gained):
    expected = 2 * quad(lambda share: (2 * share) ** lost * (2 * (1 - share)) ** gained, 0.5, 1)[0]
    assert paired_evidence(lost, gained, 100) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("bound", [0.0, 0.02])
def test_pairs_that_are_looked_at_every_night_keep_the_promise(bound):
    rng, alarms, years = np.random.default_rng(5), 0, 300
    rates = [0.03 + bound, 0.03, 0.94 - bound]  # as much is lost as the bound allows
    for _ in range(years):
        nights = np.cumsum(rng.multinomial(60, rates, size=91), axis=0)
        alarms += any(paired_evidence(*map(int, night), bound) >= 10 for night in nights)
    assert alarms / years <= 0.1  # Ville's bound


def test_three_lost_and_one_gained_in_a_hundred_are_found_within_a_week():
    rng = np.random.default_rng(6)
    found = dict.fromkeys((150, 450), 0)
    for n in found:
        for _ in range(200):
            nights = np.cumsum(rng.multinomial(n, [0.03, 0.01, 0.96], size=7), axis=0)
            found[n] += any(paired_evidence(*map(int, night)) >= 6 for night in nights)
    assert found[150] / 200 >= 0.78  # simulated .86 with six gates and an alarm a quarter
    assert found[450] / 200 >= 0.99
