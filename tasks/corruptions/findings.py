"""What corruptions come to: flips and accuracy per perturbation and severity, and beside a reference subject.

Shares of many answers per block of samples have intervals that know that the answers of one block go together: all
that is needed of the blocks is one matrix of whole numbers, the sums and the products of what was counted in each,
added over blocks and divided once, at the end. Means over corruptions are means of ratios, each corruption counting
the same: a ratio of sums is that of the few under which both flip most (translation alone is a third of all flips).
Errors are those of Hendrycks and Dietterich (2019), §4.3: wrong answers added over severities, divided by the
reference's; the relative one is of what corruption adds to the wrong answers on clean samples. A corruption under
which the reference has nothing to divide by is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Counts
from assay.infra.stages.exact import Seeds
from assay.tasks.corruptions.table import MEDMNIST_C
from assay.tasks.corruptions.tallies import ALL, MEAN, Cell, Tally
from assay.tasks.statistics.classification import joint_level
from assay.tasks.statistics.classification_findings import About, class_findings, recall_findings
from assay.tasks.statistics.clusters import normal_to_student
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import wilson_of
from assay.tasks.statistics.resampling import (
    Array,
    Interval,
    Statistic,
    bca_interval,
    expanded,
    mean_of_ratios,
    mean_where_known,
    ratio_of,
)

_NOWHERE = float("nan")


@dataclass(frozen=True)
class Gram:
    """The sums and products of counts over blocks, and as many independent units (samples or groups) of equal size as
    count as much as those that the blocks hold (Kish 1965).

    The matrix is aᵀa over rows a = (1, counts), [1 + m, 1 + m].
    """

    sums: npt.NDArray[np.int64]
    units: float


def gram(counts: Counts, units: Counts | None = None) -> Gram:
    """Of the counts of blocks [n, m], hits and trials first, and how many units each holds [n]; left out, one.

    >>> gram(np.array([[2, 30], [1, 30]])).sums.tolist()
    [[2, 3, 60], [3, 5, 90], [60, 90, 1800]]
    """
    rows = np.column_stack([np.ones(len(counts), np.int64), counts])
    tried = counts[:, 1].astype(np.float64)
    squares = float((tried**2 / (1 if units is None else units)).sum())
    return Gram(rows.T @ rows, float(tried.sum()) ** 2 / squares if squares else 0.0)


def clustered_share(
    of: Gram, hits: int, trials: int, intraclass: float | None = None, level: float = 0.95
) -> Interval | None:
    """Σ hits / Σ trials over units, each with several trials; None where nothing was tried.

    The interval is Wilson's for so many independent trials as have the variance that the blocks show: at most one per
    trial, at least one per unit, and fewer where few blocks show it. `intraclass` is how far the trials of a unit are
    known to go together (`intraclass_correlation` of more of them): few hits show too little of it by themselves.
    Without it, units that all gave the same answer are taken to have one trial each. One unit says nothing of others:
    its interval is [0, 1].

    >>> interval = clustered_share(gram(np.array([[2, 30], [1, 30]])), 1, 2)
    >>> round(interval.value, 3), round(interval.high, 2)
    (0.05, 0.76)
    """
    total = int(of.sums[0, trials])
    if total == 0:
        return None
    value = int(of.sums[0, hits]) / total
    if of.units < 2:
        return Interval(value, 0.0, 1.0)
    own = _inflation(of, hits, trials)
    each = total / of.units
    known = None if intraclass is None else 1 + (each - 1) * intraclass
    inflation = max((effect for effect in (own, known) if effect is not None), default=each)
    correction = 1.0 if own is None else normal_to_student(_blocks(of), level)
    worth = min(max(total / inflation, of.units), total) * correction
    return Interval(value, *wilson_of(value * worth, worth, level))


def covariances(of: Gram) -> npt.NDArray[np.float64]:
    """How the shares of k cells vary together over blocks, [k, k], from their hits and trials cell by cell.

    A cell in which nothing was tried does not vary.

    >>> covariances(gram(np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1]]))).tolist()
    [[0.0625, -0.0625], [-0.0625, 0.0625]]
    """
    places = [(at, at + 1) for at in range(1, len(of.sums), 2)]
    matrix = np.zeros((len(places), len(places)))
    for at, cell in enumerate(places):
        for beside, other in enumerate(places[: at + 1]):
            tried = int(of.sums[0, cell[1]]) * int(of.sums[0, other[1]])
            matrix[at, beside] = matrix[beside, at] = _spread(of, cell, other) / tried if tried else 0.0
    return matrix


def intraclass_correlation(of: Gram, hits: int, trials: int) -> float | None:
    """How far the trials of a unit go together, 0 (not at all) to 1 (as one); None where blocks do not differ.

    >>> intraclass_correlation(gram(np.array([[30, 30], [0, 30]] * 50)), 1, 2)
    1.0
    """
    inflation = _inflation(of, hits, trials)
    each = int(of.sums[0, trials]) / max(1, of.units)
    return None if inflation is None or each <= 1 else min(1.0, max(0.0, (inflation - 1) / (each - 1)))


def _inflation(of: Gram, hits: int, trials: int) -> float | None:
    """The variance of the share beside that of independent trials (the design effect); None where it is unknown."""
    total, blocks = int(of.sums[0, trials]), _blocks(of)
    spread = _spread(of, (hits, trials), (hits, trials)) if total else 0.0
    if spread <= 0 or blocks < 2:
        return None
    value = int(of.sums[0, hits]) / total
    return spread / total * blocks / (blocks - 1) / (value * (1 - value))


def _blocks(of: Gram) -> float:
    """As many blocks of equal size as count: those there are, or the units in them, where these are fewer."""
    return min(float(of.sums[0, 0]), of.units)


def clustered_ratio(
    of: Gram,
    above: tuple[int, int],
    below: tuple[int, int],
    intraclass: tuple[float | None, float | None] = (None, None),
) -> Interval | None:
    """The ratio of two shares (hits, trials) of the same units; None where the lower one is zero.

    The interval puts the two shares' own intervals together (MOVER-R, Donner and Zou 2012) and allows for their
    correlation over the blocks; it holds where the upper share is zero. `intraclass` is as for the two shares. Of one
    unit there is no interval: NaN.
    """
    upper, lower = clustered_share(of, *above, intraclass[0]), clustered_share(of, *below, intraclass[1])
    if upper is None or lower is None or lower.value == 0:
        return None
    value = upper.value / lower.value
    if of.units < 2:
        return Interval(value, _NOWHERE, _NOWHERE)
    spreads = _spread(of, above, above) * _spread(of, below, below)
    correlation = _spread(of, above, below) / math.sqrt(spreads) if spreads > 0 else 0.0
    low, high = _mover(upper, lower, min(1.0, max(-1.0, correlation)))
    return Interval(value, min(low, value), max(high, value))


def _mover(upper: Interval, lower: Interval, correlation: float) -> tuple[float, float]:
    """Where (A - θB)² is as large as the intervals of A and B allow: the two roots in θ."""
    a, b = upper.value, lower.value
    inner = lower.high * (2 * b - lower.high)
    middle = a * b - correlation * (a - upper.low) * (lower.high - b)
    product = upper.low * (2 * a - upper.low)
    root = math.sqrt(max(0.0, middle**2 - inner * product))
    low = product / (middle + root) if middle + root > 0 else 0.0
    outer = lower.low * (2 * b - lower.low)
    middle = a * b - correlation * (upper.high - a) * (b - lower.low)
    root = math.sqrt(max(0.0, middle**2 - outer * upper.high * (2 * a - upper.high)))
    return low, (middle + root) / outer


def _spread(of: Gram, cell: tuple[int, int], other: tuple[int, int]) -> float:
    """Σ (hits - share·trials)·(the same of the other) over blocks, exact until the one division at the end."""
    (h, m), (g, k) = cell, other
    x = [[int(of.sums[i, j]) for j in (g, k)] for i in (h, m)]
    hits, trials, others, tries = (int(of.sums[0, i]) for i in (h, m, g, k))
    whole = x[0][0] * trials * tries - x[0][1] * trials * others - x[1][0] * hits * tries + x[1][1] * hits * others
    return whole / (trials * tries)


Counted = Literal["flips", "right", "wrong"]
Answers = npt.NDArray[np.int64] | npt.NDArray[np.bool_]
Errors = npt.NDArray[np.int64]
"""Wrong answers per block of a tally, by true class or label, [G, k]."""


class Beside(NamedTuple):
    """The counts of a subject and of the reference in each block and under each corruption, [G, p]."""

    above: Array
    below: Array

    def ratio(self, perturbations: Sequence[int]) -> Statistic:
        """The mean of the ratios under these corruptions; of one it is its ratio."""
        if len(perturbations) == 1:
            return ratio_of(self.above[:, perturbations[0]], self.below[:, perturbations[0]])
        return mean_of_ratios(self.above[:, perturbations], self.below[:, perturbations])


def beside(tally: Tally, own: int, reference: int, what: Counted, severities: Sequence[int]) -> Beside:
    """How often both flip, or are wrong at full strength, added over severities.

    Both see the same frames, so that counts divide as shares do: the mean of the ratios of flips is mFR, the RFP of Xu
    et al.; ratios of wrong answers are CE, and the mean of these mCE.
    """
    return Beside(*(tally.counted(at, what, severities)[..., 0].astype(np.float64) for at in (own, reference)))


def clean_errors(answers: Answers, truth: Answers, blocks: npt.NDArray[np.int64], classes: int) -> Errors:
    """How many answers to clean samples are wrong in each block, by their true class [G, k]; of several labels, each is
    an answer, and labels are the classes.

    >>> clean_errors(np.array([0, 1, 1]), np.array([0, 0, -1]), np.array([0, 1, 1]), 2).tolist()
    [[0, 0], [1, 0]]
    """
    each = truth if truth.ndim == 2 else np.where(truth[:, None] == np.arange(classes), truth[:, None], -1)
    wrong = np.zeros((int(blocks.max(initial=-1)) + 1, each.shape[1]), np.int64)
    np.add.at(wrong, blocks, (answers.reshape(len(truth), -1) != each) & (each >= 0))
    return wrong


def balanced_error(right: Counts, tried: Counts) -> Statistic:
    """Under each of p corruptions, the mean over the classes of what is wrong, from right answers [G, k, p] of those
    tried [G, k]."""

    def statistic(weights: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.einsum("bg,gkp->bkp", weights, right) / (weights @ tried)[..., None]
        return np.asarray(1 - np.nanmean(shares, axis=1))

    return statistic


def mean_of_errors_beside(above: Statistic, below: Statistic) -> Statistic:
    """The mean over corruptions of the ratio of two errors, without those that have nothing to be divided by."""

    def statistic(weights: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return mean_where_known(above(weights) / below(weights))

    return statistic


_NO_CELL = Cell("", "", [], [])
_WORST: tuple[tuple[Counted, str, Callable[..., tuple[float, Cell]]], ...] = (
    ("right", "worst_accuracy", min),
    ("flips", "worst_flip_probability", max),
)
_OWN, _REFERENCE = (1, 2), (3, 4)  # the places of hits and trials in a Gram matrix, after the 1


def corruption_findings(
    subject: str, tally: Tally, reference: str, clean: Mapping[str, Errors], seeds: Seeds, classes: Sequence[str] = ()
) -> list[Finding]:
    """A subject's flip probability and accuracy of each cell, and of each perturbation over all severities what every
    class gets (none of several labels); of all but the reference also relative flips and corruption errors, for
    MedMNIST-C balanced ones.

    `clean` are each subject's errors on clean samples, empty where these are not known.
    """
    estimates = _Subject(tally, tally.subjects.index(subject), tally.subjects.index(reference), seeds)
    findings = [*estimates.shares(), *estimates.worst(), *estimates.of_classes(classes)]
    if subject != reference:
        findings += [*estimates.relative_flips(), *estimates.errors(), *estimates.added_errors(clean)]
        if tally.of_class.any() and any(word.partition("/")[0] in MEDMNIST_C for word in tally.perturbations):
            findings += estimates.balanced_errors(clean)
    return findings


@dataclass(frozen=True)
class _Subject:
    """One subject in the tally, beside the reference."""

    tally: Tally
    own: int
    reference: int
    seeds: Seeds

    def shares(self) -> Iterator[Finding]:
        """How often it flips and how often it is right, cell by cell; the mean of all flips is resampled by block."""
        for cell in self.tally.cells():
            flips = clustered_share(self._gram(cell, "flips"), *_OWN, self._intraclass(self.own, cell, "flips"))
            if cell.of == MEAN:
                own = self.tally.counted(self.own, "flips", cell.severities).sum(axis=1).astype(np.float64)
                flips = self._resampled("flip_probability", cell, ratio_of(own[:, 0], own[:, 1]), flips)
            right = clustered_share(self._gram(cell, "right"), *_OWN, self._intraclass(self.own, cell, "right"))
            yield self._finding("flip_probability", cell, flips, "share")
            yield self._finding("accuracy", cell, right, "share")

    def of_classes(self, classes: Sequence[str]) -> Iterator[Finding]:
        """Balanced accuracy, the worst class's recall and one constant answer, over all severities; n is samples."""
        for cell in self._over_severities() if classes and self.tally.of_class.any() else ():
            about = About("corruption", cell.of, cell.group, self.tally.subjects[self.own])
            each = self.tally.answers * len(cell.perturbations)
            counts = self.tally.class_counts(self.own, cell)
            for finding in (*class_findings(about, counts, classes), *recall_findings(about, counts, classes)):
                yield replace(finding, n=(finding.n or 0) // each)

    def worst(self) -> Iterator[Finding]:
        """The cell in which it is right least, and that in which it flips most: one perturbation at one severity.

        The interval allows for the cell's having been named after looking at all; the verdict says which it is.
        """
        cells = [cell for cell in self.tally.cells() if cell.of != MEAN and cell.group != ALL]
        for what, metric, pick in _WORST:
            shares = [(clustered_share(self._gram(cell, what), *_OWN), cell) for cell in cells]
            tried = [(share.value, cell) for share, cell in shares if share is not None]
            if not tried:
                yield self._finding(metric, _NO_CELL, None, "share")
                continue
            _, worst = pick(tried, key=itemgetter(0))
            level = joint_level(covariances(self._side_by_side(cells, what)))
            share = clustered_share(self._gram(worst, what), *_OWN, self._intraclass(self.own, worst, what), level)
            yield self._finding(metric, _NO_CELL, share, "share", f"{worst.of}, {worst.group}")

    def _side_by_side(self, cells: Sequence[Cell], what: Counted) -> Gram:
        """Hits and trials of every cell, block by block."""
        counts = (self.tally.counted(self.own, what, cell.severities)[:, cell.perturbations] for cell in cells)
        return gram(np.concatenate([count.sum(axis=1) for count in counts], axis=1))

    def relative_flips(self) -> Iterator[Finding]:
        """How often it flips for every flip of the reference: per perturbation, and the mean of these ratios."""
        for cell in self.tally.cells():
            ratio = self._ratio(cell, "flips")
            if cell.of == MEAN:
                flips = beside(self.tally, self.own, self.reference, "flips", cell.severities)
                ratio = self._resampled("relative_flip_probability", cell, flips.ratio(cell.perturbations), ratio)
            verdict = ""
            # Among many cells some intervals leave 1 out by chance; the overall mean is one question, asked before.
            if ratio is not None and (cell.of, cell.group) == (MEAN, ALL):
                verdict = "flips more" if ratio.low > 1 else "flips less" if ratio.high < 1 else ""
            yield self._finding("relative_flip_probability", cell, ratio, "ratio", verdict)

    def errors(self) -> Iterator[Finding]:
        """The corruption error under each perturbation, and mCE."""
        wrong = beside(self.tally, self.own, self.reference, "wrong", range(len(self.tally.severities)))
        for cell in self._over_severities():
            ratio = self._ratio(cell, "wrong")
            if cell.of == MEAN:
                ratio = self._resampled("error", cell, wrong.ratio(cell.perturbations), ratio)
            yield self._finding("error", cell, ratio, "ratio")

    def added_errors(self, clean: Mapping[str, Errors]) -> Iterator[Finding]:
        """The same of wrong answers beyond those of each subject on `clean` samples; the mean is the relative mCE."""
        if clean:
            tally, pair = self.tally, (self.own, self.reference)
            wrong = beside(tally, *pair, "wrong", range(len(tally.severities)))
            first = (tally.answers * clean[tally.subjects[at]].sum(axis=1)[:, None] for at in pair)
            added = Beside(*(errors - before for errors, before in zip(wrong, first, strict=True)))
            for cell in self._over_severities():
                ratio = self._resampled("relative_error", cell, added.ratio(cell.perturbations))
                yield self._finding("relative_error", cell, ratio, "ratio")

    def balanced_errors(self, clean: Mapping[str, Errors]) -> Iterator[Finding]:
        """BE and bmCE of MedMNIST-C, and beyond `clean` errors rBE and rmCE: each class counts alike."""
        for cell in self._over_severities():
            for metric, before in (("balanced_error", None), ("relative_balanced_error", clean)):
                if before is None or before:
                    above, below = (self._balanced(at, cell, before) for at in (self.own, self.reference))
                    ratio = self._resampled(metric, cell, mean_of_errors_beside(above, below))
                    yield self._finding(metric, cell, ratio, "ratio")

    def _balanced(self, at: int, cell: Cell, clean: Mapping[str, Errors] | None) -> Statistic:
        """A subject's balanced error under each corruption, over all severities, or what of it is beyond `clean`."""
        tally = self.tally
        under = balanced_error(tally.right[:, :, at][..., cell.perturbations], tally.of_class * tally.answers)
        if clean is None:
            return under
        before = balanced_error((tally.of_class - clean[tally.subjects[at]])[..., None], tally.of_class)
        return lambda weights: under(weights) - before(weights)

    def _over_severities(self) -> Iterator[Cell]:
        return (cell for cell in self.tally.cells() if cell.group == ALL)

    def _ratio(self, cell: Cell, what: Counted) -> Interval | None:
        intraclass = (self._intraclass(self.own, cell, what), self._intraclass(self.reference, cell, what))
        return clustered_ratio(self._gram(cell, what), _OWN, _REFERENCE, intraclass)

    def _intraclass(self, subject: int, cell: Cell, what: Counted) -> float | None:
        """How far one unit's frames go together: over all severities of a perturbation, or over all there is."""
        counts = self.tally.counted(subject, what, range(len(self.tally.severities)))
        wider = (counts[:, cell.perturbations].sum(axis=1), counts.sum(axis=1))
        known = (intraclass_correlation(self._of_units(counts), *_OWN) for counts in wider)
        return next((intraclass for intraclass in known if intraclass is not None), None)

    def _gram(self, cell: Cell, what: Counted) -> Gram:
        """Hits and trials of this subject, and of the reference, in one cell."""
        both = [self.tally.counted(subject, what, cell.severities) for subject in (self.own, self.reference)]
        return self._of_units(np.concatenate([counts[:, cell.perturbations].sum(axis=1) for counts in both], axis=1))

    def _of_units(self, counts: npt.NDArray[np.int64]) -> Gram:
        tried = counts[:, 1] > 0
        return gram(counts[tried], self.tally.units[tried])

    def _resampled(
        self, metric: str, cell: Cell, statistic: Statistic, otherwise: Interval | None = None
    ) -> Interval | None:
        """The statistic with its BCa interval over blocks; where no resample changes it, the interval of its shares."""
        generator = self.seeds.generator(f"{self.tally.subjects[self.own]}/{metric}/{cell.of}/{cell.group}")
        counts = self.tally.counted(self.own, "flips", range(len(self.tally.severities))).sum(axis=1)
        within = expanded(_blocks(self._of_units(counts)))
        interval = bca_interval(statistic, len(self.tally.units), generator, within)
        if np.isnan(interval.value):
            return None
        if np.isnan(interval.low) and otherwise is not None:
            return Interval(interval.value, min(otherwise.low, interval.value), max(otherwise.high, interval.value))
        return interval

    def _finding(self, metric: str, cell: Cell, interval: Interval | None, unit: str, verdict: str = "") -> Finding:
        named = (f"corruption.{metric}", cell.of, cell.group, self.tally.subjects[self.own])
        if interval is None:
            return Finding(*named, n=0, verdict="not measured", unit=unit)
        low, high = (None if np.isnan(end) else end for end in interval[1:])
        n = self.tally.samples if "flip" in metric else self.tally.judged
        return Finding(*named, interval.value, low, high, n, verdict=verdict, unit=unit)
