"""What a classifier gets right class by class, and what that comes to where classes are unequal: balanced accuracy, the
worst class's recall, what one constant answer gets, and the expected cost of errors.

Everything is made of whole numbers, right answers and samples per class, so it is the same however samples were cut
and wherever they were counted. Means over classes have the interval that the recalls' own intervals come to (MOVER,
Zou, Huang and Zhang 2009), for recalls of few samples are skewed. Whoever names the worst of k classes has looked at k
recalls: its interval holds for whichever of them had been named (`joint_level`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Bools, Counts, Floats
from assay.infra.errors import InputError
from assay.tasks.statistics.classification import NOTHING, Groups, Proportion, Said, Truth, joint_level, proportion_of
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding, distinct
from assay.tasks.statistics.paired import Difference, compared_counts, compared_shares, not_lower_p
from assay.tasks.statistics.resampling import Interval


@dataclass(frozen=True)
class ClassCounts:
    """How many samples of each class are right, and how many there are, [G, k]: a row per group of samples that go
    together, or a single row where all samples are independent."""

    right: Counts
    samples: Counts
    grouped: bool = False

    def recall(self, code: int, level: float = 0.95) -> Proportion:
        """The share of the samples of one class that are right."""
        groups = np.arange(len(self.samples)) if self.grouped else None
        return proportion_of(self.right[:, code], self.samples[:, code], level, groups)

    @property
    def present(self) -> list[int]:
        """The classes that have samples."""
        return [int(code) for code in np.flatnonzero(self.samples.sum(axis=0) > 0)]

    def correlation(self) -> npt.NDArray[np.float64]:
        """How the recalls of the classes present vary together over groups; without groups, each by itself."""
        codes = self.present
        if not self.grouped:
            return np.eye(len(codes))
        return _correlation(self.right[:, codes], self.samples[:, codes])


def _correlation(sums: Counts, samples: Counts) -> npt.NDArray[np.float64]:
    """How means vary together, by their sums and numbers of samples in each independent unit [G, k]."""
    return correlation(sums - samples * (sums.sum(axis=0) / samples.sum(axis=0)))


def correlation(moved: Floats) -> Floats:
    """How values vary together, by how far each independent unit moves them [G, k]; of one unit, which says nothing of
    it, as one.

    >>> correlation(np.array([[2.0, 1.0], [-2.0, -1.0]])).round(9).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if len(moved) < 2:
        return np.ones((moved.shape[1], moved.shape[1]))
    together = moved.T @ moved
    spread = np.sqrt(np.diag(together))
    together = together / np.outer(np.where(spread > 0, spread, 1.0), np.where(spread > 0, spread, 1.0))
    np.fill_diagonal(together, 1.0)
    return np.asarray(together)


def class_counts(answers: Said, truth: Truth, classes: int, groups: Groups = None) -> ClassCounts:
    """The counts of answers and what is true, as in `classification`; of several labels per sample, of those that have
    a label and after them of those that have not, sample by sample, since the labels of one go together.

    >>> counts = class_counts(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 2)
    >>> counts.right.tolist(), counts.samples.tolist()
    ([[2, 1]], [[3, 1]])
    """
    right, sides = class_sides(answers, truth, classes)
    codes = _units(groups, len(truth)) if groups is not None or truth.ndim == 2 else np.zeros(len(truth), np.int64)
    added = np.zeros((2, int(codes.max(initial=-1)) + 1, sides.shape[1]), np.int64)
    for into, cells in zip(added, (right, sides), strict=True):
        np.add.at(into, codes, cells)
    return ClassCounts(added[0], added[1], groups is not None or truth.ndim == 2)


def class_sides(answers: Said, truth: Truth, classes: int) -> tuple[Bools, Bools]:
    """Which answers are right in each class, and which samples are of it, [n, k]; of several labels [n, 2k]: those that
    have the label, and after them those that have not."""
    if truth.ndim == 2:
        sides = np.concatenate([truth == 1, truth == 0], axis=1)
        return np.concatenate([answers == 1, answers == 0], axis=1) & sides, sides
    sides = truth[:, None] == np.arange(classes)
    return sides & (answers == truth)[:, None], sides


def _units(groups: Groups, n: int) -> Counts:
    """The code of what is independent: the group of each sample, else the sample itself."""
    return np.arange(n) if groups is None else codes_of(groups)


def mover(
    weights: Floats, estimates: Sequence[Proportion | Difference | Interval], together: Floats
) -> tuple[float, float, float]:
    """Σ w·estimate with the interval that the estimates' own come to (MOVER): value, low, high."""
    value, low, high = (
        np.array([getattr(estimate, end) for estimate in estimates], np.float64) for end in ("value", "low", "high")
    )
    middle = float(weights @ value)
    below, above = (
        math.sqrt(max(0.0, float(part @ together @ part)))
        for part in (weights * (value - low), weights * (high - value))
    )
    return middle, middle - below, middle + above


def weighted_recall(counts: ClassCounts, weights: npt.NDArray[np.float64]) -> Proportion:
    """Σ w·recall over the classes that have samples, with the interval that the recalls' own come to (MOVER).

    >>> counts = ClassCounts(np.array([[90, 2]]), np.array([[100, 10]]))
    >>> balanced = weighted_recall(counts, np.array([0.5, 0.5]))
    >>> round(balanced.value, 2), round(balanced.low, 2), round(balanced.high, 2)
    (0.55, 0.47, 0.71)
    """
    recalls = [counts.recall(code) for code in counts.present]
    if not recalls:
        return NOTHING
    return Proportion(*mover(weights, recalls, counts.correlation()), sum(recall.n for recall in recalls))


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


def above_constant(counts: ClassCounts) -> tuple[Difference, float] | None:
    """How much oftener samples are right than under the most frequent class for all, with McNemar's p, by group where
    they stand in some.

    >>> gain, p = above_constant(class_counts(np.repeat([0, 1], [9, 1]), np.repeat([0, 1], [8, 2]), 2))
    >>> gain.value, round(p, 6)
    (0.1, 0.5)
    """
    if not counts.present:
        return None
    most = int(counts.samples.sum(axis=0).argmax())
    right = counts.right[:, most]
    gained, lost, sizes = counts.right.sum(axis=1) - right, counts.samples[:, most] - right, counts.samples.sum(axis=1)
    return compared_counts(gained, lost, sizes, counts.grouped)


@dataclass(frozen=True)
class ClassGains:
    """What a second set of answers gains over a first on the same samples: in balanced accuracy, and class by class
    with McNemar's p, by the class's code."""

    balanced: Difference
    of_class: Mapping[int, tuple[Difference, float]]

    def lowest(self) -> int:
        """The class that gains least, or loses most."""
        return min(self.of_class, key=lambda code: self.of_class[code][0].value)

    def kept_p(self, margin: float) -> float:
        """The p of the claim that no class's recall is lower by as much as the margin: the largest of all classes' (an
        intersection of claims, each tested one-sided by Tango's score, needs no correction)."""
        return max(not_lower_p(gain, margin) for gain, _ in self.of_class.values())


def class_gains(before: Said, after: Said, truth: Truth, classes: int, groups: Groups = None) -> ClassGains | None:
    """The paired gains; None where no class is known. Of several labels, each by the samples that have it, and balanced
    accuracy by those that have it not as well.

    >>> truth = np.repeat([0, 1], [10, 4])
    >>> gains = class_gains(truth, np.zeros(14, int), truth, 2)
    >>> gains.balanced.value, gains.lowest(), gains.of_class[1][0].value, gains.of_class[0][0].value
    (-0.5, 1, -1.0, 0.0)
    """
    (was, sides), (now, _) = class_sides(before, truth, classes), class_sides(after, truth, classes)
    there = [int(code) for code in np.flatnonzero(sides.any(axis=0))]
    if not there:
        return None

    def gain(code: int) -> tuple[Difference, float]:
        of = sides[:, code]
        return compared_shares(now[of, code], was[of, code], None if groups is None else codes_of(groups[of]))

    gains = {code: gain(code) for code in there}
    codes, size = _units(groups, len(truth)), len(truth)
    apart = now.astype(np.int64) - was
    sums, samples = (
        np.column_stack([np.bincount(codes, column, size) for column in cells[:, there].T]) for cells in (apart, sides)
    )
    weights = np.full(len(there), 1 / len(there))
    balanced = mover(weights, [gains[code][0] for code in there], _correlation(sums, samples))
    named = {code: pair for code, pair in gains.items() if code < classes}
    return ClassGains(Difference(*balanced, int(sides.any(axis=1).sum()), 0.95), named)


_STAGES = ("subject", "attack", "corruption", "defense")


def cost_findings(findings: Sequence[Finding], miss: Mapping[str, float]) -> list[Finding]:
    """`STAGE.expected_cost` per sample, from the recalls of all classes and what a miss of each costs (1 where nothing
    is said), and `STAGE.constant_cost`, that of the cheapest constant answer, which its verdict names.

    >>> found = [Finding("subject.recall", "", "ham", "net", 0.9, 0.8, 1.0, 80)]
    >>> found.append(Finding("subject.recall", "", "spam", "net", 0.5, 0.3, 0.7, 20))
    >>> [(cost.metric, round(cost.value, 2), cost.verdict) for cost in cost_findings(found, {"spam": 10})]
    [('subject.expected_cost', 1.08, ''), ('subject.constant_cost', 0.8, 'spam')]
    """
    of_classes: dict[tuple[str, str, str, str], dict[str, Finding]] = {}
    for finding in findings:
        if finding.stage in _STAGES and finding.metric == f"{finding.stage}.recall" and finding.value is not None:
            place, _, name = finding.group.rpartition(", ")
            of_classes.setdefault((finding.stage, finding.of, place, finding.subject), {})[name] = finding
    names = distinct(name for recalls in of_classes.values() for name in recalls)
    unknown = [name for name in miss if names and name not in names]
    if unknown:
        raise InputError(f"`classes` names {unknown[0]!r}, and the classes of the samples are {', '.join(names)}.")
    return [cost for about, recalls in of_classes.items() for cost in _costs(about, recalls, miss)]


def _costs(
    about: tuple[str, str, str, str], recalls: Mapping[str, Finding], miss: Mapping[str, float]
) -> list[Finding]:
    stage, of, place, subject = about
    n = sum(recall.n or 0 for recall in recalls.values())
    weights = np.array([miss.get(name, 1.0) * (recall.n or 0) / n for name, recall in recalls.items()])
    missed = [
        Proportion(1 - (recall.value or 0.0), 1 - (recall.high or 0.0), 1 - (recall.low or 0.0), n)
        for recall in recalls.values()
    ]
    value, low, high = mover(weights, missed, np.eye(len(weights)))
    cost = Finding(f"{stage}.expected_cost", of, place, subject, value, max(0.0, low), high, n, unit="cost")
    always = int(weights.argmax())
    constant = float(weights.sum() - weights[always])
    named = replace(cost, metric=f"{stage}.constant_cost", low=None, high=None, verdict=list(recalls)[always])
    return [cost, replace(named, value=constant)]
