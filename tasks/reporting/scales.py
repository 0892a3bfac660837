"""From values to places on paper: nice ticks, and a linear scale between two ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Linear:
    """A straight line from values [low, high] to pixels [start, stop].

    >>> Linear(0, 10, 100, 200)(5)
    150.0
    """

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Where the value lies."""
        width = self.high - self.low or 1.0
        return self.start + (value - self.low) / width * (self.stop - self.start)


def nice_step(low: float, high: float, count: int) -> float:
    """A step of 1, 2, 2.5 or 5 times a power of ten that cuts the range into about `count` pieces.

    >>> nice_step(0, 1, 5), nice_step(0.71, 0.98, 5)
    (0.2, 0.05)
    """
    raw = (high - low) / max(count, 1)
    if not raw > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.75)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers inside [low, high], evenly spaced.

    >>> nice_ticks(0.71, 0.98)
    [0.75, 0.8, 0.85, 0.9, 0.95]
    """
    step = nice_step(low, high, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def nice_range(
    values: Iterable[float | None], floor: float | None = None, ceiling: float | None = None
) -> tuple[float, float]:
    """A range around the values that starts and ends on a round number, never beyond floor and ceiling.

    >>> nice_range([0.83, 0.97], floor=0, ceiling=1)
    (0.825, 0.975)
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return (floor if floor is not None else 0.0, ceiling if ceiling is not None else 1.0)
    low, high = min(known), max(known)
    if high - low <= max(1e-9 * max(abs(low), abs(high)), 1e-12):  # one value, as far as paper can tell
        margin = abs(low) * 0.05 if abs(low) > 1e-6 else 0.5
        low, high = low - margin, high + margin
    step = nice_step(low, high, 5)
    low, high = round(math.floor(low / step + 1e-9) * step, 12), round(math.ceil(high / step - 1e-9) * step, 12)
    return (low if floor is None else max(low, floor), high if ceiling is None else min(high, ceiling))


def whole_ticks(values: Sequence[float], most: int) -> list[float]:
    """The values themselves where they are few whole numbers (D_1 … D_10), else nice ticks over their range.

    >>> whole_ticks([1, 2, 3], 10)
    [1, 2, 3]
    >>> whole_ticks(list(range(1, 11)), 6)
    [1, 3, 5, 7, 9]
    """
    distinct = sorted(set(values))
    whole = all(float(value).is_integer() for value in distinct)
    if distinct and whole and distinct[-1] - distinct[0] <= 24:
        stride = -(-len(distinct) // most)
        return distinct[::stride]
    return nice_ticks(distinct[0], distinct[-1], most) if distinct else []


def spread_apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved as little as needed so that neighbours keep `gap`, inside [low, high] where they fit.

    >>> spread_apart([10, 12, 50], 14, 0, 100)
    [4.0, 18.0, 50.0]
    """
    blocks: list[tuple[list[int], float]] = []  # members in order of place, first place
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        members, start = [index], min(max(places[index], low), high)
        while blocks and blocks[-1][1] + gap * len(blocks[-1][0]) > start:
            members = blocks.pop()[0] + members
            wanted = sum(places[member] - gap * rank for rank, member in enumerate(members)) / len(members)
            start = max(min(wanted, high - gap * (len(members) - 1)), low)
        blocks.append((members, start))
    result = [0.0] * len(places)
    for members, start in blocks:
        for rank, member in enumerate(members):
            result[member] = float(start + gap * rank)
    return result
