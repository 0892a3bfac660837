"""What corruptions come to: flips and accuracy per perturbation and severity, and beside a reference subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.corruptions.beside import Errors, added_errors_beside, errors_beside, flips_beside
from assay.tasks.corruptions.estimates import Gram, clustered_ratio, clustered_share, covariances, gram, likeness
from assay.tasks.corruptions.tallies import ALL, MEAN, Cell, Tally
from assay.tasks.statistics.extremes import joint_level
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.resampling import Interval, Statistic, bca_interval, expanded, ratio_of

Counted = Literal["flips", "right", "wrong"]
_NO_CELL = Cell("", "", [], [])
_WORST: tuple[tuple[Counted, str, Callable[..., tuple[float, Cell]]], ...] = (
    ("right", "worst_accuracy", min),
    ("flips", "worst_flip_probability", max),
)
_OWN, _REFERENCE = (1, 2), (3, 4)  # the places of hits and trials in a Gram matrix, after the 1


def corruption_findings(tally: Tally, reference: str, clean: Mapping[str, Errors], seeds: Seeds) -> list[Finding]:
    """Flip probability and accuracy of each cell; of all but the reference also relative flips and corruption errors.

    `clean` are each subject's errors on clean samples, empty where these are not known.
    """
    if reference not in tally.subjects:
        raise InputError(
            f"`corruptions.reference` is {reference!r}, but those corrupted are {', '.join(tally.subjects)}: "
            "name one of them."
        )
    findings: list[Finding] = []
    for own, subject in enumerate(tally.subjects):
        estimates = _Subject(tally, own, tally.subjects.index(reference), seeds)
        findings += [*estimates.shares(), *estimates.worst()]
        if subject != reference:
            findings += [*estimates.relative_flips(), *estimates.errors(), *estimates.added_errors(clean)]
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
            flips = clustered_share(self._gram(cell, "flips"), *_OWN, self._likeness(self.own, cell, "flips"))
            if cell.of == MEAN:
                own = self.tally.counted(self.own, "flips", cell.severities).sum(axis=1).astype(np.float64)
                flips = self._resampled("flip_probability", cell, ratio_of(own[:, 0], own[:, 1]), flips)
            right = clustered_share(self._gram(cell, "right"), *_OWN, self._likeness(self.own, cell, "right"))
            yield self._finding("flip_probability", cell, flips, "share")
            yield self._finding("accuracy", cell, right, "share")

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
            share = clustered_share(self._gram(worst, what), *_OWN, self._likeness(self.own, worst, what), level)
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
                beside = flips_beside(self.tally, self.own, self.reference, cell.severities)
                ratio = self._resampled("relative_flip_probability", cell, beside.ratio(cell.perturbations), ratio)
            # Among many cells some intervals leave 1 out by chance; the overall mean is one question, asked before.
            verdict = _flip_verdict(ratio) if (cell.of, cell.group) == (MEAN, ALL) else ""
            yield self._finding("relative_flip_probability", cell, ratio, "ratio", verdict)

    def errors(self) -> Iterator[Finding]:
        """The corruption error under each perturbation, and mCE."""
        beside = errors_beside(self.tally, self.own, self.reference)
        for cell in self._over_severities():
            ratio = self._ratio(cell, "wrong")
            if cell.of == MEAN:
                ratio = self._resampled("error", cell, beside.ratio(cell.perturbations), ratio)
            yield self._finding("error", cell, ratio, "ratio")

    def added_errors(self, clean: Mapping[str, Errors]) -> Iterator[Finding]:
        """The same of what corruption adds to the errors on clean samples; its mean is the relative mCE."""
        if clean:
            beside = added_errors_beside(self.tally, self.own, self.reference, clean)
            for cell in self._over_severities():
                ratio = self._resampled("relative_error", cell, beside.ratio(cell.perturbations))
                yield self._finding("relative_error", cell, ratio, "ratio")

    def _over_severities(self) -> Iterator[Cell]:
        return (cell for cell in self.tally.cells() if cell.group == ALL)

    def _ratio(self, cell: Cell, what: Counted) -> Interval | None:
        alike = (self._likeness(self.own, cell, what), self._likeness(self.reference, cell, what))
        return clustered_ratio(self._gram(cell, what), _OWN, _REFERENCE, alike)

    def _likeness(self, subject: int, cell: Cell, what: Counted) -> float | None:
        """How far one unit's frames go together: over all severities of a perturbation, or over all there is."""
        every = range(len(self.tally.severities))
        counts = self.tally.counted(subject, what, every)
        wider = (counts[:, cell.perturbations].sum(axis=1), counts.sum(axis=1))
        known = (likeness(self._of_units(one), *_OWN) for one in wider)
        return next((alike for alike in known if alike is not None), None)

    def _gram(self, cell: Cell, what: Counted) -> Gram:
        """Hits and trials of this subject, and of the reference, in one cell."""
        both = [self.tally.counted(subject, what, cell.severities) for subject in (self.own, self.reference)]
        return self._of_units(np.concatenate([one[:, cell.perturbations].sum(axis=1) for one in both], axis=1))

    def _of_units(self, counts: npt.NDArray[np.int64]) -> Gram:
        tried = counts[:, 1] > 0
        return gram(counts[tried], int(self.tally.units[tried].sum()))

    def _resampled(
        self, metric: str, cell: Cell, statistic: Statistic, otherwise: Interval | None = None
    ) -> Interval | None:
        """The statistic with its BCa interval over blocks; where no resample changes it, the interval of its shares."""
        generator = self.seeds.generator(f"{self.tally.subjects[self.own]}/{metric}/{cell.of}/{cell.group}")
        blocks = len(self.tally.units)
        interval = bca_interval(statistic, blocks, generator, expanded(blocks) if blocks > 1 else 0.95)
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


def _flip_verdict(relative: Interval | None) -> str:
    if relative is None or np.isnan(relative.low) or relative.low <= 1 <= relative.high:
        return ""
    return "flips more" if relative.low > 1 else "flips less"
