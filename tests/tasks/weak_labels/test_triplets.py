"""Triplets against FlyingSquid, whose numbers on these votes are written down here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.tasks.statistics.vote_counts import count_partition, vote_counts
from assay.tasks.weak_labels.label_models import TRIPLETS, accuracies, triplets
from assay.tasks.weak_labels.labelers import labeler_from, weak_labels
from assay.tasks.weak_labels.table import WeakLabelling


@pytest.fixture(scope="module")
def votes() -> np.ndarray:
    """Five functions of 400 samples, some silent; FlyingSquid's −1 is our class 0, its 1 our class 1."""
    generator, n, m = np.random.default_rng(5), 400, 5
    truth = np.where(generator.random(n) < 0.3, 1, -1)
    right = generator.random((n, m)) < np.array([0.9, 0.8, 0.7, 0.75, 0.65])
    signs = np.where(right, truth[:, None], -truth[:, None])
    signs = np.where(generator.random((n, m)) < 0.7, signs, 0)
    return np.where(signs == 0, -1, (signs + 1) // 2).astype(np.int8)


def table(votes: np.ndarray) -> pa.Table:
    columns = {f"f{i}": pa.array(votes[:, i].copy()) for i in range(votes.shape[1])}
    return pa.table({"id": [f"s{i}" for i in range(len(votes))], **columns})


# LabelModel(5).fit(signs, class_balance=...) and predict_proba of flyingsquid 0.0.0a0. The joint probability of m
# functions divides by P(Y) m − 1 times (Fu et al. 2020, section 3); its code counts the edges of the junction tree, of
# which there are m − 1, and takes one off again, so that P(Y) stands there once too often. We keep to the paper.
AGREES = [0.691196948181439, 0.5664628061355975, 0.5095600340929344, 0.5050426480962344, 0.4852704403276167]
OF_THE_FIRST_CLASS = {
    None: [0.85366697, 0.5390807, 0.93978965, 0.00410958, 0.96279004, 0.93374477],
    (0.7, 0.3): [0.997312911, 0.990972561, 0.999549872, 0.0172969311, 0.999775631, 0.994523431],
}


@pytest.mark.parametrize("balance", [None, (0.7, 0.3)])
def test_it_is_flyingsquid_to_a_millionth(votes, balance):
    counts = vote_counts(count_partition(table(votes), 2), 2)
    agrees = (accuracies(counts) + counts.coverage) / 2
    np.testing.assert_allclose(agrees, AGREES, atol=1e-12)
    labels = weak_labels(table(votes), labeler_from(triplets(counts, balance).to_table()), 2, default=0).slice(0, 6)
    label, confidence = labels["label"].to_numpy(), labels["confidence"].to_numpy()
    odds = np.where(label == 0, confidence / (1 - confidence), (1 - confidence) / confidence)
    first, second = balance or (0.5, 0.5)
    theirs = odds * first / second
    np.testing.assert_allclose(theirs / (1 + theirs), OF_THE_FIRST_CLASS[balance], atol=1e-6)


def test_a_function_that_agrees_with_nobody_weighs_nothing():
    """Its votes are as often with each of the others as against them: no moment, no triplet."""
    votes = np.array([[a, a, a, b] for a in (0, 1) for b in (0, 1)] * 10, dtype=np.int8)
    counts = vote_counts(count_partition(table(votes), 2), 2)
    assert accuracies(counts).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert triplets(counts).weights[3] == pytest.approx(0.5)


def test_rules_in_no_triplet_are_not_judged_by_rounding():
    """Two rules name one class, two the other, and never both on one sample: every vote counts the same."""
    heat = np.random.default_rng(0).random(500) * 4
    votes = np.stack([np.where(heat > 2.2, 1, -1), np.where(heat > 2.6, 1, -1)], axis=1)
    votes = np.concatenate([votes, np.stack([np.where(heat < low, 0, -1) for low in (1.8, 1.4)], axis=1)], axis=1)
    counts = vote_counts(count_partition(table(votes.astype(np.int8)), 2), 2)
    labeler = TRIPLETS.learn(counts, WeakLabelling())
    assert (labeler.mu, labeler.weights.tolist()) == (None, [1.0] * 4)
    beside = np.where(heat[:, None] < 1, 0, [[-1, -1, -1]])  # three more that vote together, and with none of the first
    counts = vote_counts(count_partition(table(np.concatenate([votes[:, :2], beside], axis=1).astype(np.int8)), 2), 2)
    labels = weak_labels(table(np.array([[1, 1, -1, -1, -1]], dtype=np.int8)), triplets(counts), 2, default=0)
    assert labels["undecided"].to_pylist() == [True]


def test_of_one_class_there_is_nothing_to_learn():
    counts = vote_counts(count_partition(table(np.zeros((9, 4), dtype=np.int8)), 1), 1)
    assert TRIPLETS.learn(counts, WeakLabelling()).weights.tolist() == [1.0] * 4
