"""The order's test against its formula written out, against what must not change it, and against chance."""

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
    OrderTest,
    PatternTotals,
    area_difference,
    area_interval,
    area_sums,
    group_trend,
    order_test,
    pattern_totals,
    permuted_trend,
)

Case = tuple[np.ndarray, np.ndarray, np.ndarray]


def judged(scores, right, patterns, groups=None, seed: int = 0) -> OrderTest:
    """The test of samples that are their own groups, unless groups are given: then by group, without patterns."""
    samples = np.arange(len(right)) if groups is None else groups
    return order_test(scores, right, patterns if groups is None else None, samples, np.random.default_rng(seed))


def drawn(seed: int, n: int = 200, groups: int = 60, ties: int = 12) -> Case:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, ties, n) / ties
    return scores, (rng.random(n) < 0.3 + 0.4 * scores).astype(int), rng.integers(0, groups, n)


def residuals_t(a: np.ndarray, e: np.ndarray, codes: np.ndarray) -> float:
    """The slope of e along a over the spread of its residuals by cluster."""
    slope = (a * e).sum() / (a * a).sum()
    left = np.bincount(codes, a * (e - slope * a))
    return (a * e).sum() / np.sqrt((left**2).sum())


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_formula(seed):
    """Each pattern with one score, 199 permutations written out."""
    rng = np.random.default_rng(seed)
    sizes, scores = rng.geometric(0.2, 40), rng.integers(0, 15, 40) / 15
    codes = np.repeat(np.arange(40), sizes)
    right = (rng.random(len(codes)) < 0.4 + 0.3 * scores[codes]).astype(int)
    totals = pattern_totals(scores[codes], right, codes)
    trend = permuted_trend(totals, np.random.default_rng(9), 199)

    def ranks(of_pattern: np.ndarray) -> np.ndarray:
        return rankdata(of_pattern[codes]) - (len(codes) + 1) / 2

    a, e = ranks(scores), right - right.mean()
    sums = np.bincount(codes, a * e)
    assert trend.t == pytest.approx(sums.sum() / np.sqrt(40 / 39 * (sums**2).sum()))
    observed = abs(residuals_t(a, e, codes))
    others = [abs(residuals_t(ranks(rng.permutation(scores)), e, codes)) for _ in range(1999)]
    assert trend.p_value == pytest.approx((1 + np.sum(np.array(others) >= observed)) / 2000, abs=0.06)
    area = judged(scores[codes], right, codes).area
    assert area.value == pytest.approx(
        mannwhitneyu(scores[codes][right == 1], scores[codes][right == 0]).statistic / (right.sum() * (1 - right).sum())
    )


def test_without_groups_the_interval_is_delongs():
    scores, right, patterns = drawn(1, n=600)
    ours, delong = judged(scores, right, patterns).area, binary_auc(scores, right)
    assert (ours.low, ours.high) == pytest.approx((delong.low, delong.high), abs=0.0005)


def test_p_is_two_sided_and_t_turns_with_the_order():
    scores, right, patterns = drawn(2, n=800)
    there, back = judged(scores, right, patterns), judged(-scores, right, patterns)
    assert (back.t, back.p_value) == (pytest.approx(-there.t), pytest.approx(there.p_value, abs=0.003))
    assert back.area.value == pytest.approx(1 - there.area.value)
    assert (there.verdict(0.01), back.verdict(0.01)) == ("adverse", "violation")


def test_test_and_interval_have_to_agree():
    test = OrderTest(100, 60, 20, 3.0, 0.001, area_interval(area_sums([1, 2] * 10, [0, 1, 1, 0] * 5, range(20))))
    assert test.verdict(0.01) == "not shown: the interval holds one half"


def unequal(seed: int, patterns: int = 133, times: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score, samples and right ones of patterns of which few hold most samples."""
    rng = np.random.default_rng(seed)
    sizes, rates = np.ceil(np.exp(rng.normal(1.2, 1.4, patterns))).astype(int) * times, rng.beta(2, 1, patterns)
    return rates, sizes, np.round(rates * sizes).astype(int)


def test_a_perfect_order_of_unequal_patterns_is_seen():
    """p was .0051 for it while an effect inflated its own variance."""
    totals = PatternTotals(*(column[np.argsort(unequal(3)[0])] for column in unequal(3)))
    assert permuted_trend(totals, np.random.default_rng(0)).p_value <= 0.001


def test_ten_times_the_samples_sharpen():
    scores, sizes, won = unequal(4)
    widths = []
    for times in (1, 10):
        codes = np.repeat(np.arange(133), sizes * times)
        right = np.concatenate([np.arange(size * times) < hits * times for size, hits in zip(sizes, won, strict=True)])
        area = judged(scores[codes] + np.sin(codes), right, codes).area
        widths.append(area.high - area.low)
    assert widths[0] / widths[1] == pytest.approx(10**0.5, rel=0.02)


def test_of_groups_t_is_that_of_a_jackknife():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(40), rng.integers(1, 12, 40))
    scores, gains = rng.normal(size=len(groups)), rng.integers(-1, 2, len(groups))
    right = (gains > 0).astype(int)
    without = [
        area_sums(scores[groups != at], right[groups != at], np.arange((groups != at).sum())).value for at in range(40)
    ]
    spread = np.sqrt(39 / 40 * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert judged(scores, right, None, groups).spread == pytest.approx(spread, rel=0.03)
    assert group_trend(scores, gains, groups).t == pytest.approx(-group_trend(-scores, gains, groups).t)


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
    if 0 < right.sum() < 60 and scores.min() < scores.max():
        here = permuted_trend(pattern_totals(scores, right, clusters), np.random.default_rng(0), 99)
        assert here == permuted_trend(
            pattern_totals(scores[moved] / 7, right[moved], names[moved]), np.random.default_rng(0), 99
        )
        first, second = (
            area_interval(area_sums(*each))
            for each in ((scores, right, clusters), (scores[moved] / 7, right[moved], clusters[moved]))
        )
        assert first == second


@given(arrays.arrays(np.float64, 40, elements=st.floats(0, 1)), st.integers(1, 39))
@settings(max_examples=60, deadline=None)
def test_an_area_lies_in_its_interval_and_within_0_and_1(scores, won):
    area = area_interval(area_sums(scores, np.arange(40) < won, np.arange(40)))
    assert 0 <= area.low <= area.value <= area.high <= 1


@pytest.mark.parametrize(
    ("scores", "right", "clusters", "why"),
    [
        ([], [], [], "no true label is known"),
        ([1, 2, 3], [1, 1, 1], [1, 2, 3], "no label is wrong"),
        ([1, 2, 3], [0, 0, 0], [1, 2, 3], "no label is right"),
        ([*range(9)] * 2 + [0, 0], [0, 1] * 10, [*range(9)] * 2 + [0, 0], "9 patterns of votes, fewer than 10"),
        ([1] * 20, [0, 1] * 10, range(20), "all samples have one score"),
    ],
)
def test_what_cannot_be_tested_is_not_measured_and_says_why(scores, right, clusters, why):
    test = judged(list(scores), right, list(clusters))
    assert (test.p_value, test.area) == (None, None)
    assert test.verdict(0.01) == f"not measured: {why}"


def test_a_difference_of_areas_is_delongs_on_the_same_samples():
    rng = np.random.default_rng(5)
    truth = rng.random(400) < 0.6
    shared = rng.normal(size=400) + truth
    first, second = shared + rng.normal(size=400) * 0.4, shared + rng.normal(size=400)
    found = area_difference(*(area_sums(one, truth, np.arange(400)) for one in (first, second)))
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
    area = area_sums(*drawn(3))
    assert area_difference(area, area) == pytest.approx(area_difference(area, area))
    assert area_difference(area, area).low == area_difference(area, area).high == 0


def test_of_very_many_patterns_those_drawn_show_what_all_would(monkeypatch):
    """The largest, of which few rules vote, all stand at one end: among them alone is no trend."""
    monkeypatch.setattr("assay.tasks.statistics.order_test.MOST_PATTERNS", 512)
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.repeat(rng.random(600) * 0.03, 2), rng.random(20_000)])
    patterns, right = np.concatenate([np.repeat(np.arange(600), 2), 600 + np.arange(20_000)]), rng.random(21_200)
    test = order_test(scores, right < 0.8 + 0.19 * scores, patterns, np.arange(21_200), rng)
    assert (test.clusters, test.p_value, test.verdict(0.01)) == (512, pytest.approx(1e-4), "adverse")
    assert order_test(scores, right < 0.9, patterns, np.arange(21_200), rng).p_value > 0.01
