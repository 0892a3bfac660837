"""The tests of independence: golden p-values, bounds that invert them, and invariances of every statistic."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.overfitting.independence import (
    NINE_TENTHS,
    Answers,
    Record,
    basic_p,
    bernstein_bound,
    bernstein_log_p,
    betting_log_e,
    fingerprint,
    maurer_pontil_bound,
    maurer_pontil_log_p,
    n_model_test,
    pairwise_test,
    records_from,
    records_table,
    samples_needed,
)

GOLDEN = [
    ((1000, 0.05, 0.2, 2), 0.0202138),
    ((1000, 0.05, 0.2, 1.5), 0.00625592),
    ((10_000, 0.01, 0.15, 1.5), 6.17692e-4),
    ((50_000, 0.003, 0.2, 1.5), 0.0417456),
    ((1_271_167, 0.00095, 0.2, 1.5), 6.87625e-6),
    ((1000, 0.02, 0, 2), 0.107022),
    ((500, 0, 0.1, 2), 1.0),
]
BOUNDS = ["paper", "maurer-pontil", "betting"]
unit = st.floats(0.001, 1)


def values_of(mean: float, n: int = 1000, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.clip(0.15 * generator.standard_normal(n) + mean, -1, 0.5)


@pytest.mark.parametrize(("given_", "p"), GOLDEN)
def test_p_is_the_papers(given_, p):
    assert exp(bernstein_log_p(*given_)) == pytest.approx(p, rel=5e-6)


@pytest.mark.parametrize(("given_", "p"), GOLDEN[:-1])
def test_the_bound_at_p_is_the_mean(given_, p):
    n, mean, sigma, span = given_
    assert bernstein_bound(n, sigma, span, exp(bernstein_log_p(*given_))) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "sigma", "floor"),
    [(2000, 0.15, 0.0188), (10_000, 0.15, 0.0061), (50_000, 0.2, 0.0029), (1_270_000, 0.2, 0.00052)],
)
def test_the_smallest_gap_that_shows_is_the_specified_one(n, sigma, floor):
    assert bernstein_bound(n, sigma, 1.5, 0.05) == pytest.approx(floor, abs=0.00006 if floor > 0.001 else 6e-6)


@given(st.integers(50, 10**7), unit, unit, st.floats(0.5, 2))
def test_bound_and_p_invert_each_other(n, mean, sigma, span):
    for log_p, bound in (
        (bernstein_log_p(n, mean, sigma, span), bernstein_bound),
        (maurer_pontil_log_p(n, mean, sigma, span), maurer_pontil_bound),
    ):
        assert log_p <= 0
        if -600 < log_p < 0:
            assert bound(n, sigma, span, exp(log_p)) == pytest.approx(mean, rel=1e-9)
        elif log_p == 0:
            assert bound(n, sigma, span, 1.0) >= mean * (1 - 1e-9)


@given(st.integers(50, 10**7), unit, unit, st.floats(0.5, 2))
def test_log_p_falls_with_the_mean_and_stays_finite(n, mean, sigma, span):
    assert bernstein_log_p(n, -mean, sigma, span) == bernstein_log_p(n, mean, sigma, span)
    assert -np.inf < bernstein_log_p(n, mean, sigma, span) <= bernstein_log_p(n, mean / 2, sigma, span)


@given(unit, st.floats(0.5, 2), unit, st.sampled_from([0.05, 0.001]))
def test_the_number_needed_is_the_least_that_shows_the_gap_nine_times_out_of_ten(sigma, span, gap, alpha):
    n = samples_needed(sigma, span, gap, alpha)

    def seen(n: int) -> float:
        return gap - NINE_TENTHS * sigma / n**0.5 - bernstein_bound(n, sigma, span, alpha)

    assert seen(n) >= -1e-9
    if n > 1:
        assert seen(n - 1) < 1e-9


def test_sixteen_points_give_the_error_back():
    """The example of Figure 3: in each class two right points move onto one wrong point."""
    wrong = np.tile(np.repeat([False, True], 4), 2)
    goes = np.arange(16)
    goes[[0, 1]], goes[[8, 9]] = 4, 12
    density = np.array([1 / np.count_nonzero(goes == z) if np.any(goes == z) else 1.0 for z in range(16)])
    answers = Answers(wrong, wrong[goes], density[goes])
    tested = pairwise_test(answers.values, 2)
    assert (density[4], density[12], answers.errors.mean()) == (1 / 3, 1 / 3, 0.5)
    assert (answers.adversarial * answers.densities).mean() == pytest.approx(0.5, abs=1e-15)
    assert tested.mean == pytest.approx(0.0, abs=1e-15)
    assert tested.p == 1.0


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_order_of_samples_does_not_matter(bound):
    values = values_of(0.05)
    shuffled = np.random.default_rng(1).permutation(values)
    one, other = (pairwise_test(v, 1.5, bound) for v in (values, shuffled))
    assert one.log_p == pytest.approx(other.log_p, rel=1e-9)
    assert one.minimum_gap == pytest.approx(other.minimum_gap, rel=1e-6)


@pytest.mark.parametrize("bound", BOUNDS)
def test_twice_the_samples_say_more_and_see_less_than_half_as_coarsely(bound):
    values = values_of(0.05)
    one, twice = pairwise_test(values, 1.5, bound), pairwise_test(np.tile(values, 2), 1.5, bound)
    assert twice.log_p < one.log_p < 0
    assert one.minimum_gap / 2 < twice.minimum_gap < one.minimum_gap


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_smallest_gap_is_where_p_crosses_the_level(bound):
    values = values_of(0.0)
    gap = pairwise_test(values, 1.5, bound, alpha=0.01).minimum_gap
    above, below = (pairwise_test(values - values.mean() + gap * by, 1.5, bound) for by in (1.02, 0.98))
    assert above.p <= 0.01 < below.p


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_mean_below_zero_is_no_evidence_one_sided(bound):
    found = pairwise_test(values_of(-0.1), 1.5, bound)
    assert found.mean < 0
    assert (found.p == 1.0) == (bound != "paper")


def test_the_e_value_averages_at_most_one_under_the_null():
    generator = np.random.default_rng(0)
    e_values = [exp(betting_log_e(generator.choice([-1.0, 0.0, 0.5], 200, p=[0.1, 0.7, 0.2]))) for _ in range(400)]
    assert np.mean(e_values) < 1.3  # its expectation is 1; most of it lies in rare, large values
    assert np.mean(np.array(e_values) >= 20) <= 0.05


def test_averaging_models_removes_what_only_one_of_them_did():
    generator = np.random.default_rng(0)
    models = 0.02 + 0.2 * generator.choice([-1.0, 1.0], size=(25, 2000))
    single, together = pairwise_test(models[0], 2), n_model_test(models, 2)
    assert together.sigma < single.sigma / 4
    assert together.log_p < single.log_p
    assert n_model_test(models[:1], 2) == single


def test_many_models_are_limited_by_the_range_not_the_spread():
    values = np.full((5, 1000), 0.02)
    assert n_model_test(values, 2).log_p == pytest.approx(log(3) - 1000 * 0.02 / 6)


def test_the_basic_test_sees_less_than_the_pairwise():
    errors = np.repeat([1.0, 0.0], [200, 800])
    weighted = np.where(np.arange(1000) < 200, 0.9, np.where(np.arange(1000) < 500, 0.5, 0.0))
    assert pairwise_test(weighted - errors, 2).p < 1e-5 < basic_p(errors, weighted)
    assert basic_p(errors, errors) == 1.0


def test_an_empty_test_set_is_refused():
    with pytest.raises(InputError, match="no sample to test"):
        pairwise_test(np.array([]), 2)


def test_records_come_back_from_their_table():
    tested = pairwise_test(np.array([-0.5, 0.25, 0.0]), 1.5, "maurer-pontil")
    made = Record("f", "strongest", tested, 1 / 3, 0.25, "abc", "m", "fresh", 3, "maurer-pontil", 2 / 3, 0.5, 0.25, 1)
    assert records_from(records_table([made])) == [made]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5))
@settings(max_examples=20)
def test_a_model_is_known_by_its_values(values):
    found = np.array(values)
    assert fingerprint(found) == fingerprint(found.copy()) != fingerprint(np.append(found, 0.0))
