"""Estimates from labels of drawn samples: golden numbers by the papers' formulae, what cannot be, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from assay.data.arrays import Floats
from assay.tasks.statistics.stratified_ppi import Drawn, Ratio, draw_strata, labelled_share, strata_by_expectation

N = 400


def simple(right: Floats, expected: Floats) -> Ratio:
    return Ratio(right, np.ones(len(right)), expected, np.ones(len(expected)))


def population(seed: int = 0, n: int = N) -> tuple[Floats, Floats]:
    """What was expected of every sample, and whether it is right: expectations are true, and most are sure."""
    rng = np.random.default_rng(seed)
    expected = rng.beta(4, 0.5, n)
    return expected, (rng.random(n) < expected).astype(np.float64)


@pytest.mark.parametrize(("tuning", "theirs"), [(0.3, 0.8977003616924119), (1.0, 0.8923345389747064)])
def test_one_stratum_is_the_estimate_of_ppi_python(tuning: float, theirs: float) -> None:
    """`ppi_mean_pointestimate` of ppi-python 0.2.3, to whom the N - n others are a sample of their own: λ·N/(N - n)."""
    expected, right = population()
    drawn = Drawn(np.zeros(N, np.int64), np.random.default_rng(1).choice(N, 60, replace=False))
    assert drawn.mean(right[drawn.at], expected, tuning * N / (N - 60)) == pytest.approx(theirs, abs=1e-12)


def test_the_tuning_is_that_of_the_paper() -> None:
    """λ* = Cov(Y, f) / ((1 + n/(N - n)) Var f) of PPI++ (Angelopoulos et al. 2023), Var f over all samples."""
    expected = np.random.default_rng(5).random(N)
    right = (np.random.default_rng(4).random(N) < 0.3 + 0.5 * expected).astype(np.float64)
    at = np.random.default_rng(1).choice(N, 60, replace=False)
    paper = np.cov(right[at], expected[at])[0, 1] / (np.var(expected, ddof=1) * (1 + 60 / 340))
    assert 0 < paper < 0.85
    share = labelled_share([simple(right[at], expected)], Drawn(np.zeros(N, np.int64), at))
    assert share is not None
    assert share.tuning * 340 / N == pytest.approx(paper)
    others = np.delete(expected, at)
    assert share.value == pytest.approx(paper * others.mean() + (right[at] - paper * expected[at]).mean())


def test_the_classical_estimate_weighs_strata_by_their_size() -> None:
    strata = np.array([0] * 6 + [1] * 2)
    share = labelled_share(
        [simple(np.array([1.0, 0.0, 1.0, 1.0]), np.full(8, 0.9))], Drawn(strata, np.array([0, 1, 6, 7])), tuned=False
    )
    assert share is not None
    assert share.value == pytest.approx(6 / 8 * 0.5 + 2 / 8 * 1.0)
    assert share.tuning == 0.0


def test_all_labels_leave_nothing_open() -> None:
    expected, right = population()
    strata = strata_by_expectation(expected, 2 * N)
    drawn = Drawn(strata, draw_strata(strata, 2 * N, np.random.default_rng(0)))
    assert sorted(drawn.at) == list(range(N))
    share = labelled_share([simple(right[drawn.at], expected)], drawn)
    assert share is not None
    assert share.low == share.high == pytest.approx(right.mean())
    assert share.worth == pytest.approx(N)


def test_no_error_among_forty_does_not_say_that_there_is_none() -> None:
    strata = np.array([0] * 300 + [1] * 100)
    drawn = Drawn(strata, draw_strata(strata, 40, np.random.default_rng(0)))
    share = labelled_share([simple(np.ones(40), np.full(N, 0.9))], drawn)
    assert share is not None
    assert (share.value, share.high) == (1.0, 1.0)
    # 20 of 300 are known: an error may hide there as if 20/(300/400) = 27 of all had been drawn.
    assert 0.86 < share.low < 0.89


def test_what_nobody_saw_is_not_measured() -> None:
    recall = Ratio(np.zeros(10), np.zeros(10), np.zeros(N), np.full(N, 0.1))
    assert labelled_share([recall], Drawn(np.zeros(N, np.int64), np.arange(10))) is None


def test_what_people_cannot_tell_is_left_out() -> None:
    tell = np.array([1.0] * 8 + [0.0] * 2)
    right = np.array([1.0] * 6 + [0.0] * 4)
    share = labelled_share(
        [Ratio(right, tell, np.full(N, 0.7), np.ones(N))], Drawn(np.zeros(N, np.int64), np.arange(10)), tuned=False
    )
    assert share is not None
    assert share.value == pytest.approx(6 / 8)


@pytest.mark.parametrize("budget", [1, 10, 39, 200, N])
def test_as_many_are_drawn_as_were_asked_for_each_once(budget: int) -> None:
    expected, _ = population()
    strata = strata_by_expectation(expected, budget)
    at = draw_strata(strata, budget, np.random.default_rng(0))
    assert len(at) == len(set(at.tolist())) == budget
    chances = Drawn(strata, at).probabilities
    assert chances.sum() == pytest.approx(budget)
    assert chances.min() > 0


def test_who_may_be_wrong_is_drawn_oftener() -> None:
    expected, _ = population()
    strata = strata_by_expectation(expected, 100)
    chances = Drawn(strata, draw_strata(strata, 100, np.random.default_rng(0))).probabilities
    assert chances[expected < 0.7].mean() > 2 * chances[expected > 0.98].mean()
    assert chances.min() > 0.25 * chances.mean()


def test_the_interval_holds_the_truth_and_is_worth_more_labels_than_were_given() -> None:
    expected, right = population(2)
    strata, rng = strata_by_expectation(expected, 80), np.random.default_rng(3)
    shares = []
    for _ in range(300):
        drawn = Drawn(strata, draw_strata(strata, 80, rng))
        share = labelled_share([simple(right[drawn.at], expected)], drawn)
        assert share is not None
        shares.append(share)
    assert np.mean([share.low <= right.mean() <= share.high for share in shares]) >= 0.95 - 3 * 0.0126
    assert np.mean([share.worth for share in shares]) > 95
    assert np.mean([share.value for share in shares]) == pytest.approx(right.mean(), abs=0.005)
