"""Correlations from counts are the correlations of the votes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.tasks.pruning.panel import correlations
from assay.tasks.statistics.vote_counts import VoteCounts


def counts_of(votes: np.ndarray, classes: int) -> VoteCounts:
    one_hot = np.stack([votes == y for y in range(classes)], axis=2).reshape(len(votes), -1).astype(np.int64)
    names = tuple(f"f{i}" for i in range(votes.shape[1]))
    return VoteCounts.of_matrix(names, classes, len(votes), one_hot.T @ one_hot)


def vote_matrices(classes: int):
    shape = st.tuples(st.integers(2, 25), st.integers(1, 6))
    return arrays(np.int8, shape, elements=st.integers(-1, classes - 1))


@settings(max_examples=60, deadline=None)
@given(vote_matrices(2))
def test_two_classes_give_pearson_of_the_signed_votes(votes):
    signed = np.select([votes == 0, votes == 1], [-1.0, 1.0], 0.0)
    for i in range(votes.shape[1]):
        for j in range(votes.shape[1]):
            r = correlations(counts_of(votes, 2))[i, j]
            if i == j or signed[:, i].std() == 0 or signed[:, j].std() == 0:
                assert r == 0
            else:
                assert r == pytest.approx(np.corrcoef(signed[:, i], signed[:, j])[0, 1], abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(vote_matrices(3))
def test_more_classes_give_the_strongest_pair_of_class_indicators(votes):
    r = correlations(counts_of(votes, 3))
    for i in range(votes.shape[1]):
        for j in range(votes.shape[1]):
            strongest = max(
                (
                    abs(np.corrcoef(votes[:, i] == y, votes[:, j] == z)[0, 1])
                    for y in range(3)
                    for z in range(3)
                    if (votes[:, i] == y).std() > 0 and (votes[:, j] == z).std() > 0
                ),
                default=0.0,
            )
            assert r[i, j] == pytest.approx(0.0 if i == j else strongest, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(vote_matrices(2), st.randoms(use_true_random=False))
def test_correlations_ignore_the_order_of_samples_and_their_duplication(votes, random):
    shuffled = votes[random.sample(range(len(votes)), len(votes))]
    expected = correlations(counts_of(votes, 2))
    np.testing.assert_array_equal(correlations(counts_of(shuffled, 2)), expected)
    np.testing.assert_allclose(correlations(counts_of(np.tile(votes, (3, 1)), 2)), expected, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_correlations_ignore_the_names_of_the_classes(classes):
    votes = np.random.default_rng(classes).integers(-1, classes, size=(200, 5)).astype(np.int8)
    renamed = np.where(votes >= 0, classes - 1 - votes, -1)
    np.testing.assert_allclose(
        correlations(counts_of(renamed, classes)), correlations(counts_of(votes, classes)), atol=1e-15
    )


def test_functions_that_always_agree_or_always_contradict_correlate_perfectly():
    same = np.array([0, 1, -1, 1, 0, 0, 1], dtype=np.int8)
    opposite = np.where(same >= 0, 1 - same, -1)
    r = correlations(counts_of(np.stack([same, same, opposite], axis=1), 2))
    assert r[0, 1] == 1.0
    assert r[0, 2] == -1.0


def test_a_correlation_of_exactly_one_half_is_exactly_one_half():
    votes = np.array([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0], [1, 1], [0, 0]], dtype=np.int8)
    assert correlations(counts_of(votes, 2))[0, 1] == 0.5
