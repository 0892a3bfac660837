"""What is said of the truth by a judge who errs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.statistics.proportions import Judge, corrected_share, wilson


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
