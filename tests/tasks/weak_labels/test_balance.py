"""A label model that knows how frequent the classes are: as Snorkel's does, and better where they are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

from assay.infra.errors import InputError
from assay.tasks.statistics.vote_counts import VoteCounts, count_partition, vote_counts
from assay.tasks.weak_labels.labelers import labeler_from, weak_labels
from assay.tasks.weak_labels.snorkel import snorkel
from assay.tasks.weak_labels.table import WeakLabelling
from assay.tasks.weak_labels.task import given_shares

OPTIONS = WeakLabelling(epochs=100)


def matrix(votes: pa.Table) -> np.ndarray:
    return np.stack([votes[name].to_numpy() for name in votes.column_names[1:]], axis=1).astype(int)


def counted(votes: pa.Table, k: int) -> VoteCounts:
    return vote_counts(count_partition(votes, k), k)


def unbalanced(n: int = 3000, m: int = 7, share: float = 0.1) -> tuple[pa.Table, np.ndarray]:
    """Votes of rules that often miss, on samples of which few are of the second class; and the truth."""
    generator = np.random.default_rng(3)
    truth = (generator.random(n) < share).astype(int)
    accuracy, coverage = generator.uniform(0.6, 0.75, m), generator.uniform(0.3, 0.6, m)
    right = generator.random((n, m)) < accuracy
    votes = np.where(generator.random((n, m)) < coverage, np.where(right, truth[:, None], 1 - truth[:, None]), -1)
    columns = {f"f{i}": pa.array(votes[:, i].astype(np.int8)) for i in range(m)}
    return pa.table({"id": [f"s{i:04d}" for i in range(n)], **columns}), truth


def test_weights_and_confidences_are_those_of_snorkel_with_that_balance():
    from snorkel.labeling.model import LabelModel

    votes, _ = unbalanced()
    torch.set_num_threads(1)
    theirs = LabelModel(cardinality=2, verbose=False)
    theirs.fit(matrix(votes), class_balance=[0.9, 0.1], n_epochs=100, lr=0.01, seed=0, progress_bar=False)
    ours = snorkel(counted(votes, 2), OPTIONS, (0.9, 0.1))
    np.testing.assert_array_equal(ours.mu, theirs.mu.detach().numpy().reshape(7, 2, 2))
    labels = weak_labels(votes, labeler_from(ours.to_table()), 2, default=0)
    voted = labels["votes_cast"].to_numpy() > 0
    probabilities = theirs.predict_proba(matrix(votes))
    np.testing.assert_allclose(labels["confidence"].to_numpy()[voted], probabilities.max(axis=1)[voted], atol=1e-12)


def test_knowing_the_balance_makes_more_labels_right():
    votes, truth = unbalanced()

    def right(balance: tuple[float, ...] | None) -> float:
        labels = weak_labels(votes, snorkel(counted(votes, 2), OPTIONS, balance), 2, default=0)
        return float((labels["label"].to_numpy() == truth).mean())

    assert right((0.9, 0.1)) > right(None) + 0.04


def test_where_nobody_voted_the_balance_decides_nothing():
    votes, _ = unbalanced()
    silent = pa.table({name: ["x"] if name == "id" else pa.array([-1], pa.int8()) for name in votes.column_names})
    labels = weak_labels(silent, snorkel(counted(votes, 2), OPTIONS, (0.9, 0.1)), 2, default=1)
    assert (labels["label"][0].as_py(), labels["undecided"][0].as_py(), labels["confidence"][0].as_py()) == (
        1,
        True,
        0.5,
    )


def test_a_balance_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"add up to 0\.9, expected 1"):
        WeakLabelling(class_balance={"ham": 0.7, "spam": 0.2})
    with pytest.raises(InputError, match="about ham, eggs, and the classes are ham, spam"):
        given_shares({"ham": 0.5, "eggs": 0.5}, ["ham", "spam"])
    with pytest.raises(InputError, match="has 3 shares, and there are 2 classes"):
        given_shares((0.2, 0.3, 0.5), ["ham", "spam"])


def test_pipelines_that_name_their_balance_keep_their_keys():
    assert "class_balance" not in WeakLabelling(class_balance="uniform").model_dump(mode="json")
    assert WeakLabelling(class_balance=(0.2, 0.8)).model_dump(mode="json")["class_balance"] == [0.2, 0.8]
    assert WeakLabelling().class_balance == WeakLabelling(class_balance="estimate").class_balance == "estimated"
