"""Every statistic of the room against what must not change it, by one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from assay.tasks.statistics.auc import AUC, binary_auc, label_auc, macro_auc
from assay.tasks.statistics.class_scores import class_counts
from assay.tasks.statistics.classification import (
    Proportion,
    accuracy,
    fooling_rate,
    majority_rate,
    one_answer,
    prediction_entropy,
)
from assay.tasks.statistics.correlation import permutation_p, spearman_rows
from assay.tasks.statistics.multiplicity import adjusted
from assay.tasks.statistics.paired import bootstrap_difference, mcnemar
from assay.tasks.statistics.proportions import normal_band, wilson

Result = tuple[float, ...]
RNG = np.random.default_rng(7)
RIGHT_A, RIGHT_B = RNG.random(60) < 0.8, RNG.random(60) < 0.6
CURVE = RNG.integers(0, 8, 10) / 8  # with ties
HITS, SIZES = RNG.integers(0, 20, 10), np.full(10, 20)
P_VALUES = RNG.random(9) ** 2
SHUFFLE_60, SHUFFLE_9 = RNG.permutation(60), RNG.permutation(9)
SCORES = RNG.integers(0, 12, 60) / 12  # with ties
THREE = np.stack([RNG.random(60), SCORES, RNG.random(60)], axis=1)
GOLD, SAID, LATER = RNG.integers(-1, 3, 60), RNG.integers(0, 3, 60), RNG.integers(0, 3, 60)
LABELS, TICKED, TICKED_LATER = RNG.integers(-1, 2, (60, 3)), RNG.random((60, 3)) < 0.4, RNG.random((60, 3)) < 0.5
RENAMED = np.array([2, 0, 1])
MOVED = np.argsort(RENAMED)  # the column that class c had before it was renamed
KNOWN = GOLD >= 0


def seeded() -> np.random.Generator:
    return np.random.default_rng(3)


def rho(curve: np.ndarray) -> Result:
    found = spearman_rows(curve)
    return float(found.rho[0]), float(found.p_value[0])


def band(function: Callable[..., tuple[np.ndarray, np.ndarray]], hits: int, n: int) -> Result:
    low, high = function([hits], [n])
    return float(low[0]), float(high[0])


def disagreement(a: np.ndarray, b: np.ndarray) -> Result:
    return (mcnemar(a, b),)


def difference(a: np.ndarray, b: np.ndarray) -> Result:
    result = bootstrap_difference(a, b, seeded(), resamples=500)
    return result.value, result.low, result.high


def trend(hits: np.ndarray, sizes: np.ndarray) -> Result:
    result = permutation_p(hits, sizes, 400, seeded())
    assert result.rho is not None
    return result.rho, result.p_adverse, result.p_violation


def area(found: AUC) -> Result:
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.value, found.low, found.high, float(found.n)


def of(*found: Proportion) -> Result:
    return tuple(float(one) for each in found for one in (each.value, each.low, each.high, each.n))


def recalls(said: np.ndarray, truth: np.ndarray, classes: int) -> list[Proportion]:
    return [class_counts(said, truth, classes).recall(code) for code in range(classes)]


def alone(said: np.ndarray, truth: np.ndarray) -> Result:
    found = one_answer(said, truth, 3)
    return *of(found.share), float(found.verdict == "degenerate")


def renamed(codes: np.ndarray) -> np.ndarray:
    return np.where(codes >= 0, RENAMED[codes], -1)


def mirrored(result: Result) -> Result:
    """[low, high] of the complement's share, turned back into the share's own."""
    return 1 - result[1], 1 - result[0]


class Invariance(NamedTuple):
    claim: str
    original: Callable[[], Result]
    changed: Callable[[], Result]


TABLE = [
    Invariance(
        "wilson: swapping the labels mirrors it", lambda: band(wilson, 13, 40), lambda: mirrored(band(wilson, 27, 40))
    ),
    Invariance(
        "normal band: swapping the labels mirrors it",
        lambda: band(normal_band, 13, 40),
        lambda: mirrored(band(normal_band, 27, 40)),
    ),
    Invariance("spearman: any rising map of the values", lambda: rho(CURVE), lambda: rho(np.exp(3 * CURVE) - 1)),
    Invariance("spearman: reversal turns its sign", lambda: rho(CURVE)[:1], lambda: (-rho(CURVE[::-1])[0],)),
    Invariance("spearman: negation turns its sign", lambda: rho(CURVE)[:1], lambda: (-rho(-CURVE)[0],)),
    Invariance(
        "spearman: other rows beside it",
        lambda: rho(CURVE),
        lambda: tuple(float(x[1]) for x in spearman_rows(np.stack([CURVE[::-1], CURVE, CURVE * 2]))),
    ),
    Invariance(
        "mcnemar: permuted samples",
        lambda: disagreement(RIGHT_A, RIGHT_B),
        lambda: disagreement(RIGHT_A[SHUFFLE_60], RIGHT_B[SHUFFLE_60]),
    ),
    Invariance(
        "mcnemar: swapped systems", lambda: disagreement(RIGHT_A, RIGHT_B), lambda: disagreement(RIGHT_B, RIGHT_A)
    ),
    Invariance(
        "mcnemar: right and wrong swapped",
        lambda: disagreement(RIGHT_A, RIGHT_B),
        lambda: disagreement(~RIGHT_A, ~RIGHT_B),
    ),
    Invariance(
        "mcnemar: samples on which both agree",
        lambda: disagreement(RIGHT_A, RIGHT_B),
        lambda: disagreement(np.append(RIGHT_A, [True] * 50), np.append(RIGHT_B, [True] * 50)),
    ),
    Invariance(
        "bootstrap: permuted samples",
        lambda: difference(RIGHT_A, RIGHT_B),
        lambda: difference(RIGHT_A[SHUFFLE_60], RIGHT_B[SHUFFLE_60]),
    ),
    Invariance(
        "bootstrap: both systems shifted alike",
        lambda: difference(RIGHT_A, RIGHT_B),
        lambda: difference(RIGHT_A + 2.0, RIGHT_B + 2.0),
    ),
    Invariance(
        "holm: permuted tests",
        lambda: tuple(np.asarray(adjusted(list(P_VALUES)))[SHUFFLE_9]),
        lambda: tuple(adjusted(list(P_VALUES[SHUFFLE_9]))),
    ),
    Invariance(
        "trend: hits and misses swapped turn ρ",
        lambda: trend(HITS, SIZES)[:1],
        lambda: (-trend(SIZES - HITS, SIZES)[0],),
    ),
    Invariance(
        "trend: an empty first stratum",
        lambda: trend(HITS, SIZES)[:1],
        lambda: trend(np.append(0, HITS), np.append(0, SIZES))[:1],
    ),
    Invariance(
        "trend: every sample twice leaves ρ", lambda: trend(HITS, SIZES)[:1], lambda: trend(2 * HITS, 2 * SIZES)[:1]
    ),
    Invariance("trend: the same seed", lambda: trend(HITS, SIZES), lambda: trend(HITS, SIZES)),
    Invariance(
        "auc: permuted samples",
        lambda: area(binary_auc(SCORES, RIGHT_A)),
        lambda: area(binary_auc(SCORES[SHUFFLE_60], RIGHT_A[SHUFFLE_60])),
    ),
    Invariance(
        "auc: any rising map of the scores",
        lambda: area(binary_auc(SCORES, RIGHT_A)),
        lambda: area(binary_auc(np.exp(5 * SCORES), RIGHT_A)),
    ),
    Invariance(
        "auc: scores negated and classes swapped",
        lambda: area(binary_auc(SCORES, RIGHT_A)),
        lambda: area(binary_auc(-SCORES, ~RIGHT_A)),
    ),
    Invariance(
        "auc: scores negated mirror it",
        lambda: area(binary_auc(SCORES, RIGHT_A))[:3],
        lambda: tuple(1 - area(binary_auc(-SCORES, RIGHT_A))[at] for at in (0, 2, 1)),
    ),
    Invariance(
        "macro auc: permuted samples",
        lambda: area(macro_auc(THREE, GOLD)),
        lambda: area(macro_auc(THREE[SHUFFLE_60], GOLD[SHUFFLE_60])),
    ),
    Invariance(
        "macro auc: renamed classes",
        lambda: area(macro_auc(THREE, GOLD)),
        lambda: area(macro_auc(THREE[:, MOVED], renamed(GOLD))),
    ),
    Invariance(
        "macro auc: samples of unknown class",
        lambda: area(macro_auc(THREE, GOLD)),
        lambda: area(macro_auc(THREE[KNOWN], GOLD[KNOWN])),
    ),
    Invariance(
        "macro auc: two classes are the binary area",
        lambda: area(binary_auc(SCORES, RIGHT_A)),
        lambda: area(macro_auc(np.stack([1 - SCORES, SCORES], axis=1), RIGHT_A.astype(int))),
    ),
    Invariance(
        "label auc: permuted samples",
        lambda: area(label_auc(THREE, LABELS)),
        lambda: area(label_auc(THREE[SHUFFLE_60], LABELS[SHUFFLE_60])),
    ),
    Invariance(
        "label auc: reordered labels",
        lambda: area(label_auc(THREE, LABELS)),
        lambda: area(label_auc(THREE[:, RENAMED], LABELS[:, RENAMED])),
    ),
    Invariance(
        "label auc: labels one-hot are macro",
        lambda: area(macro_auc(THREE[KNOWN], GOLD[KNOWN])),
        lambda: area(label_auc(THREE[KNOWN], np.eye(3, dtype=int)[GOLD[KNOWN]])),
    ),
    Invariance(
        "accuracy: permuted samples",
        lambda: of(accuracy(SAID, GOLD)),
        lambda: of(accuracy(SAID[SHUFFLE_60], GOLD[SHUFFLE_60])),
    ),
    Invariance(
        "accuracy: renamed classes",
        lambda: of(accuracy(SAID, GOLD)),
        lambda: of(accuracy(renamed(SAID), renamed(GOLD))),
    ),
    Invariance(
        "accuracy: samples of unknown class",
        lambda: of(accuracy(SAID, GOLD)),
        lambda: of(accuracy(SAID[KNOWN], GOLD[KNOWN])),
    ),
    Invariance(
        "accuracy: one label is the binary accuracy",
        lambda: of(accuracy(RIGHT_A, RIGHT_B.astype(int))),
        lambda: of(accuracy(RIGHT_A[:, None], RIGHT_B[:, None].astype(int))),
    ),
    Invariance(
        "accuracy of labels: permuted samples",
        lambda: of(accuracy(TICKED, LABELS)),
        lambda: of(accuracy(TICKED[SHUFFLE_60], LABELS[SHUFFLE_60])),
    ),
    Invariance(
        "accuracy of labels: reordered labels",
        lambda: of(accuracy(TICKED, LABELS)),
        lambda: of(accuracy(TICKED[:, RENAMED], LABELS[:, RENAMED])),
    ),
    Invariance(
        "accuracy of labels: a label twice knows no more",
        lambda: of(accuracy(TICKED[:, :1], LABELS[:, :1])),
        lambda: of(accuracy(TICKED[:, [0, 0]], LABELS[:, [0, 0]])),
    ),
    Invariance(
        "recalls: permuted samples",
        lambda: of(*recalls(SAID, GOLD, 3)),
        lambda: of(*recalls(SAID[SHUFFLE_60], GOLD[SHUFFLE_60], 3)),
    ),
    Invariance(
        "recalls: renamed classes",
        lambda: of(*recalls(SAID, GOLD, 3)),
        lambda: of(*(recalls(renamed(SAID), renamed(GOLD), 3)[one] for one in RENAMED)),
    ),
    Invariance(
        "majority rate: renamed classes",
        lambda: of(majority_rate(GOLD, 3)),
        lambda: of(majority_rate(renamed(GOLD[SHUFFLE_60]), 3)),
    ),
    Invariance(
        "majority rate of labels: swapped values",
        lambda: of(majority_rate(LABELS, 3)),
        lambda: of(majority_rate(np.where(LABELS >= 0, 1 - LABELS, -1)[SHUFFLE_60], 3)),
    ),
    Invariance(
        "fooling rate: permuted samples",
        lambda: of(fooling_rate(SAID, LATER)),
        lambda: of(fooling_rate(SAID[SHUFFLE_60], LATER[SHUFFLE_60])),
    ),
    Invariance(
        "fooling rate: renamed classes",
        lambda: of(fooling_rate(SAID, LATER)),
        lambda: of(fooling_rate(renamed(SAID), renamed(LATER))),
    ),
    Invariance(
        "fooling rate: before and after swapped",
        lambda: of(fooling_rate(SAID, LATER)),
        lambda: of(fooling_rate(LATER, SAID)),
    ),
    Invariance(
        "fooling rate of labels: swapped values",
        lambda: of(fooling_rate(TICKED, TICKED_LATER)),
        lambda: of(fooling_rate(~TICKED[SHUFFLE_60], ~TICKED_LATER[SHUFFLE_60])),
    ),
    Invariance(
        "entropy: renamed classes",
        lambda: of(prediction_entropy(SAID, 3)),
        lambda: of(prediction_entropy(renamed(SAID[SHUFFLE_60]), 3)),
    ),
    Invariance(
        "entropy of labels: swapped values",
        lambda: of(prediction_entropy(TICKED, 3)),
        lambda: of(prediction_entropy(~TICKED[SHUFFLE_60], 3)),
    ),
    Invariance(
        "one answer: renamed classes",
        lambda: alone(SAID, GOLD),
        lambda: alone(renamed(SAID[SHUFFLE_60]), renamed(GOLD[SHUFFLE_60])),
    ),
    Invariance(
        "one answer of labels: reordered labels",
        lambda: alone(TICKED, LABELS),
        lambda: alone(TICKED[SHUFFLE_60][:, RENAMED], LABELS[SHUFFLE_60][:, RENAMED]),
    ),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.claim)
def test_statistic_does_not_change(row: Invariance) -> None:
    assert row.changed() == pytest.approx(row.original(), abs=1e-12)


NARROWER = {
    "wilson": lambda k: band(wilson, 13 * k, 40 * k),
    "normal band": lambda k: band(normal_band, 13 * k, 40 * k),
    "auc": lambda k: area(binary_auc(np.tile(SCORES, k), np.tile(RIGHT_A, k)))[1:3],
    "label auc": lambda k: area(label_auc(np.tile(THREE, (k, 1)), np.tile(LABELS, (k, 1))))[1:3],
    "accuracy of labels": lambda k: of(accuracy(np.tile(TICKED, (k, 1)), np.tile(LABELS, (k, 1))))[1:3],
    "entropy": lambda k: of(prediction_entropy(np.tile(RIGHT_A, k).astype(int), 2))[1:3],
    "bootstrap": lambda k: difference(np.tile(RIGHT_A, k), np.tile(RIGHT_B, k))[1:],
}


@pytest.mark.parametrize("name", NARROWER)
def test_duplicated_samples_narrow_the_interval_inside_the_old_one(name: str) -> None:
    low, high = NARROWER[name](1)
    closer_low, closer_high = NARROWER[name](16)
    assert low < closer_low < closer_high < high
    assert closer_high - closer_low == pytest.approx((high - low) / 4, rel=0.15)


def test_duplicated_disagreements_are_more_surprising() -> None:
    once, twice = disagreement(RIGHT_A, RIGHT_B), disagreement(np.tile(RIGHT_A, 2), np.tile(RIGHT_B, 2))
    assert twice < once
