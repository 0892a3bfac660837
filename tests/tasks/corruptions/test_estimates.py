"""Intervals that know that one sample's answers go together: exact sums, coverage, and ratios that survive a zero."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.tasks.corruptions.findings import clustered_ratio, clustered_share, gram, intraclass_correlation
from assay.tasks.statistics.proportions import wilson

OWN, BESIDE = (1, 2), (3, 4)


def share(hits, trials=30):
    return clustered_share(gram(np.column_stack([hits, np.full(len(hits), trials)])), *OWN)


def ratio(hits, others, trials=30):
    full = np.full(len(hits), trials)
    return clustered_ratio(gram(np.column_stack([hits, full, others, full])), OWN, BESIDE)


@example([20, 30], 0)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=40), st.integers(0, 39))
def test_the_interval_holds_the_share_and_no_cut_of_the_samples_shows(hits, cut):
    counts = np.column_stack([hits, np.full(len(hits), 30)])
    np.testing.assert_array_equal(gram(counts[:cut]).sums + gram(counts[cut:]).sums, gram(counts[::-1]).sums)
    found = share(hits)
    assert found.value == pytest.approx(sum(hits) / len(hits) / 30)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_answers_that_go_together_count_as_one_and_those_that_do_not_as_many():
    together = share([30, 0] * 20)
    low, high = wilson([20], [40])
    assert (together.low, together.high) == pytest.approx((low[0], high[0]), abs=0.01)
    apart = share(np.random.default_rng(0).binomial(30, 0.5, 40))
    assert apart.high - apart.low < 0.4 * (together.high - together.low)


def test_no_flip_at_all_still_leaves_what_so_many_samples_can_say():
    found = share([0] * 100)
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(wilson([0], [100])[1][0])


def test_nothing_tried_is_nothing_known():
    assert clustered_share(gram(np.zeros((0, 2), np.int64)), *OWN) is None
    assert clustered_ratio(gram(np.array([[3, 30, 0, 30]])), OWN, BESIDE) is None


def test_intervals_cover_the_truth_as_often_as_they_say():
    generator = np.random.default_rng(1)
    covered = []
    for _ in range(400):
        found = share(generator.binomial(30, generator.beta(0.5, 9.5, 150)))
        covered.append(found.low <= 0.05 <= found.high)
    assert 0.92 <= np.mean(covered) <= 0.985


def test_ratio_intervals_cover_the_truth_as_often_as_they_say_also_where_subjects_flip_on_the_same_samples():
    generator = np.random.default_rng(2)
    for shared in (True, False):
        covered = []
        for _ in range(300):
            fragile = generator.beta(1, 9, 150)
            other = fragile if shared else generator.beta(1, 9, 150)
            found = ratio(generator.binomial(30, fragile * 0.6), generator.binomial(30, other))
            covered.append(found.low <= 0.6 <= found.high)
        assert 0.915 <= np.mean(covered) <= 0.99


def test_a_ratio_knows_that_both_subjects_saw_the_same_images():
    generator = np.random.default_rng(3)
    fragile = generator.beta(0.3, 3, 300)
    hits, others = generator.binomial(30, fragile), generator.binomial(30, fragile)
    paired, unpaired = ratio(hits, others), ratio(hits, generator.permutation(others))
    assert paired.high - paired.low < 0.6 * (unpaired.high - unpaired.low)


def test_a_ratio_is_near_the_bootstraps_and_survives_a_zero_above():
    generator = np.random.default_rng(4)
    hits, others = generator.binomial(30, generator.beta(1, 9, 200)), generator.binomial(30, generator.beta(1, 9, 200))
    found = ratio(hits, others)
    rows = generator.integers(0, 200, (4000, 200))
    low, high = np.quantile(hits[rows].sum(1) / others[rows].sum(1), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.06)
    none = ratio(np.zeros(200, np.int64), others)
    assert (none.value, none.low) == (0, 0)
    assert 0 < none.high < 0.5


def test_how_far_frames_go_together_may_be_known_from_more_of_them():
    def counted(hits):
        return gram(np.column_stack([hits, np.full(len(hits), 30)]))

    assert intraclass_correlation(counted([0] * 9), *OWN) is None
    assert intraclass_correlation(counted([30] * 5 + [0] * 5), *OWN) == 1
    apart = intraclass_correlation(counted(np.random.default_rng(5).binomial(30, 0.1, 3000)), *OWN)
    assert apart == pytest.approx(0, abs=0.01)
    never = counted([0] * 100)
    highs = [clustered_share(never, *OWN, alike).high for alike in (0.0, 0.2, 1.0, None)]
    assert highs == sorted(highs)
    assert highs[0] == pytest.approx(wilson([0], [3000])[1][0])
    assert highs[2] == highs[3]


def test_one_flip_is_not_taken_for_more_than_it_shows():
    once = gram(np.column_stack([[1] + [0] * 99, [30] * 100]))
    alone, informed = clustered_share(once, *OWN), clustered_share(once, *OWN, 0.3)
    assert informed.high > 2 * alone.high
    assert informed.low < alone.low
