"""What is independent, and patterns of votes: the same however samples are cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.ordering.datasets import keys_of
from assay.tasks.ordering.ranges import DrawnPatterns, pattern_counts
from assay.tasks.ordering.task import find_clusters
from assay.tasks.statistics.order_test import MOST_PATTERNS, drawn_patterns, pattern_totals
from tests.tasks.ordering.test_task import N, given_samples, given_votes

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1) | st.integers(0, 4), st.booleans()))


def totals_of(counted):
    so_far = DrawnPatterns()
    for counts in counted:
        so_far.add(counts)
    return so_far.totals()


@given(ROWS.filter(len), st.lists(st.integers(0, 40), max_size=3))
def test_pattern_totals_are_those_of_one_place_wherever_ranges_end(rows, cuts):
    scores, patterns, right = (np.array(column) for column in zip(*rows, strict=True))
    keys = keys_of(scores.astype(float), patterns).scores
    in_order = np.argsort(keys, kind="stable")
    scores, keys, patterns, right = scores[in_order], keys[in_order], patterns[in_order], right[in_order]
    parts = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    counted = [pattern_counts(keys[a:b], patterns[a:b], right[a:b]) for a, b in pairwise(parts)]
    ranges, whole = totals_of(counted), pattern_totals(scores, right, patterns)
    assert [column.tolist() for column in ranges] == [column.tolist() for column in whole]


def test_of_very_many_patterns_some_are_drawn_the_larger_the_likelier():
    samples = np.repeat([1, 10, 100_000], [90_000, 9_000, 100])
    kept = drawn_patterns(samples, np.arange(len(samples)), np.zeros(len(samples)), 4_096)
    sizes, counts = np.unique(samples[kept], return_counts=True)
    assert sizes.tolist() == [1, 10, 100_000]
    assert counts[2] == 100
    assert counts[1] / counts[0] == pytest.approx(1, abs=0.1)  # 90,000 samples of each


@pytest.mark.parametrize("tie", [1, 3 * MOST_PATTERNS])
def test_of_ranges_that_follow_each_other_patterns_of_all_are_drawn(tie):
    """Ties end within ranges or reach over several; a pattern has samples in two."""
    n, generator = 5 * MOST_PATTERNS, np.random.default_rng(0)
    scores, right = np.repeat(-(np.arange(n) // tie), 2).astype(float), generator.random(2 * n) < 0.5
    patterns = np.concatenate([np.arange(n), generator.integers(0, n, n)])
    keys = keys_of(scores, patterns).scores
    counted = [
        pattern_counts(keys[a : a + 9_999], patterns[a : a + 9_999], right[a : a + 9_999])
        for a in range(0, 2 * n, 9_999)
    ]
    ranges, whole = totals_of(counted), pattern_totals(scores, right, patterns)
    assert [column.tolist() for column in ranges] == [column.tolist() for column in whole]


def test_the_line_says_what_counts(make_run, tmp_path):
    with make_run(store=str(tmp_path / "store")) as run:
        cuts = [0, 7, 150, N]
        find_clusters(given_votes(cuts), given_samples(cuts, 1), None)
        assert run.record.stages[-1].summary == f"of {N} samples each sample counts by itself"
