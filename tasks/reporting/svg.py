"""The pieces of an inline SVG plot: scales and ticks, the frame with its axes, lines, bands, whiskers, marks and
labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.numerals import measured


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
        return distinct[:: -(-len(distinct) // most)]
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


CHARACTER = 6.7
"""How wide a character of the labels is, in the units of the drawing: about, and rather too much."""

SHAPES = (
    "m-3,0a3 3 0 1 1 0 .01",
    "m-2.7,-2.7h5.4v5.4h-5.4z",
    "m0,-3.7l3.5,6.3h-7z",
    "m0,-3.9l3.9,3.9l-3.9,3.9l-3.9,-3.9z",
    "m0,3.7l3.5,-6.3h-7z",
    "m-1.1,-3.6h2.2v2.5h2.5v2.2h-2.5v2.5h-2.2v-2.5h-2.5v-2.2h2.5z",
    "m-3.4,-3.4l1.6,0l1.8,1.8l1.8,-1.8l1.6,0l0,1.6l-1.8,1.8l1.8,1.8l0,1.6l-1.6,0l-1.8,-1.8l-1.8,1.8l-1.6,0l0,-1.6"
    "l1.8,-1.8l-1.8,-1.8z",
)
"""Marks around a place; seven, so that with eight colours 56 kinds differ."""


def text_width(words: str) -> float:
    """About how wide the words stand in the drawing."""
    return CHARACTER * len(words)


@dataclass(frozen=True)
class Frame:
    """Where a plot is drawn: the size of the drawing and the two scales inside its margins."""

    width: float
    height: float
    x: Linear
    y: Linear

    def axes(
        self, x_ticks: Mapping[float, str], y_ticks: Mapping[float, str], x_label: str, y_label: str
    ) -> Iterator[Markup]:
        """Horizontal hairlines with their values, a base line with its ticks, and what both axes are."""
        left, right = self.x.start, self.x.stop
        yield words(0, 13, y_label, "axis-label")
        for value, name in y_ticks.items():
            yield stroke("grid", left, self.y(value), right, self.y(value))
            yield words(left - 8, self.y(value) + 4, name, "tick", anchor="end")
        yield stroke("base", left, self.y.start, right, self.y.start)
        for value, name in x_ticks.items():
            yield stroke("base", self.x(value), self.y.start, self.x(value), self.y.start + 4)
            yield words(self.x(value), self.y.start + 18, name, "tick", anchor="middle")
        yield words((left + right) / 2, self.height - 5, x_label, "axis-label", anchor="middle")


def drawing(width: float, height: float, title: str, description: str, identity: str, *content: Markup) -> Markup:
    """A whole drawing: an image to a screen reader, named by its title and told by its description."""
    named, told, box = f"{identity}-t", f"{identity}-d", {"viewBox": f"0 0 {width:g} {height:g}"}
    heads = tag("title", title, id=named), tag("desc", description, id=told)
    return tag("svg", *heads, *content, role="img", attributes=box, aria_labelledby=named, aria_describedby=told)


def words(
    x: float, y: float, content: str, class_: str, anchor: str | None = None, turned: float | None = None, dy: int = 0
) -> Markup:
    """A word in the drawing, turned by so many degrees around its place and then moved by `dy`; what is too long ends
    in an ellipsis where its caller cut it."""
    around = None if turned is None else f"rotate({turned:.1f} {x:.1f} {y:.1f})"
    left, top, down = _place(x), _place(y), dy or None
    return tag("text", content, class_=class_, x=left, y=top, dy=down, text_anchor=anchor, transform=around)


def colour(kind: int) -> str:
    """The class of one of the eight colours, which come again after the last."""
    return f"s{kind % 8 + 1}"


def swatch(kind: int, *pieces: Markup) -> Markup:
    """A sample of a line or a mark, for a legend."""
    return tag("svg", *pieces, class_=f"swatch {colour(kind)}", attributes={"viewBox": "0 0 26 14"}, aria_hidden="true")


def stroke(class_: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """A straight line."""
    return tag("line", class_=class_, x1=_place(x1), y1=_place(y1), x2=_place(x2), y2=_place(y2))


def runs(x: Sequence[float], *columns: Sequence[float | None]) -> Iterator[list[tuple[float, ...]]]:
    """Stretches of points where every column has a number, so that a gap in the data is a gap in the line.

    >>> list(runs([1, 2, 3], [5, None, 7]))
    [[(1, 5)], [(3, 7)]]
    """
    current: list[tuple[float, ...]] = []
    for place, *values in zip(x, *columns, strict=True):
        known = [value for value in values if measured(value)]
        if len(known) == len(values):
            current.append((place, *known))
        elif current:
            yield current
            current = []
    if current:
        yield current


def polyline(points: Sequence[tuple[float, ...]], class_: str) -> Markup:
    """A line through the points."""
    return tag("path", class_=class_, d="M" + "L".join(f"{_place(x)},{_place(y)}" for x, y in points))


def held(points: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """The points with a corner before each, so that a value holds until the next place.

    >>> held([(0, 5), (2, 7)])
    [(0, 5), (2, 5), (2, 7)]
    """
    corners = [(later[0], *earlier[1:]) for earlier, later in pairwise(points)]
    return [points[0], *(point for pair in zip(corners, points[1:], strict=True) for point in pair)]


def band(points: Sequence[tuple[float, ...]]) -> Markup:
    """The area between the lower and the upper edge."""
    around = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
    return tag("path", class_="band", d="M" + "L".join(f"{_place(x)},{_place(y)}" for x, y in around) + "z")


def whiskers(places: Iterable[tuple[float, ...]]) -> Markup:
    """Vertical bars with caps, each at its place from low to high."""
    bars = (f"M{x - 3:.1f},{low:.1f}h6m-3,0V{high:.1f}m-3,0h6" for x, low, high in places)
    return tag("path", class_="whisker", d="".join(bars))


def mark(x: float, y: float, shape: int, class_: str = "mark") -> Markup:
    """A small mark; lines differ in its shape and not in colour alone."""
    return tag("path", class_=class_, d=f"M{x:.1f},{y:.1f}{SHAPES[shape % len(SHAPES)]}")


def target(x: float, y: float, says: str) -> Markup:
    """An invisible disc that says its numbers to who hovers over it."""
    return tag("circle", tag("title", says), class_="hit", cx=_place(x), cy=_place(y), r=9)


def _place(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
