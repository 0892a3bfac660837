"""Dawid and Skene's model against the equations of their paper, row by row; and the class balance that it tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from assay.tasks.statistics.vote_counts import (
    VoteCounts,
    VotePatterns,
    count_partition,
    count_patterns,
    vote_counts,
    with_patterns,
)
from assay.tasks.weak_labels.label_models import dawid_skene, estimated_balance, fit
from assay.tasks.weak_labels.labelers import labeler_from, majority, weak_labels
from assay.tasks.weak_labels.snorkel import snorkel
from assay.tasks.weak_labels.table import WeakLabelling


def by_the_paper(votes: np.ndarray, k: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T_ij, p_j and π_jl of every observer after so many steps: Dawid and Skene (1979), Eq. 2.3 to 2.5, row by row.

    No answer is an answer of its own, as in WRENCH (Zhang et al. 2021).
    """
    n, m = votes.shape
    answered = np.zeros((n, m, k + 1))  # n_il of every observer
    for i in range(n):
        for o in range(m):
            answered[i, o, votes[i, o]] = 1  # -1 is the last
    truth = np.array([[(row == j).sum() for j in range(k)] for row in votes], dtype=float)
    truth[truth.sum(axis=1) == 0] = 1
    truth /= truth.sum(axis=1, keepdims=True)
    for _ in range(steps):
        shares = truth.sum(axis=0) / n  # Eq. 2.4
        errors = np.einsum("ij,iol->ojl", truth, answered)  # Eq. 2.3
        errors /= errors.sum(axis=2, keepdims=True)
        likelihood = np.array([np.prod(errors ** answered[i][:, None, :], axis=(0, 2)) for i in range(n)])
        truth = shares * likelihood  # Eq. 2.5
        truth /= truth.sum(axis=1, keepdims=True)
    return truth, shares, errors


def simulated(n: int, accuracy: list[float], shares: list[float], coverage: float = 1.0, seed: int = 0):
    """Votes of independent functions, wrong ones spread evenly over the other classes, and the truth."""
    generator, k = np.random.default_rng(seed), len(shares)
    truth = generator.choice(k, size=n, p=shares)
    wrong = (truth[:, None] + generator.integers(1, k, size=(n, len(accuracy)))) % k
    votes = np.where(generator.random(wrong.shape) < accuracy, truth[:, None], wrong)
    return np.where(generator.random(wrong.shape) < coverage, votes, -1).astype(np.int8), truth


def table(votes: np.ndarray) -> pa.Table:
    columns = {f"f{i}": pa.array(votes[:, i].copy()) for i in range(votes.shape[1])}
    return pa.table({"id": [f"s{i:05d}" for i in range(len(votes))], **columns})


def counted(votes: np.ndarray, k: int) -> VoteCounts:
    counts = vote_counts(count_partition(table(votes), k), k)
    return with_patterns(counts, count_patterns(table(votes), counts.functions, 1))


@pytest.mark.parametrize(("k", "coverage"), [(2, 1.0), (2, 0.6), (3, 0.8)])
def test_it_is_the_model_of_the_paper_to_a_millionth(k, coverage):
    votes, _ = simulated(400, [0.9, 0.8, 0.7, 0.75, 0.6], [0.7, 0.3] if k == 2 else [0.5, 0.3, 0.2], coverage)
    fitted = fit(VotePatterns.of(votes), k, 60)
    truth, shares, errors = by_the_paper(votes, k, len(fitted.losses))
    np.testing.assert_allclose(fitted.shares, shares, atol=1e-6)
    np.testing.assert_allclose(fitted.answers[:, 1:], errors.transpose(0, 2, 1)[:, :k], atol=1e-6)
    np.testing.assert_allclose(fitted.answers[:, 0], errors[:, :, k], atol=1e-6)
    labeler = labeler_from(dawid_skene(counted(votes, k), 60).to_table())
    labels, voted = weak_labels(table(votes), labeler, k, default=0), (votes >= 0).any(axis=1)
    best = truth.max(axis=1)
    np.testing.assert_allclose(labels["confidence"].to_numpy()[voted], best[voted], atol=1e-6)
    sure = voted & (best > 0.51)
    assert (labels["label"].to_numpy() == truth.argmax(axis=1))[sure].all()


def test_cut_into_partitions_the_patterns_are_the_same():
    votes, _ = simulated(500, [0.9, 0.8, 0.7], [0.6, 0.4], 0.7)
    whole, names = counted(votes, 2), ["f0", "f1", "f2"]
    merged: dict[str, int] = {}
    for start in range(0, 500, 120):
        for pattern, times in count_patterns(table(votes).slice(start, 120), names, 1).items():
            merged[pattern] = merged.get(pattern, 0) + times
    again = with_patterns(whole, merged)
    assert (again.patterns.votes == with_patterns(whole, count_patterns(table(votes), names, 1)).patterns.votes).all()
    assert again.patterns.times.sum() == 500


def test_of_very_many_rows_an_even_share_is_counted():
    votes, _ = simulated(4000, [0.9, 0.8], [0.5, 0.5])
    counted_rows = sum(count_patterns(table(votes), ["f0", "f1"], 4).values())
    assert 900 < counted_rows < 1100


@pytest.mark.parametrize("seed", range(3))
def test_with_three_in_ten_of_a_class_snorkel_needs_the_balance_that_the_votes_tell(seed):
    votes, truth = simulated(3000, [0.9, 0.85, 0.8, 0.75, 0.7], [0.7, 0.3], seed=seed)
    counts, options = counted(votes, 2), WeakLabelling(epochs=200)

    def right(labeler) -> float:
        return float((weak_labels(table(votes), labeler, 2, default=0)["label"].to_numpy() == truth).mean())

    shares, p_value = estimated_balance(counts.patterns, 2, 500)
    assert p_value < 1e-6
    assert shares[1] == pytest.approx(0.3, abs=0.03)
    told, true = right(snorkel(counts, options, shares)), right(snorkel(counts, options, (0.7, 0.3)))
    assert told > right(snorkel(counts, options)) + 0.05
    assert told == pytest.approx(true, abs=0.01)
    assert right(dawid_skene(counts, 500)) == pytest.approx(true, abs=0.01)
    assert told >= right(majority(counts.functions)) - 0.005


def test_functions_that_never_disagree_tell_no_balance():
    votes, _ = simulated(1000, [0.8, 0.8], [0.8, 0.2])
    assert estimated_balance(VotePatterns.of(votes), 2, 500)[0] is None


def test_equal_classes_are_found_unequal_in_one_case_of_a_thousand_at_most():
    found = 0
    for seed in range(100):
        votes, _ = simulated(500, [0.8, 0.75, 0.7, 0.65], [0.5, 0.5], 0.8, seed=seed)
        found += estimated_balance(VotePatterns.of(votes), 2, 200)[0] is not None
    assert found <= 1


def test_a_function_that_names_one_class_only_tells_by_its_silence():
    """Two functions that speak of the first class alone, and two of the second alone."""
    generator = np.random.default_rng(1)
    truth = (generator.random(4000) < 0.25).astype(np.int8)
    speaks = generator.random((4000, 4)) < np.where(truth[:, None] == [0, 0, 1, 1], 0.7, 0.15)
    votes = np.where(speaks, np.array([0, 0, 1, 1], dtype=np.int8), -1).astype(np.int8)
    shares, _ = estimated_balance(VotePatterns.of(votes), 2, 500)
    assert shares[1] == pytest.approx(0.25, abs=0.03)
    labels = weak_labels(table(votes), dawid_skene(counted(votes, 2), 500), 2, default=0)
    silent = (votes < 0).all(axis=1)
    assert labels["undecided"].to_numpy()[silent].all()  # nobody voted: silence of all decides nothing
    one = np.array([[0, -1, -1, -1]], dtype=np.int8)
    posterior = weak_labels(table(one), dawid_skene(counted(votes, 2), 500), 2, default=0)["confidence"][0].as_py()
    odds = 0.75 / 0.25 * (0.7 / 0.15) * (0.3 / 0.85) * (0.85 / 0.3) ** 2
    assert posterior == pytest.approx(odds / (1 + odds), abs=0.02)


def test_a_column_that_never_votes_weighs_like_chance():
    votes, _ = simulated(300, [0.9, 0.8, 0.7], [0.5, 0.5])
    silent = np.concatenate([votes, np.full((300, 1), -1, dtype=np.int8)], axis=1)
    assert dawid_skene(counted(silent, 2), 50).weights[3] == pytest.approx(0.5)


def test_what_is_read_back_labels_alike():
    votes, _ = simulated(300, [0.9, 0.8, 0.7], [0.7, 0.3], 0.7)
    labeler = replace(dawid_skene(counted(votes, 2), 50), equal_p=0.25)
    again = labeler_from(labeler.to_table())
    assert again.equal_p == 0.25
    assert weak_labels(table(votes), labeler, 2, 0) == weak_labels(table(votes), again, 2, 0)
