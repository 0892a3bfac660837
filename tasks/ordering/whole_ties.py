"""A range of an order does not hold all of its first and its last tie: what it must know of the ranges around it.

Every range says what it holds, `ends_of`; from what all said, `around` tells each one where it stands in the whole.
Samples fall into parts, so that what would be without one of them is known as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.known import Bools
from assay.tasks.ordering.sort_keys import Integers

Floats = npt.NDArray[np.float64]

_FIRST, _LAST, _ALL = 0, 1, 2  # of a range's samples: those of its first tie, those of its last tie, all of them
_UNITS = 40  # bits: risks are added up in whole units of 2^-40
_ROWS = 1 << 22  # so many risks of at most 2^40 units add up within 63 bits


@dataclass(frozen=True)
class Ties:
    """The ties of a range, the easiest first, as they are in the whole order.

    `here` is how many samples of each are in the range, `size` how many there are, `wrong` how many of these are wrong,
    and `before` and `lost` how many samples, and wrong ones, come before the tie.
    """

    here: Integers
    size: Integers
    wrong: Integers
    before: Integers
    lost: Integers
    start: int  # the rank of the range's first sample
    n: int  # samples of the whole order
    all_wrong: int


class Less(NamedTuple):
    """Samples of a range that are left out: the ties they are in, ascending, and of each how many, and wrong ones."""

    ties: Integers
    samples: Integers
    wrong: Integers

    @classmethod
    def of(cls, tie: Integers, wrong: Bools) -> Less:
        """Of sorted samples.

        >>> [column.tolist() for column in Less.of(np.array([2, 2, 5]), np.array([True, True, False]))]
        [[2, 5], [2, 1], [2, 0]]
        """
        ties, first, samples = np.unique(tie, return_index=True, return_counts=True)
        wrong_before = np.append(0, np.cumsum(wrong))
        return cls(ties, samples, wrong_before[first + samples] - wrong_before[first])


@dataclass(frozen=True)
class Around:
    """Where a range stands, counted by part [5, 2, parts], samples and wrong ones: those in earlier ranges, before its
    first tie, in all of its first tie, in all of its last, and in the whole order."""

    counts: Integers

    def ties(self, here: Integers, wrong: Integers) -> Ties:
        """The ties of a range that has so many samples of each, and so many wrong ones."""
        (start, start_lost), first_before, first, last, (n, all_wrong) = self.counts.sum(axis=2)
        columns = size, lost_here, before, lost = (
            here.copy(),
            wrong.copy(),
            start + np.cumsum(here) - here,
            start_lost + np.cumsum(wrong) - wrong,
        )
        if len(here):
            before[0], lost[0] = first_before
            size[0], lost_here[0] = first
            size[-1], lost_here[-1] = last
        return Ties(here, *columns, int(start), int(n), int(all_wrong))


def places_of(scores: Integers) -> Integers:
    """The tie of each sample of a sorted range, from 0.

    >>> places_of(np.array([3, 3, 7])).tolist()
    [0, 0, 1]
    """
    return np.cumsum(np.append(False, scores[1:] != scores[:-1])[: len(scores)])


def ends_of(scores: Integers, wrong: Bools, parts: Integers, count: int) -> Integers:
    """What a sorted range says of itself: the scores of its first and last tie, and [3, 2, parts] samples and wrong
    ones in these and in all of it. Nothing where it is empty."""
    if not len(scores):
        return np.zeros(0, dtype=np.int64)
    there = (scores == scores[0], scores == scores[-1], np.ones(len(scores), dtype=np.bool_))
    counts = [np.bincount(parts[chosen], minlength=count) for each in there for chosen in (each, each & wrong)]
    return np.concatenate([[scores[0], scores[-1]], *counts]).astype(np.int64)


def around(ends: Sequence[Integers], count: int) -> list[Around]:
    """Where each of the ranges stands, which follow each other, from what `ends_of` says of each."""
    nothing = np.zeros((2, count), dtype=np.int64)
    counts = [each[2:].reshape(3, 2, count) if len(each) else np.stack([nothing] * 3) for each in ends]
    later, from_here = _later(ends, counts, nothing)
    whole = np.sum([each[_ALL] for each in counts], axis=0) if counts else nothing
    found: list[Around] = []
    start, reaching, before, so_far = nothing, None, nothing, nothing  # of the tie that the last range ended in
    for each, here, more, first in zip(ends, counts, later, from_here, strict=True):
        if not len(each):
            found.append(Around(np.stack([start, start, nothing, nothing, whole])))
            continue
        goes_on = reaching == each[0]
        first_before, earlier = (before, so_far) if goes_on else (start, nothing)
        one = each[0] == each[1]
        last = earlier + first if one else here[_LAST] + more
        found.append(Around(np.stack([start, first_before, earlier + first, last, whole])))
        before, so_far = (
            (first_before, earlier + here[_FIRST]) if one else (start + here[_ALL] - here[_LAST], here[_LAST])
        )
        start, reaching = start + here[_ALL], each[1]
    return found


def _later(
    ends: Sequence[Integers], counts: Sequence[Integers], nothing: Integers
) -> tuple[list[Integers], list[Integers]]:
    """Of each range: what later ranges hold of its last tie, and what it and they hold of its first."""
    later, from_here = [nothing] * len(ends), [nothing] * len(ends)
    following, held = None, nothing
    for at in reversed(range(len(ends))):
        if not len(ends[at]):
            continue
        first, last = ends[at][:2]
        later[at] = held if following == last else nothing
        from_here[at] = counts[at][_FIRST] + (later[at] if first == last else nothing)
        following, held = first, from_here[at]
    return later, from_here


@dataclass(frozen=True)
class Risks:
    """The risks at the coverages that end in a range: inside a tie the k-th sample of all has a risk of
    (lost + (k − before)·wrong/size)/k. Whole numbers, as floats, by tie; `share` is wrong/size."""

    here: Integers
    share: Floats
    before: Floats
    lost: Floats
    start: int

    @classmethod
    def of(cls, ties: Ties) -> Risks:
        """The risks of all samples."""
        before, lost = ties.before.astype(np.float64), ties.lost.astype(np.float64)
        return cls(ties.here, ties.wrong / np.maximum(ties.size, 1), before, lost, ties.start)

    def without(self, ties: Ties, less: Less, here: Around, part: int) -> Risks:
        """The risks without a part, whose samples are `less`. Only its own ties change, the rest moves up."""
        gone = here.counts[:, :, part]
        left, share, before, lost = self.here.copy(), self.share.copy(), self.before.copy(), self.lost.copy()
        left[less.ties] -= less.samples
        steps = np.diff(less.ties, prepend=-1, append=len(left) - 1)
        before -= np.repeat(gone[0, 0] + np.cumsum(np.append(0, less.samples)), steps)
        lost -= np.repeat(gone[0, 1] + np.cumsum(np.append(0, less.wrong)), steps)
        size, wrong = ties.size[less.ties] - less.samples, ties.wrong[less.ties] - less.wrong
        share[less.ties] = wrong / np.maximum(size, 1)
        for at, whole in ((0, 2), (-1, 3)):  # the rest of these ties, and of the part in them, is in other ranges
            size, wrong = ties.size[at] - gone[whole, 0], ties.wrong[at] - gone[whole, 1]
            share[at] = wrong / max(size, 1)
        before[0], lost[0] = ties.before[0] - gone[1, 0], ties.lost[0] - gone[1, 1]
        return Risks(left, share, before, lost, ties.start - int(gone[0, 0]))

    def units(self) -> int:
        """Their sum in units of 2^-40: of whole numbers, so the same in whatever ranges it is made."""
        share, before, lost = self.share, self.before, self.lost
        apart = lost - share * before
        if self.here.max(initial=0) > 1:
            share, apart = np.repeat(share, self.here), np.repeat(apart, self.here)
        elif not self.here.all():
            share, apart = (column[self.here == 1] for column in (share, apart))
        apart /= np.arange(self.start + 1, self.start + 1 + len(apart))
        apart += share
        units = np.rint(np.ldexp(apart, _UNITS, out=apart), out=apart).astype(np.int64)
        return sum(int(units[at : at + _ROWS].sum()) for at in range(0, len(units), _ROWS))


def mean_risk(units: int, samples: int) -> float:
    """The mean of so many risks; NaN of none."""
    return units / (samples << _UNITS) if samples else float("nan")
