"""Intervals that know what is independent: exact cases, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binom, binomtest, bootstrap

from assay.tasks.statistics.clusters import clustered_wilson, codes_of, effective_size, mean_within, share_by
from assay.tasks.statistics.paired import bootstrap_difference, mcnemar, share_difference, wilcoxon
from assay.tasks.statistics.proportions import wilson


def alike(rng: np.random.Generator, groups: int, each: int, share: float, icc: float = 0.3) -> np.ndarray:
    """Right and wrong [groups · each], those of a group as much alike as the intraclass correlation says."""
    strength = (1 - icc) / icc
    return (rng.random((groups, each)) < rng.beta(share * strength, (1 - share) * strength, groups)[:, None]).ravel()


def test_clusters_of_one_sample_are_independent_samples():
    hits = np.arange(200) % 5 > 0
    low, high = wilson([160], [200])
    assert effective_size(hits, np.arange(200)).n == pytest.approx(199, abs=1)
    assert clustered_wilson(hits, np.arange(200)) == pytest.approx((low[0], high[0]), abs=0.002)


def test_clusters_that_are_all_alike_count_once():
    assert effective_size(np.repeat([1, 0] * 20, 6), np.repeat(np.arange(40), 6)).n == pytest.approx(39)
    assert effective_size([1] * 60, np.repeat(np.arange(10), 6)).n == 10


def test_one_cluster_says_nothing():
    assert clustered_wilson([1, 1, 0], [7, 7, 7]) == (0.0, 1.0)
    found = share_difference([1, 1, 0], [0, 1, 0], clusters=[1, 1, 1])
    assert (found.low, found.high) == (-1, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_the_mean_of_few_values_is_covered(n):
    """Means of n values from 0 to 1, right for two thirds on average: .91 to 1.00 of 1,000 draws (with 1.96 in the
    place of Student's t .67 of two and .79 of three)."""
    rng = np.random.default_rng(3)
    ends = [mean_within(rng.beta(2, 1, n)) for _ in range(400)]
    assert np.mean([low <= 2 / 3 <= high for _, low, high in ends]) > 0.88


def test_the_mean_of_one_group_says_little_of_others():
    _, low, high = mean_within(np.linspace(0.4, 0.6, 50), groups=np.zeros(50, np.int64))
    assert low < 0.05
    assert high > 0.95


def test_a_sample_without_a_group_is_one_of_its_own():
    assert codes_of(["b", None, "a", "b", None]).tolist() == [1, 2, 0, 1, 3]


@given(
    arrays.arrays(np.bool_, 50), arrays.arrays(np.int64, 50, elements=st.integers(0, 12)), st.permutations(range(50))
)
@settings(max_examples=60, deadline=None)
def test_the_interval_holds_the_share_in_any_order(hits, groups, shuffled):
    finding = share_by("a.b", hits, groups)
    moved = np.array(shuffled)
    assert 0 <= finding.low <= finding.value <= finding.high <= 1
    again = share_by("a.b", hits[moved], groups[moved])
    assert (again.low, again.high) == pytest.approx((finding.low, finding.high))


@given(arrays.arrays(np.bool_, 40), arrays.arrays(np.bool_, 40))
@settings(max_examples=60, deadline=None)
def test_mcnemar_by_clusters_of_one_is_mcnemars_test(first, second):
    found, plain = mcnemar(first, second, np.arange(40)), mcnemar(first, second)
    assert found == pytest.approx(plain, abs=1e-12 if (first != second).sum() < 25 else 0.02)


def test_mcnemar_of_twins_is_the_binomial_test_of_pairs():
    first, second = np.repeat([1] * 9 + [0] * 3, 2), np.repeat([0] * 9 + [1] * 3, 2)
    found = mcnemar(first, second, np.repeat(np.arange(12), 2))
    assert found == pytest.approx(binomtest(9, 12).pvalue - binom.pmf(9, 12, 0.5))


def test_wilcoxon_by_clusters_of_one_is_wilcoxons_exact_test():
    rng = np.random.default_rng(1)
    for n in (8, 20):
        first, second = rng.normal(size=n), rng.normal(0.4, 1, n)
        assert wilcoxon(first, second, np.arange(n)) == pytest.approx(wilcoxon(first, second))
    many = rng.normal(size=(2, 60))
    assert wilcoxon(*many, np.arange(60)) == pytest.approx(wilcoxon(*many), abs=0.02)


def test_wilcoxon_of_twins_counts_pairs_of_twins():
    apart = np.repeat([3.0, 1.0, 4.0, 2.0, 5.0, 6.0], 2)
    assert wilcoxon(apart, 0 * apart, np.repeat(np.arange(6), 2)) == 2 / 2**6
    assert wilcoxon([1, 1], [1, 1], [0, 0]) == 1


def test_wilcoxons_test_of_many_pairs_in_few_clusters_is_a_matter_of_moments():
    apart = np.random.default_rng(0).integers(-5, 20, 5000)  # signed ranks add up to twenty-five million
    assert wilcoxon(apart, 0 * apart, np.arange(5000) % 20) == 2 / 2**20


def test_the_mean_difference_of_clusters_of_one_is_scipys_bca_a_little_wider():
    values = np.random.default_rng(0).exponential(size=80)
    found = bootstrap_difference(values, 0 * values, np.random.default_rng(1), clusters=np.arange(80))
    theirs = bootstrap((values,), np.mean, n_resamples=9_999, method="BCa", rng=np.random.default_rng(2))
    low, high = theirs.confidence_interval
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.03)
    assert found.high - found.low > high - low


def test_a_difference_by_clusters_of_one_is_newcombes():
    rng = np.random.default_rng(0)
    first, second = rng.random(500) < 0.8, rng.random(500) < 0.7
    plain, clustered = share_difference(first, second), share_difference(first, second, clusters=np.arange(500))
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), abs=0.002)


def coverage(draws: int, groups: int, each: int, share: float) -> tuple[float, float]:
    rng, ours, plain = np.random.default_rng(groups), 0, 0
    clusters = np.repeat(np.arange(groups), each)
    for _ in range(draws):
        hits = alike(rng, groups, each, share)
        low, high = clustered_wilson(hits, clusters)
        ours += low <= share <= high
        (lower,), (upper,) = wilson([hits.sum()], [len(hits)])
        plain += lower <= share <= upper
    return ours / draws, plain / draws


def test_75_patients_of_four_images_are_covered():
    ours, plain = coverage(150, 75, 4, 0.8)
    assert ours >= 0.9 > plain


@pytest.mark.parametrize(("groups", "each", "share"), [(30, 10, 0.98), (30, 10, 0.95), (20, 10, 0.95)])
def test_shares_with_few_errors_are_covered(groups, each, share):
    """.98, .95 and .98 of 3,000 draws hold the share (.88, .91 and .91 where a few groups with an error each were taken
    to show that samples of a group are not alike)."""
    assert coverage(300, groups, each, share)[0] >= 0.93


def test_an_error_in_one_group_says_little_of_how_alike_samples_are():
    groups, hits = np.repeat(np.arange(30), 10), np.ones(300)
    assert effective_size(hits, groups).n == 30
    hits[0] = 0
    assert 50 < effective_size(hits, groups).n < 60  # halfway between an effect of 1 and one of 10
    hits[::20] = 0  # an error in each of fifteen groups does show it
    assert effective_size(hits, groups).n > 270


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "each"), [(75, 4), (30, 10)])
def test_coverage_over_600_draws(groups, each):
    """At least .93 (600 draws: ± .009), where Wilson's interval holds .86 and .71."""
    ours, plain = coverage(600, groups, each, 0.8)
    assert ours >= 0.93
    assert plain <= 0.88


def rejected(draws: int, groups: int, each: int) -> tuple[float, float]:
    rng, ours, plain = np.random.default_rng(each), 0, 0
    clusters = np.repeat(np.arange(groups), each)
    for _ in range(draws):
        leaning = rng.normal(size=groups)[clusters]
        first, second = (rng.normal(size=len(clusters)) + sign * leaning > -1 for sign in (1, -1))
        ours += mcnemar(first, second, clusters) <= 0.05
        plain += mcnemar(first, second) <= 0.05
    return ours / draws, plain / draws


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "each"), [(75, 4), (30, 10)])
def test_size_of_mcnemar_by_cluster_over_600_draws(groups, each):
    """At .05: .025 to .07 (600 draws: ± .009), where McNemar's own test says too often that two alike models differ."""
    ours, plain = rejected(600, groups, each)
    assert 0.025 <= ours <= 0.07
    assert plain >= 0.1


def paired_draw(rng: np.random.Generator, n: int, before: float, after: float) -> float:
    """p of two runs on n samples: most of what the later run loses, the earlier one had right."""
    first = rng.random(n) < before
    lost, won = (before - after + 0.01) / before, 0.01 / (1 - before)
    second = np.where(first, rng.random(n) >= lost, rng.random(n) < won)
    return mcnemar(first, second)


def marked(draws: int, before: float, after: float, n: int = 450) -> float:
    rng = np.random.default_rng(3)
    return sum(paired_draw(rng, n, before, after) <= 0.05 for _ in range(draws)) / draws


@pytest.mark.slow
def test_a_fall_of_three_points_is_marked_and_none_is_not_over_600_draws():
    """.96 to .93 on 450 paired samples in at least 70 %, equal models in at most 5 % (600 draws: ± 2)."""
    assert marked(600, 0.96, 0.93) >= 0.7
    assert marked(600, 0.95, 0.95) <= 0.05
