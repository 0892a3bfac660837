"""Counts of votes are exact, add up over partitions, and refuse votes outside the classes."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.infra.errors import InputError
from assay.infra.stages.exact import SparseSum
from assay.tasks.statistics.vote_counts import (
    VoteCounts,
    _from_cell_to_cell,
    _from_vote_to_vote,
    _pairs_that_occur,
    count_partition,
    vote_counts,
)


def count_votes(votes: pa.Table, classes: int) -> VoteCounts:
    return vote_counts(count_partition(votes, classes), classes)


def table_of(votes: np.ndarray) -> pa.Table:
    columns = {f"f{i}": pa.array(votes[:, i], pa.int8()) for i in range(votes.shape[1])}
    return pa.table({"id": [str(i) for i in range(len(votes))], **columns})


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.int8, st.tuples(st.integers(1, 30), st.integers(1, 5)), elements=st.integers(-1, 2)), st.integers(0, 30)
)
def test_counts_of_parts_add_up_to_the_counts_of_the_whole(votes, cut):
    whole = count_votes(table_of(votes), 3)
    head, tail = count_votes(table_of(votes[:cut]), 3), count_votes(table_of(votes[cut:]), 3)
    one_hot = np.stack([votes == y for y in range(3)], axis=2).reshape(len(votes), -1).astype(np.int64)
    assert whole.n == head.n + tail.n == len(votes)
    assert whole.pairs == head.pairs + tail.pairs
    np.testing.assert_array_equal(whole.together, one_hot.T @ one_hot)


@settings(max_examples=40, deadline=None)
@given(arrays(np.int8, st.tuples(st.integers(1, 30), st.integers(1, 5)), elements=st.integers(-1, 4)))
def test_from_vote_to_vote_from_cell_to_cell_and_without_a_matrix_is_the_same(votes):
    columns = list(np.ascontiguousarray(votes.T))
    names = tuple(f"f{i}" for i in range(len(columns)))
    dense = _from_cell_to_cell(columns, 5)
    np.testing.assert_array_equal(_from_vote_to_vote(columns, 5), dense)
    pairs = _pairs_that_occur(columns, 5, len(votes), block=7)
    assert VoteCounts(names, 5, len(votes), pairs) == VoteCounts.of_matrix(names, 5, len(votes), dense)


def test_of_many_cells_only_pairs_that_occur_are_kept():
    generator = np.random.default_rng(0)
    votes = np.where(generator.random((300, 120)) < 0.02, generator.integers(0, 56, (300, 120)), -1).astype(np.int8)
    counted = count_partition(table_of(votes), 56)
    assert isinstance(counted["pairs"], SparseSum)
    assert len(counted["pairs"].places) < 300 * 20
    counts = vote_counts(counted, 56)
    np.testing.assert_array_equal(counts.votes, np.stack([(votes == y).sum(axis=0) for y in range(56)], axis=1))


def test_counts_are_exact_beyond_one_block_of_rows():
    votes = np.random.default_rng(0).integers(-1, 2, size=(20_001, 4)).astype(np.int8)
    counts = vote_counts(count_partition(table_of(votes), 2), 2)
    np.testing.assert_array_equal(counts.votes, np.stack([(votes == y).sum(axis=0) for y in (0, 1)], axis=1))
    np.testing.assert_array_equal(counts.coverage, (votes >= 0).mean(axis=0))


def test_the_counts_of_some_functions_are_those_of_their_votes_alone():
    votes = np.random.default_rng(1).integers(-1, 3, size=(50, 4)).astype(np.int8)
    table = table_of(votes)
    whole = vote_counts(count_partition(table, 3), 3)
    part = table.select(["id", "f3", "f1"])
    np.testing.assert_array_equal(whole.of(["f3", "f1"]).together, count_votes(part, 3).together)
    with pytest.raises(InputError, match="no votes of nobody"):
        whole.of(["nobody"])


@pytest.mark.parametrize("vote", [3, -2])
def test_a_vote_outside_the_classes_is_refused_by_function_and_sample(vote):
    table = pa.table({"id": ["a", "b"], "rule": pa.array([0, vote], pa.int8())})
    with pytest.raises(InputError, match=f"rule votes {vote} for sample 'b', but the classes are 0 to 2"):
        count_votes(table, 3)
