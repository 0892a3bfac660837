"""Snorkel trained from counts is Snorkel trained from the votes, to the last bit."""

import functools
import itertools
import random

import numpy as np
import pyarrow as pa
import pytest
import torch

from assay.infra.errors import InputError
from assay.infra.stages.exact import SparseSum, merge
from assay.tasks.statistics.vote_counts import VoteCounts, count_partition, functions_of, vote_counts
from assay.tasks.weak_labels import snorkel as snorkel_counts
from assay.tasks.weak_labels.labelers import labeler_from, weak_labels
from assay.tasks.weak_labels.snorkel import objective, snorkel
from assay.tasks.weak_labels.table import WeakLabelling

SHAPES = [(200, 5, 2), (569, 30, 2), (1000, 12, 3), (500, 8, 5), (37, 3, 3), (2000, 60, 2)]


def simulated_votes(n: int, m: int, k: int, seed: int = 0) -> pa.Table:
    generator = np.random.default_rng([seed, n, m, k])
    truth = generator.integers(0, k, n)
    accuracy, coverage = generator.uniform(0.4, 0.95, m), generator.uniform(0.1, 0.9, m)
    said = np.where(generator.random((n, m)) < accuracy, truth[:, None], generator.integers(0, k, (n, m)))
    votes = np.where(generator.random((n, m)) < coverage, said, -1).astype(np.int8)
    columns = {f"f{i}": pa.array(votes[:, i]) for i in range(m)}
    return pa.table({"id": [f"s{i}" for i in range(n)], **columns})


def matrix(votes: pa.Table) -> np.ndarray:
    return np.stack([votes[name].to_numpy() for name in functions_of(votes)], axis=1).astype(int)


def counted(votes: pa.Table, k: int, parts: int = 1) -> VoteCounts:
    bounds = np.linspace(0, votes.num_rows, parts + 1).astype(int)
    pieces = [count_partition(votes.slice(a, b - a), k) for a, b in itertools.pairwise(bounds)]
    return vote_counts(functools.reduce(merge, pieces), k)


def fitted_by_snorkel(votes: pa.Table, k: int, options: WeakLabelling):
    from snorkel.labeling.model import LabelModel

    torch.set_num_threads(1)
    model = LabelModel(cardinality=k, verbose=False)
    model.fit(matrix(votes), n_epochs=options.epochs, lr=options.learning_rate, seed=options.seed, progress_bar=False)
    return model


@pytest.mark.parametrize(("n", "m", "k"), SHAPES)
@pytest.mark.parametrize("options", [WeakLabelling(epochs=100), WeakLabelling(epochs=60, learning_rate=0.02, seed=7)])
def test_weights_and_conditional_probabilities_are_those_of_label_model_fit(n, m, k, options):
    votes = simulated_votes(n, m, k)
    theirs = fitted_by_snorkel(votes, k, options)
    ours = snorkel(counted(votes, k), options)
    np.testing.assert_array_equal(ours.mu, theirs.mu.detach().numpy().reshape(m, k, k))
    np.testing.assert_array_equal(ours.weights, theirs.get_weights())


@pytest.mark.parametrize(("n", "m", "k"), SHAPES)
def test_the_loss_of_what_is_not_zero_is_snorkels_and_so_is_its_gradient(n, m, k):
    counts, balance = counted(simulated_votes(n, m, k), k), np.random.default_rng(0).dirichlet(np.ones(k))
    model = snorkel_counts._untrained(counts, WeakLabelling(), balance)
    loss = model._loss_mu(l2=0.0)
    loss.backward()
    ours, gradient = objective(counts, balance)(model.mu.detach().numpy().astype(np.float64))
    assert ours == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(gradient, model.mu.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n", "m", "k"), [(569, 30, 2), (500, 8, 5)])
def test_where_the_matrix_would_be_too_large_the_same_is_learned(n, m, k, monkeypatch):
    counts, options = counted(simulated_votes(n, m, k), k), WeakLabelling(epochs=100)
    whole = snorkel(counts, options)
    monkeypatch.setattr(snorkel_counts, "_as_snorkel", lambda _: False)
    monkeypatch.setattr(VoteCounts, "together", property(lambda _: pytest.fail("the matrix was made")))
    sparse = snorkel(counts, options)
    np.testing.assert_allclose(sparse.weights, whole.weights, atol=1e-4)
    np.testing.assert_allclose(sparse.mu, whole.mu, atol=1e-4)


@pytest.mark.parametrize(
    ("n", "m", "k", "whether"),
    [(10**8, 60, 2, True), (20_000, 1800, 2, True), (1_700_000, 1800, 2, False), (1000, 1200, 56, False)],
)
def test_it_is_snorkels_own_wherever_snorkel_could_run(n, m, k, whether):
    nothing = SparseSum.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
    counts = VoteCounts(tuple(f"f{i}" for i in range(m)), k, n, nothing)
    assert snorkel_counts._as_snorkel(counts) is whether


@pytest.mark.parametrize(("n", "m", "k"), SHAPES)
def test_confidences_are_those_of_predict_proba(n, m, k):
    votes = simulated_votes(n, m, k)
    options = WeakLabelling(epochs=100)
    probabilities = fitted_by_snorkel(votes, k, options).predict_proba(matrix(votes))
    labels = weak_labels(votes, snorkel(counted(votes, k), options), k, default=0)
    np.testing.assert_allclose(labels["confidence"].to_numpy(), probabilities.max(axis=1), atol=1e-12)
    decided = ~labels["undecided"].to_numpy()
    np.testing.assert_array_equal(labels["label"].to_numpy()[decided], probabilities.argmax(axis=1)[decided])


@pytest.mark.parametrize("parts", [2, 7, 40])
def test_the_partitioning_of_the_votes_does_not_matter(parts):
    votes = simulated_votes(1003, 9, 3)
    whole, cut = snorkel(counted(votes, 3), WeakLabelling()), snorkel(counted(votes, 3, parts), WeakLabelling())
    np.testing.assert_array_equal(whole.mu, cut.mu)
    np.testing.assert_array_equal(whole.weights, cut.weights)


def test_the_seed_decides_where_training_starts():
    counts = counted(simulated_votes(300, 6, 2), 2)
    first, again, other = (snorkel(counts, WeakLabelling(epochs=5, seed=seed)).mu for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_training_leaves_no_trace_in_global_generators():
    counts = counted(simulated_votes(50, 4, 2), 2)
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    expected = random.random(), np.random.random(), torch.rand(1).item()
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    threads = torch.get_num_threads()
    snorkel(counts, WeakLabelling(epochs=3))
    assert (random.random(), np.random.random(), torch.rand(1).item()) == expected
    assert torch.get_num_threads() == threads


def test_a_hundred_epochs_have_not_converged_and_our_default_has():
    counts = counted(simulated_votes(569, 30, 2), 2)
    assert not snorkel(counts, WeakLabelling(epochs=100)).training.converged
    training = snorkel(counts, WeakLabelling()).training
    assert training.converged
    assert training.last_loss < training.first_loss


def test_a_diverging_training_says_what_to_lower():
    counts = counted(simulated_votes(300, 6, 2), 2)
    with pytest.raises(InputError, match=r"diverged in epoch \d+; lower weak_labels.learning_rate \(now 1e\+06\)"):
        snorkel(counts, WeakLabelling(learning_rate=1e6))


@pytest.mark.parametrize("m", [1, 2])
def test_fewer_than_three_functions_fall_back_to_equal_weights(m):
    labeler = snorkel(counted(simulated_votes(50, m, 2), 2), WeakLabelling())
    assert labeler.mu is None
    assert labeler.training is None
    assert labeler.weights.tolist() == [1.0] * m


def test_without_any_vote_there_is_nothing_to_learn():
    silent = pa.table({"id": ["a", "b"], **{f"f{i}": pa.array([-1, -1], pa.int8()) for i in range(4)}})
    assert snorkel(counted(silent, 2), WeakLabelling()).training is None


def test_a_function_that_never_votes_and_a_class_nobody_votes_for_do_no_harm():
    votes = simulated_votes(200, 5, 2).append_column("silent", pa.array(np.full(200, -1, dtype=np.int8)))
    labeler = snorkel(counted(votes, 3), WeakLabelling(epochs=50))
    assert np.isfinite(labeler.weights).all()
    labels = weak_labels(votes, labeler, 3, default=0)
    assert set(labels["label"].to_pylist()) <= {0, 1}


def test_a_labeler_survives_its_table():
    labeler = snorkel(counted(simulated_votes(100, 4, 3), 3), WeakLabelling(epochs=20))
    again = labeler_from(labeler.to_table())
    np.testing.assert_array_equal(again.mu, labeler.mu)
    np.testing.assert_array_equal(again.weights, labeler.weights)
    assert again.functions == labeler.functions
    assert again.training == labeler.training
