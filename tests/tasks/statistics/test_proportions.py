"""What is said of the truth by a judge who errs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.statistics.proportions import Judge, corrected_share, normal_band, share, unvaried, wilson


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60, deadline=None)
def test_wilson_is_the_root_of_the_score_test(case: tuple[int, int]) -> None:
    """(p̂ − p)² = z² p(1 − p)/n holds at both ends."""
    hits, n = case
    z2 = 1.959963984540054**2
    for end in (ends := wilson([hits], [n])):
        assert (hits / n - end[0]) ** 2 == pytest.approx(z2 * end[0] * (1 - end[0]) / n, abs=1e-9)
    assert 0 <= ends.low[0] <= hits / n <= ends.high[0] <= 1


def test_wilson_of_newcombes_published_case() -> None:
    low, high = wilson([81], [263])
    assert (low[0], high[0]) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_interval_is_vacuous_without_samples() -> None:
    for function in (wilson, normal_band):
        low, high = function([0, 3], [0, 4])
        assert (low[0], high[0]) == (0.0, 1.0)
        assert high[1] - low[1] < 1


def test_normal_band_is_the_papers_formula_within_zero_and_one() -> None:
    low, high = normal_band([90, 1, 5], [100, 2, 5])
    assert low[0] == pytest.approx(0.9 - 1.64 * np.sqrt(0.09 / 100), abs=1e-15)
    assert (low[1], high[1]) == (0.0, 1.0)
    assert (low[2], high[2]) == (1.0, 1.0)


def test_share_carries_its_n_and_its_interval() -> None:
    finding = share("subject.accuracy", 30, 40, of="gold", group="D3", subject="mine")
    assert (finding.value, finding.n, finding.unit) == (0.75, 40, "share")
    assert finding.low is not None
    assert finding.high is not None
    assert finding.low < 0.75 < finding.high


def test_share_of_nothing_is_not_measured() -> None:
    finding = share("subject.accuracy", 0, 0)
    assert (finding.value, finding.low, finding.n, finding.verdict) == (None, None, 0, "not measured")


def test_more_hits_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="more than it has trials"):
        wilson([5], [4])


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999, 1 - 0.05 / 1092])
def test_wilsons_interval_is_that_of_statsmodels_to_the_last_bit(level: float) -> None:
    from statsmodels.stats.proportion import proportion_confint

    random = np.random.default_rng(0)
    n = np.concatenate([random.integers(1, 10**6, 2000), random.random(2000) * 500])
    hits = np.concatenate([random.integers(0, n[:2000].astype(int) + 1), random.random(2000) * n[2000:]])
    low, high = proportion_confint(hits, n, alpha=1 - level, method="wilson")
    ours = wilson(hits, n, level)
    assert (ours.low == np.clip(low, 0, hits / n)).all()
    assert (ours.high == np.clip(high, hits / n, 1)).all()


@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_what_never_varied_has_the_exact_interval_of_no_exception(n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    _, exceptions = proportion_confint(0, n, method="beta")  # Clopper and Pearson
    assert unvaried(0.0, n) == pytest.approx((-exceptions, exceptions))
    assert unvaried(1.0, n) == pytest.approx((max(-1, 1 - 2 * exceptions), 1.0))
    low, high = unvaried(-0.25, n)
    assert -1 <= low < -0.25 < high <= 1


def test_two_sided_the_rule_of_three_is_one_of_nearly_four() -> None:
    _, high = unvaried(0.0, 300)
    assert high == pytest.approx(-np.log(0.025) / 300, rel=0.01)


@pytest.mark.parametrize("share", [0.01, 0.03, 0.06, 0.12])
def test_samples_without_an_exception_mislead_as_seldom_as_the_level_says(share: float) -> None:
    n = 60
    none_seen = (np.random.default_rng(0).binomial(n, share, size=20_000) == 0).mean()
    low, high = unvaried(0.0, n)
    missed = none_seen if not low <= -share <= high else 0.0  # each exception costs the whole sample
    assert missed <= 0.025


@pytest.mark.parametrize(("value", "n"), [(0.0, 0), (1.5, 10), (float("nan"), 10)])
def test_what_is_no_mean_of_shares_has_no_such_interval(value: float, n: int) -> None:
    with pytest.raises(ValueError, match="mean of one or more"):
        unvaried(value, n)


@given(st.floats(0, 1), st.floats(1e-2, 10))
def test_wilson_is_that_root_of_answers_worth_less_than_one_sample_too(value: float, worth: float) -> None:
    ends = wilson([value * worth], [worth])
    for end in ends:
        assert (value - end[0]) ** 2 * worth == pytest.approx(1.959963984540054**2 * end[0] * (1 - end[0]), abs=1e-9)
    assert ends.low[0] - 1e-12 <= value <= ends.high[0] + 1e-12


def test_the_less_answers_are_worth_the_wider_is_their_interval() -> None:
    worth = np.array([4, 1, 0.5, 0.1, 0.01])
    low, high = wilson(0.8 * worth, worth)
    assert (np.diff(high - low) > 0).all()
    assert high[-1] > 0.999


def test_a_perfect_judge_needs_no_correction():
    found = corrected_share(20, 200, Judge(10_000, 10_000, 10_000, 10_000))
    (low,), (high,) = wilson([20], [200])
    assert found.value == pytest.approx(0.1)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.01)


def test_a_judge_of_90_and_90_who_calls_18_percent_saw_10():
    found = corrected_share(180, 1000, Judge(90, 100, 90, 100))
    assert found.value == pytest.approx(0.1)
    assert found.low <= 0.1 <= found.high


@pytest.mark.parametrize("judge", [Judge(5, 10, 5, 10), Judge(3, 4, 40, 60), Judge(0, 0, 5, 5), Judge(9, 9, 0, 0)])
def test_a_judge_who_may_be_guessing_says_nothing(judge):
    assert corrected_share(10, 50, judge) is None


@given(st.integers(0, 300), st.integers(40, 50), st.integers(80, 100))
@settings(max_examples=100, deadline=None)
def test_the_share_lies_in_its_interval_and_grows_with_what_is_called(called, found, cleared):
    judge = Judge(found, 50, cleared, 100)
    less, more = corrected_share(called, 301, judge), corrected_share(called + 1, 301, judge)
    assert 0 <= less.low <= less.value <= less.high <= 1
    assert less.value <= more.value


def coverage(draws: int, n: int, cases: int, others: int) -> tuple[float, float]:
    rng, ours, plain = np.random.default_rng(n), 0, 0
    for _ in range(draws):
        called = int(rng.binomial(n, 0.1 * 0.9 + 0.9 * 0.1))
        found = corrected_share(called, n, Judge(rng.binomial(cases, 0.9), cases, rng.binomial(others, 0.9), others))
        ours += found is not None and found.low <= 0.1 <= found.high
        (low,), (high,) = wilson([called], [n])
        plain += low <= 0.1 <= high
    return ours / draws, plain / draws


def test_a_true_share_of_10_percent_is_covered():
    ours, plain = coverage(150, 500, 50, 200)
    assert ours >= 0.88
    assert plain <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n", "cases", "others"), [(500, 50, 200), (200, 20, 80), (1000, 100, 100)])
def test_coverage_over_600_draws(n, cases, others):
    """At least .90 (600 draws: ± .012), where the share as called holds 10 % in at most 10 %."""
    ours, plain = coverage(600, n, cases, others)
    assert ours >= 0.9
    assert plain <= 0.1
