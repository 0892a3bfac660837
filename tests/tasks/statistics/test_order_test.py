"""The order's test against its formula written out, against what must not change it, and against chance.

And: sums of products are exact, however large the numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import mannwhitneyu, rankdata
from scipy.stats import t as student

from assay.tasks.statistics.auc import binary_auc
from assay.tasks.statistics.order_test import (
    area_difference,
    area_interval,
    order_test,
    ranked_area,
    squared_sum,
    whole_dot,
)

Case = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(seed: int, n: int = 200, groups: int = 60, ties: int = 12) -> Case:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, ties, n) / ties
    return scores, (rng.random(n) < 0.3 + 0.4 * scores).astype(int), rng.integers(0, groups, n)


def written_out(scores: np.ndarray, right: np.ndarray, clusters: np.ndarray) -> tuple[float, float, float]:
    a = rankdata(scores) - (len(scores) + 1) / 2
    e = right - right.mean()
    _, codes = np.unique(clusters, return_inverse=True)
    sums = np.bincount(codes, a * e)
    groups = len(sums)
    t = sums.sum() / np.sqrt(groups / (groups - 1) * (sums**2).sum())
    auc = 0.5 + sums.sum() / (right.sum() * (1 - right).sum())
    return t, 2 * min(student.sf(t, groups - 1), student.cdf(t, groups - 1)), auc


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_formula(seed):
    case = drawn(seed)
    test = order_test(*case)
    assert (test.t, test.p_value, test.area.value) == pytest.approx(written_out(*case), rel=1e-9)
    assert test.area.value == pytest.approx(
        mannwhitneyu(case[0][case[1] == 1], case[0][case[1] == 0]).statistic / (case[1].sum() * (1 - case[1]).sum())
    )


def test_without_clusters_the_interval_is_delongs():
    scores, right, _ = drawn(1, n=600)
    ours, delong = order_test(scores, right, np.arange(600)).area, binary_auc(scores, right)
    assert (ours.low, ours.high) == pytest.approx((delong.low, delong.high), abs=0.002)


def test_p_is_two_sided_and_t_turns_with_the_order():
    scores, right, clusters = drawn(2, n=800)
    there, back = order_test(scores, right, clusters), order_test(-scores, right, clusters)
    assert (back.t, back.p_value) == (-there.t, there.p_value)
    assert back.area.value == pytest.approx(1 - there.area.value)
    assert back.adverse == pytest.approx(1 - there.adverse)
    assert (there.verdict(0.01), back.verdict(0.01)) == ("adverse", "violation")


@given(
    arrays.arrays(np.int64, 60, elements=st.integers(0, 5)),
    arrays.arrays(np.int64, 60, elements=st.integers(0, 1)),
    arrays.arrays(np.int64, 60, elements=st.integers(0, 30)),
    st.permutations(range(60)),
)
@settings(max_examples=60, deadline=None)
def test_the_same_bits_for_any_order_of_the_samples_and_any_names_of_clusters(scores, right, clusters, shuffled):
    moved = np.array(shuffled)
    names = np.array([f"patient {one}" for one in clusters])
    assert order_test(scores, right, clusters) == order_test(scores[moved] / 7, right[moved], names[moved])


@given(arrays.arrays(np.float64, 40, elements=st.floats(0, 1)), st.integers(1, 39))
@settings(max_examples=60, deadline=None)
def test_an_area_lies_in_its_interval_and_within_0_and_1(scores, won):
    area = area_interval(ranked_area(scores, np.arange(40) < won, np.arange(40)))
    assert 0 <= area.low <= area.value <= area.high <= 1


@pytest.mark.parametrize(
    ("scores", "right", "clusters", "why"),
    [
        ([], [], [], "no true label is known"),
        ([1, 2, 3], [1, 1, 1], [1, 2, 3], "no label is wrong"),
        ([1, 2, 3], [0, 0, 0], [1, 2, 3], "no label is right"),
        (range(20), [0, 1] * 10, [*range(9)] * 2 + [0, 0], "9 independent groups, fewer than 10"),
        ([1] * 20, [0, 1] * 10, range(20), "all samples have one score"),
    ],
)
def test_what_cannot_be_tested_is_not_measured_and_says_why(scores, right, clusters, why):
    test = order_test(list(scores), right, list(clusters))
    assert (test.p_value, test.area) == (None, None)
    assert test.verdict(0.01) == f"not measured: {why}"


def test_a_difference_of_areas_is_delongs_on_the_same_samples():
    rng = np.random.default_rng(5)
    truth = rng.random(400) < 0.6
    shared = rng.normal(size=400) + truth
    first, second = shared + rng.normal(size=400) * 0.4, shared + rng.normal(size=400)
    found = area_difference(*(ranked_area(one, truth, np.arange(400)) for one in (first, second)))
    components = []
    for one in (first, second):
        above = (one[truth][:, None] > one[~truth]).astype(float)
        components.append((above.mean(axis=1), above.mean(axis=0)))
    variance = sum(
        np.var(components[0][side] - components[1][side], ddof=1) / count
        for side, count in ((0, truth.sum()), (1, (~truth).sum()))
    )
    assert found.value == pytest.approx(components[0][0].mean() - components[1][0].mean())
    assert found.high - found.value == pytest.approx(student.isf(0.025, 399) * np.sqrt(variance), rel=0.01)


def test_an_order_does_not_differ_from_itself():
    area = ranked_area(*drawn(3))
    assert area_difference(area, area) == pytest.approx(area_difference(area, area))
    assert area_difference(area, area).low == area_difference(area, area).high == 0


@pytest.mark.slow
def test_size_and_power_over_600_draws():
    """At .01 two-sided: an order that says nothing is believed in at most .022 (600 draws: ± .012), another in ≥ .9."""
    rng = np.random.default_rng(11)
    false, shown, covered = 0, 0, 0
    for _ in range(600):
        groups = np.repeat(np.arange(100), rng.integers(1, 9, 100))
        n = len(groups)
        likes = rng.normal(size=100)[groups]
        scores = np.round(rng.normal(size=100)[groups] + 0.3 * rng.normal(size=n), 1)
        nothing = (rng.normal(size=n) + likes > -0.5).astype(int)
        false += order_test(scores, nothing, groups).p_value <= 0.01
        something = (rng.normal(size=n) + 0.5 * likes + scores > -0.5).astype(int)
        shown += order_test(scores, something, groups).p_value <= 0.01
        ours = order_test(rng.normal(size=n) + (even := rng.random(n) < 0.5), even, np.arange(n)).area
        covered += ours.low <= 0.7602 <= ours.high
    assert false / 600 <= 0.022
    assert shown / 600 >= 0.9
    assert 0.93 <= covered / 600 <= 0.97


@pytest.mark.parametrize("seed", [1, 2])
def test_size_in_clusters_that_a_mann_whitney_test_gets_wrong(seed):
    rng = np.random.default_rng(seed)
    ours, theirs = 0, 0
    for _ in range(60):
        groups = np.repeat(np.arange(40), 8)
        scores, right = (rng.normal(size=40)[groups], rng.normal(size=40)[groups] + rng.normal(size=320) > 0)
        ours += order_test(scores, right, groups).p_value <= 0.05
        theirs += mannwhitneyu(scores[right == 1], scores[right == 0]).pvalue <= 0.05
    assert ours <= 7 < theirs


ANY = st.integers(-(2**63), 2**63 - 1)


PAIRS = st.lists(st.tuples(ANY, ANY) | st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=30)


@given(PAIRS)
def test_a_dot_product_is_that_of_whole_numbers_without_end(pairs):
    first, second = (np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1))
    assert whole_dot(first, second) == sum(one * two for one, two in pairs)


def test_many_products_of_the_largest_do_not_overflow():
    most = np.full(3_000_000, -(2**63), dtype=np.int64)
    assert whole_dot(most, most) == 3_000_000 * 2**126
    assert whole_dot(np.full(3_000_000, 2**31), np.full(3_000_000, 2**31)) == 3_000_000 * 2**62


@given(PAIRS, st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40))
def test_squares_of_weighted_sums_add_up(pairs, left, right):
    columns = [np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1)]
    assert squared_sum(columns, (left, right)) == sum((left * one + right * two) ** 2 for one, two in pairs)
