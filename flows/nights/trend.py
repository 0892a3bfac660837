"""A trend in plain text: a line of bars, and a row a night with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.reporting.numerals import measured

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24


@dataclass(frozen=True)
class Point:
    """One night's value, with its interval and n as far as they are known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    def __str__(self) -> str:
        """The value as a person reads it."""
        if self.value is None:
            return "–"
        interval = "" if self.low is None or self.high is None else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.value:.4g}{interval}" + ("" if self.n is None else f" n={self.n}")


def sparkline(values: Sequence[float | None]) -> str:
    """One letter a night, from the lowest to the highest; a dot where there is no number.

    >>> sparkline([0.1, 0.2, None, 0.8]), sparkline([0.5, 0.5])
    ('▁▂·█', '▄▄')
    """
    known = [value for value in values if value is not None and measured(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = high - low
    return "".join(
        "·"
        if value is None or not measured(value)
        else _BARS[3]
        if span <= 0
        else _BARS[min(len(_BARS) - 1, int((value - low) / span * len(_BARS)))]
        for value in values
    )


def interval_bar(point: Point, low: float, high: float) -> str:
    """Where a night's value lies between the ends of the scale, with its interval as a line through it.

    >>> interval_bar(Point(0.5, 0.25, 0.75), 0.0, 1.0)
    '      ──────●─────'
    """
    if point.value is None or not measured(point.value) or high <= low:
        return ""

    def place(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_WIDTH - 1))

    first = place(point.low if measured(point.low) and point.low is not None else point.value)
    last = place(point.high if measured(point.high) and point.high is not None else point.value)
    letters = [" "] * first + ["─"] * (last - first + 1)
    letters[place(point.value)] = "●"
    return "".join(letters)


def ends(points: Sequence[Point]) -> tuple[float, float]:
    """The ends of the scale on which all the points and their intervals have room."""
    values = [
        value for one in points for value in (one.value, one.low, one.high) if value is not None and measured(value)
    ]
    return min(values, default=0.0), max(values, default=0.0)
