"""What a classifier gets right class by class, and what that comes to where classes are unequal: balanced accuracy, the
worst class's recall, what one constant answer gets, and the expected cost of errors.

Everything is made of whole numbers, right answers and samples per class, so it is the same however samples were cut
and wherever they were counted. Means over classes have the interval that the recalls' own intervals come to (MOVER,
Zou, Huang and Zhang 2009), for recalls of few samples are skewed. Whoever names the worst of k classes has looked at k
recalls: its interval holds for whichever of them had been named (`joint_level`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.classification import Groups, Proportion, Said, Truth, joint_level, proportion_of
from assay.tasks.statistics.clusters import codes_of

Counts = npt.NDArray[np.int64]
NOTHING = Proportion(None, None, None, 0)


@dataclass(frozen=True)
class ClassCounts:
    """How many samples of each class are right, and how many there are, [G, k]: a row per group of samples that go
    together, or a single row where all samples are independent."""

    right: Counts
    samples: Counts
    grouped: bool = False

    def recall(self, code: int, level: float = 0.95) -> Proportion:
        """The share of the samples of one class that are right."""
        groups = np.arange(len(self.right)) if self.grouped else None
        if groups is None:
            return proportion_of(self.right[:, code].sum(), self.samples[:, code].sum(), level)
        there = self.samples[:, code] > 0
        return proportion_of(self.right[there, code], self.samples[there, code], level, groups[there])

    @property
    def present(self) -> list[int]:
        """The classes that have samples."""
        return [int(code) for code in np.flatnonzero(self.samples.sum(axis=0) > 0)]

    def correlation(self) -> npt.NDArray[np.float64]:
        """How the recalls of the classes present vary together over groups; without groups, each by itself."""
        codes = self.present
        if not self.grouped:
            return np.eye(len(codes))
        samples, right = self.samples[:, codes], self.right[:, codes]
        moved = right / samples.sum(axis=0) - samples * (right.sum(axis=0) / samples.sum(axis=0) ** 2)
        together = moved.T @ moved
        spread = np.sqrt(np.diag(together))
        scale = np.where(spread > 0, spread, 1.0)
        together = together / np.outer(scale, scale)
        np.fill_diagonal(together, 1.0)
        return np.asarray(together)


def class_counts(answers: Said, truth: Truth, classes: int, groups: Groups = None) -> ClassCounts:
    """The counts of answers and what is true, as in `classification`; of several labels per sample, of those that have
    a label and after them of those that have not, sample by sample, since the labels of one go together.

    >>> counts = class_counts(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 2)
    >>> counts.right.tolist(), counts.samples.tolist()
    ([[2, 1]], [[3, 1]])
    """
    if truth.ndim == 2:
        sides = np.concatenate([truth == 1, truth == 0], axis=1)
        right = np.concatenate([answers == 1, answers == 0], axis=1) & sides
        codes = np.arange(len(truth)) if groups is None else codes_of(groups)
    else:
        sides = truth[:, None] == np.arange(classes)
        right = sides & (answers == truth)[:, None]
        codes = np.zeros(len(truth), np.int64) if groups is None else codes_of(groups)
    added = np.zeros((2, int(codes.max(initial=-1)) + 1, sides.shape[1]), np.int64)
    for into, cells in zip(added, (right, sides), strict=True):
        np.add.at(into, codes, cells)
    return ClassCounts(added[0], added[1], groups is not None or truth.ndim == 2)


def weighted_recall(counts: ClassCounts, weights: npt.NDArray[np.float64], level: float = 0.95) -> Proportion:
    """Σ w·recall over the classes that have samples, with the interval that the recalls' own come to (MOVER).

    >>> counts = ClassCounts(np.array([[90, 2]]), np.array([[100, 10]]))
    >>> balanced = weighted_recall(counts, np.array([0.5, 0.5]))
    >>> round(balanced.value, 2), round(balanced.low, 2), round(balanced.high, 2)
    (0.55, 0.47, 0.71)
    """
    recalls = [counts.recall(code, level) for code in counts.present]
    if not recalls:
        return NOTHING
    value, low, high = (
        np.array([getattr(recall, end) for recall in recalls], np.float64) for end in ("value", "low", "high")
    )
    correlation, middle = counts.correlation(), float(weights @ value)
    below, above = (
        math.sqrt(max(0.0, float(part @ correlation @ part)))
        for part in (weights * (value - low), weights * (high - value))
    )
    return Proportion(middle, middle - below, middle + above, sum(recall.n for recall in recalls))


def balanced_accuracy(counts: ClassCounts) -> Proportion:
    """The mean recall of the classes that have samples; each class counts the same, however rare it is.

    >>> balanced_accuracy(class_counts(np.zeros(379, int), np.repeat([0, 1], [304, 75]), 2)).value
    0.5
    """
    there = len(counts.present)
    return weighted_recall(counts, np.full(there, 1 / max(1, there)))


def worst_recall(counts: ClassCounts, classes: int) -> tuple[int, Proportion] | None:
    """The class with the lowest recall, and that recall with an interval that holds for whichever had been named; None
    where no class has samples. Of several labels, among the samples that have them.

    >>> counts = ClassCounts(np.array([[90, 5]]), np.array([[100, 10]]))
    >>> worst, plain = worst_recall(counts, 2), counts.recall(1)
    >>> worst[0], worst[1].value, worst[1].low < plain.low, worst[1].high > plain.high
    (1, 0.5, True, True)
    """
    there = [code for code in counts.present if code < classes]
    if not there:
        return None
    named = min(there, key=lambda code: counts.recall(code).value or 0.0)
    level = joint_level(counts.correlation()[: len(there), : len(there)])
    return named, counts.recall(named, level)


def constant_accuracy(counts: ClassCounts) -> Proportion:
    """What always answering the most frequent class gets; of one class per sample."""
    if not counts.present:
        return NOTHING
    most = int(counts.samples.sum(axis=0).argmax())
    groups = np.arange(len(counts.samples)) if counts.grouped else None
    return proportion_of(counts.samples[:, most], counts.samples.sum(axis=1), groups=groups)
