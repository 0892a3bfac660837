"""What stands beside an accuracy where classes are unequal."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from assay.tasks.statistics.class_scores import (
    ClassCounts,
    balanced_accuracy,
    class_counts,
    constant_accuracy,
    worst_recall,
)
from assay.tasks.statistics.classification import accuracy, majority_rate, proportion
from assay.tasks.statistics.classification_findings import About, class_findings

RNG = np.random.default_rng(3)
TRUTH = np.repeat([0, 1, 2], [60, 30, 10])
ANSWERS = np.where(RNG.random(100) < 0.7, TRUTH, RNG.integers(0, 3, 100))


def test_balanced_accuracy_is_scikit_learns_and_recalls_are_those_of_every_class() -> None:
    counts = class_counts(ANSWERS, TRUTH, 3)
    assert balanced_accuracy(counts).value == pytest.approx(balanced_accuracy_score(TRUTH, ANSWERS), abs=1e-12)
    assert [counts.recall(code) for code in range(3)] == [
        proportion(code == ANSWERS, code == TRUTH) for code in range(3)
    ]
    assert constant_accuracy(counts) == majority_rate(TRUTH, 3)


def test_classes_alike_in_number_that_are_found_alike_have_the_interval_of_the_accuracy() -> None:
    truth, right = np.repeat([0, 1], 100), np.tile(np.arange(100) < 80, 2)
    counts = class_counts(np.where(right, truth, 1 - truth), truth, 2)
    balanced, plain = balanced_accuracy(counts), accuracy(np.where(right, truth, 1 - truth), truth)
    assert balanced.value == plain.value
    assert (balanced.low, balanced.high) == pytest.approx((plain.low, plain.high), abs=0.006)


def test_counts_of_parts_add_up_and_groups_widen_what_goes_together() -> None:
    parts = [class_counts(ANSWERS[at::2], TRUTH[at::2], 3) for at in (0, 1)]
    whole = class_counts(ANSWERS, TRUTH, 3)
    assert (parts[0].right + parts[1].right == whole.right).all()
    pairs = np.repeat(np.arange(100), 2)
    twice = class_counts(np.repeat(ANSWERS, 2), np.repeat(TRUTH, 2), 3, pairs)
    for name in (balanced_accuracy, lambda counts: worst_recall(counts, 3)[1]):
        alone, grouped = name(whole), name(twice)
        assert grouped.value == pytest.approx(alone.value)
        assert grouped.high - grouped.low == pytest.approx(alone.high - alone.low, rel=0.2)


def test_a_class_without_samples_is_no_class_and_none_at_all_is_not_measured() -> None:
    counts = class_counts(np.array([0, 1]), np.array([0, -1]), 3)
    assert balanced_accuracy(counts).value == 1.0
    assert worst_recall(counts, 3)[0] == 0
    unknown = class_findings(About("subject", "clean"), class_counts(np.zeros(2, int), np.full(2, -1), 2), ["a", "b"])
    assert [finding.verdict for finding in unknown] == ["not measured"] * 3


def test_of_several_labels_finding_a_label_and_leaving_it_out_count_the_same() -> None:
    truth = np.array([[1, 0], [1, 0], [0, 1], [0, -1]])
    answers = np.array([[1, 0], [0, 0], [0, 0], [0, 1]], np.bool_)
    counts = class_counts(answers, truth, 2)
    assert balanced_accuracy(counts).value == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert worst_recall(counts, 2) == (1, counts.recall(1))


def test_the_worst_of_five_classes_is_covered_whichever_is_named() -> None:
    draws, held, plain = np.random.default_rng(0), 0, 0
    for _ in range(300):
        counts = ClassCounts(draws.binomial(80, 0.8, (1, 5)), np.full((1, 5), 80))
        code, worst = worst_recall(counts, 5)
        held += worst.low <= 0.8 <= worst.high
        alone = counts.recall(code)
        plain += alone.low <= 0.8 <= alone.high
    assert held >= 0.93 * 300 > plain


def test_balanced_accuracy_is_covered_where_one_class_has_ten_samples() -> None:
    draws, held = np.random.default_rng(1), 0
    for _ in range(500):
        counts = ClassCounts(draws.binomial([[90, 10]], [[0.95, 0.4]]), np.array([[90, 10]]))
        balanced = balanced_accuracy(counts)
        held += balanced.low <= 0.675 <= balanced.high
    assert 0.92 <= held / 500 <= 0.99
