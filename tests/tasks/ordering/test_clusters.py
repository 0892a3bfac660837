"""What is independent, and patterns of votes: the same however samples are cut."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.ordering.datasets import keys_of
from assay.tasks.ordering.ranges import heaviest, pattern_counts, pattern_totals_of
from assay.tasks.ordering.task import find_clusters
from assay.tasks.statistics.order_test import MOST_PATTERNS, pattern_totals
from tests.tasks.ordering.test_task import N, given_samples, given_votes

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1) | st.integers(0, 4), st.booleans()))


@given(ROWS.filter(len), st.lists(st.integers(0, 40), max_size=3))
def test_pattern_totals_are_those_of_one_place_wherever_ranges_end(rows, cuts):
    scores, patterns, right = (np.array(column) for column in zip(*rows, strict=True))
    keys = keys_of(scores.astype(float), patterns).scores
    parts = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    counted = [pattern_counts(keys[a:b], patterns[a:b], right[a:b]) for a, b in pairwise(parts)]
    ranges, whole = pattern_totals_of(counted), pattern_totals(scores, right, patterns)
    assert [column.tolist() for column in ranges] == [column.tolist() for column in whole]


def test_of_very_many_patterns_those_with_most_samples_are_kept():
    many = 5 * MOST_PATTERNS
    counts = np.stack([np.arange(many), np.arange(many), 1 + np.arange(many) % 7, np.zeros(many, dtype=np.int64)])
    assert heaviest(counts).shape[1] == 4 * MOST_PATTERNS
    assert heaviest(counts)[2].sum() == np.sort(counts[2])[-4 * MOST_PATTERNS :].sum()


def test_the_line_says_what_counts(make_run, tmp_path):
    with make_run(store=str(tmp_path / "store")) as run:
        cuts = [0, 7, 150, N]
        find_clusters(given_votes(cuts), given_samples(cuts, 1), None)
        assert run.record.stages[-1].summary == f"of {N} samples each sample counts by itself"
