"""Weak labels: what the votes say, in the same bits whatever else lies in the partition."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from assay.data.schemas import WeakLabels
from assay.infra.errors import InputError
from assay.tasks.weak_labels.labelers import Labeler, default_class, labeler_from, majority, softmax_at, weak_labels


def table_of(votes: np.ndarray) -> pa.Table:
    columns = {f"f{i}": pa.array(np.ascontiguousarray(votes[:, i]), pa.int8()) for i in range(votes.shape[1])}
    return pa.table({"id": [str(i) for i in range(len(votes))], **columns})


def equal_weights(m: int, k: int) -> Labeler:
    return majority([f"f{i}" for i in range(m)])


def learned(m: int, k: int) -> Labeler:
    """A labeler that has learned μ, with exactly representable numbers, and no class it prefers."""
    generator = np.random.default_rng([m, k])
    right, wrong = generator.uniform(0.4, 0.6, m), generator.uniform(0.01, 0.1, m)
    mu = np.where(np.eye(k, dtype=bool), right[:, None, None], wrong[:, None, None]).astype(np.float32)
    return Labeler(tuple(f"f{i}" for i in range(m)), right, mu)


LABELERS = [pytest.param(equal_weights, id="majority"), pytest.param(learned, id="snorkel")]
K = 3
vote_matrices = arrays(np.int8, st.tuples(st.integers(1, 40), st.integers(1, 9)), elements=st.integers(-1, K - 1))


@settings(max_examples=60, deadline=None)
@given(vote_matrices)
def test_majority_is_the_softmax_of_the_votes_per_class(votes):
    labels = weak_labels(table_of(votes), equal_weights(votes.shape[1], K), K, default=1)
    assert labels.schema.equals(WeakLabels.schema)
    for row, said in zip(labels.to_pylist(), votes, strict=True):
        per_class = np.bincount(said[said >= 0], minlength=K)
        undecided = per_class.min() == per_class.max()
        assert row["votes_cast"] == per_class.sum()
        assert row["undecided"] == undecided
        assert row["label"] == (1 if per_class[1] == per_class.max() else per_class.argmax())
        assert row["confidence"] == pytest.approx(softmax(per_class).max(), abs=1e-15)
        assert row["share"] == pytest.approx(softmax(per_class)[row["label"]], abs=1e-15)
        assert 0 < row["share"] <= 1
        assert 1 / K <= row["confidence"] <= 1


@settings(max_examples=60, deadline=None)
@given(vote_matrices)
def test_snorkel_follows_the_posterior_and_shares_by_the_weights(votes):
    labeler = learned(votes.shape[1], K)
    for row, said in zip(weak_labels(table_of(votes), labeler, K, default=0).to_pylist(), votes, strict=True):
        likelihood = np.ones(K)
        weight = np.zeros(K)
        for i, y in enumerate(said):
            if y >= 0:
                likelihood *= labeler.mu[i, y]
                weight[y] += labeler.weights[i]
        posterior = likelihood / likelihood.sum()
        assert row["confidence"] == pytest.approx(posterior.max(), rel=1e-5)
        assert posterior[row["label"]] == pytest.approx(posterior.max(), rel=1e-5)
        assert row["share"] == pytest.approx(softmax(weight)[row["label"]], rel=1e-12)


@pytest.mark.parametrize("make", LABELERS)
@settings(max_examples=40, deadline=None)
@given(votes=vote_matrices, random=st.randoms(use_true_random=False))
def test_rows_keep_their_bits_when_they_are_shuffled_repeated_or_cut(make, votes, random):
    labeler, table = make(votes.shape[1], K), table_of(votes)
    whole = weak_labels(table, labeler, K, default=0)
    shuffle = random.sample(range(len(votes)), len(votes))
    cut = random.randint(0, len(votes))
    assert weak_labels(table.take(shuffle), labeler, K, default=0).equals(whole.take(shuffle))
    parts = [weak_labels(part, labeler, K, default=0) for part in (table.slice(0, cut), table.slice(cut))]
    assert pa.concat_tables(parts).equals(whole)
    twice = weak_labels(pa.concat_tables([table, table]), labeler, K, default=0)
    assert twice.slice(len(votes)).equals(whole)


@pytest.mark.parametrize("make", LABELERS)
def test_bits_do_not_depend_on_the_size_of_the_partition(make):
    votes = np.random.default_rng(0).integers(-1, K, size=(70_001, 17)).astype(np.int8)
    labeler, table = make(17, K), table_of(votes)
    whole = weak_labels(table, labeler, K, default=0)
    for start, size in [(1, 1), (3, 7), (12, 1023), (65_530, 13), (7, 65_537)]:
        assert weak_labels(table.slice(start, size), labeler, K, default=0).equals(whole.slice(start, size))


@pytest.mark.parametrize("make", LABELERS)
@settings(max_examples=40, deadline=None)
@given(votes=arrays(np.int8, st.tuples(st.integers(1, 30), st.integers(1, 7)), elements=st.integers(-1, 1)))
def test_renaming_two_classes_renames_the_labels_and_nothing_else(make, votes):
    labeler = make(votes.shape[1], 2)
    renamed = np.where(votes >= 0, 1 - votes, -1).astype(np.int8)
    before = weak_labels(table_of(votes), labeler, 2, default=0)
    after = weak_labels(table_of(renamed), labeler, 2, default=1)
    assert after["label"].to_pylist() == [1 - label for label in before["label"].to_pylist()]
    for name in ("confidence", "share", "votes_cast", "undecided"):
        assert after[name].equals(before[name]), name


@pytest.mark.parametrize("make", LABELERS)
def test_a_sample_without_votes_is_undecided_and_gets_the_default_label(make):
    row = weak_labels(table_of(np.full((1, 4), -1, dtype=np.int8)), make(4, 4), 4, default=2).to_pylist()[0]
    assert (row["label"], row["confidence"], row["votes_cast"], row["share"]) == (2, 0.25, 0, 0.25)
    assert row["undecided"]


def test_a_perfect_split_is_undecided_and_a_tie_of_some_classes_is_not():
    split = weak_labels(table_of(np.array([[0, 1]], dtype=np.int8)), equal_weights(2, 2), 2, default=1).to_pylist()[0]
    assert (split["label"], split["confidence"], split["undecided"]) == (1, 0.5, True)
    tie = weak_labels(table_of(np.array([[1, 2]], dtype=np.int8)), equal_weights(2, 3), 3, default=2).to_pylist()[0]
    assert (tie["label"], tie["undecided"]) == (2, False)


def test_hundreds_of_unanimous_functions_do_not_overflow():
    unanimous = table_of(np.ones((1, 2000), dtype=np.int8))
    for make in (equal_weights, learned):
        row = weak_labels(unanimous, make(2000, 2), 2, default=0).to_pylist()[0]
        assert (row["label"], row["confidence"], row["share"], row["votes_cast"]) == (1, 1.0, 1.0, 2000)


def test_an_empty_partition_gives_an_empty_table():
    empty = weak_labels(table_of(np.zeros((0, 3), dtype=np.int8)), equal_weights(3, 2), 2, default=0)
    assert empty.num_rows == 0
    assert empty.schema.equals(WeakLabels.schema)


def test_only_the_labelers_functions_are_heard():
    votes = table_of(np.array([[0, 1, 1]], dtype=np.int8))
    assert weak_labels(votes, majority(["f0"]), 2, default=1)["label"].to_pylist() == [0]


def test_the_softmax_sums_to_one_over_the_classes():
    scores = np.random.default_rng(0).normal(size=(4, 10)) * 100
    total = sum(softmax_at(scores, np.full(10, y, dtype=np.int16)) for y in range(4))
    np.testing.assert_allclose(total, 1.0, atol=1e-15)


@pytest.mark.parametrize("default", ["cat", 2, -1])
def test_a_default_label_that_is_no_class_is_refused_with_the_classes(default):
    with pytest.raises(InputError, match=r"is no class; the classes are 0 \(dog\), 1 \(mouse\)"):
        default_class(default, ["dog", "mouse"])


def test_majority_survives_its_table():
    assert labeler_from(majority(["b", "a"]).to_table()).functions == ("b", "a")
    assert labeler_from(majority(["b", "a"]).to_table()).mu is None
