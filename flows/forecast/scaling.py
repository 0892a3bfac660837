"""What an amount of work will take, from what other amounts of it took: a fixed part, and one that grows with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

_LATEST = 5
_SAME = 0.02
"""Amounts that differ by less are taken for the same."""
SLACK = 1.25
"""The factor that a range reaches up and down at the least, and once more for every doubling beyond what is known."""
_SMALLEST = 1e-3
_IN_PROPORTION = 0.85
"""Of twice as many samples at least 1.8 times as many are kept, where a share of them is."""


@dataclass(frozen=True)
class Range:
    """What is expected, at the least and at the most."""

    value: float
    low: float
    high: float

    def wider(self, factor: float) -> Range:
        """The same value in a range that reaches further by a factor."""
        return Range(self.value, self.low / factor, self.high * factor)

    def looser(self, by: float) -> Range:
        """The same value in a range that reaches so much further at the least.

        >>> Range(0.2, 0.16, 0.25).looser(0.25), Range(8.0, 6.4, 10.0).looser(0.25)
        (Range(value=0.2, low=0.0, high=0.45), Range(value=8.0, low=6.4, high=10.0))
        """
        return Range(self.value, min(self.low, max(0.0, self.value - by)), max(self.high, self.value + by))


def expected(points: Sequence[tuple[float, float]], amount: float) -> Range:
    """What an amount takes, given pairs of amount and what it took, the latest first.

    Of an amount that is known, what it took. Between and beyond at least two: a line with no negative part, which
    least squares of the relative errors give. From one other amount: in proportion, at least what the smaller and at
    most what the larger of both readings (all of it grows, nothing of it grows) says.

    >>> round(expected([(200.0, 3.0), (100.0, 2.0)], 400.0).value, 6)
    5.0
    >>> expected([(100.0, 2.0)], 400.0)
    Range(value=8.0, low=1.6, high=10.0)
    """
    sizes = _by_size(points)
    if not any(took for _, took in sizes):  # nothing of it, such as seconds of a GPU where there is none
        return Range(0.0, 0.0, 0.0)
    for size, took in sizes:
        if math.isclose(size, amount, rel_tol=_SAME):
            seen = [one for at, one in points if math.isclose(at, size, rel_tol=_SAME)][:_LATEST]
            return _around(took, max([SLACK, *(_ratio(one, took) for one in seen)]))
    if len(sizes) == 1:
        size, took = sizes[0]
        grown = took * amount / size if size else took
        return Range(grown, min(took, grown) / SLACK, max(took, grown) * SLACK)
    fixed, growing = line(sizes)
    off = max(_ratio(fixed + growing * size, took) for size, took in sizes)
    doublings = min(abs(math.log2(max(amount, _SMALLEST) / max(size, _SMALLEST))) for size, _ in sizes)
    return _around(fixed + growing * amount, max(SLACK, off) * SLACK ** max(0.0, doublings - 1))


def kept(points: Sequence[tuple[float, float]], amount: float) -> float:
    """How many of an amount of samples are kept, given pairs of an amount and what was kept of it, the latest first:
    of an amount that is known, what was kept of it; else the share that was kept of all, or what stays at a limit.

    >>> kept([(900.0, 220.0), (450.0, 117.5)], 1800.0), kept([(900.0, 150.0), (450.0, 150.0)], 1800.0)
    (450.0, 150.0)
    """
    sizes = _by_size(points)
    for size, held in sizes:
        if math.isclose(size, amount, rel_tol=_SAME):
            return held
    if (most := limit(points)) is not None:
        return min(most, expected(points, amount).value)
    seen = sum(size for size, _ in sizes)
    return amount * sum(held for _, held in sizes) / seen if seen else 0.0


def limit(points: Sequence[tuple[float, float]]) -> float | None:
    """The most that is kept of whatever there is, given pairs of an amount and what was kept of it; None where twice as
    much was kept of twice as much.

    >>> limit([(1797.0, 150.0), (891.0, 150.0), (449.0, 117.0)]), limit([(600.0, 180.0), (300.0, 87.0)])
    (150.0, None)
    """
    sizes = _by_size(points)
    if len(sizes) < 2:
        return None
    (less, few), (more, many) = sizes[0], sizes[-1]
    return many if few and many / few < (more / less) ** _IN_PROPORTION else None


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The fixed part and the growing part per unit, neither below 0, that are off by least relative to what was seen.

    >>> [round(part, 6) for part in line([(1.0, 3.0), (2.0, 5.0)])]
    [1.0, 2.0]
    >>> line([(1.0, 1.0), (2.0, 4.0)])[0], line([(1.0, 4.0), (2.0, 2.0)])[1]
    (0.0, 0.0)
    """
    weighed = [(1 / max(took, _SMALLEST) ** 2, size, took) for size, took in points]
    w, x, y = (sum(w for w, *_ in weighed), sum(w * x for w, x, _ in weighed), sum(w * y for w, _, y in weighed))
    xx, xy = sum(w * x * x for w, x, _ in weighed), sum(w * x * y for w, x, y in weighed)
    spread = w * xx - x * x
    growing = (w * xy - x * y) / spread if spread > 0 else 0.0
    fixed = (y - growing * x) / w
    if growing < 0:
        return y / w, 0.0
    return (0.0, xy / xx) if fixed < 0 else (fixed, growing)


def _by_size(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Per amount the median of the latest that it took."""
    ordered = groupby(sorted(points, key=lambda one: one[0]), lambda one: one[0])
    return [(size, median([took for _, took in list(ones)[:_LATEST]])) for size, ones in ordered]


def _around(value: float, factor: float) -> Range:
    return Range(value, value / factor, value * factor)


def _ratio(first: float, second: float) -> float:
    """By which factor two things differ."""
    smaller, larger = sorted((max(first, _SMALLEST), max(second, _SMALLEST)))
    return larger / smaller
