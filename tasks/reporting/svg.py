"""The pieces of an inline SVG plot: the frame with its axes, lines, bands, whiskers, marks and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.tasks.reporting.markup import Markup, join, tag
from assay.tasks.reporting.numerals import measured
from assay.tasks.reporting.scales import Linear

CHARACTER = 6.7
"""How wide a character of the labels is, in the units of the drawing: about, and rather too much."""

_SHAPES = (
    "M-3.4,0a3.4,3.4 0 1,0 6.8,0a3.4,3.4 0 1,0 -6.8,0z",
    "M-3.1,-3.1h6.2v6.2h-6.2z",
    "M0,-4.2L4,3H-4z",
    "M0,-4.4L4.4,0L0,4.4L-4.4,0z",
    "M0,4.2L4,-3H-4z",
)


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

    def axes(self, x_ticks: Mapping[float, str], y_ticks: Mapping[float, str], x_label: str, y_label: str) -> Markup:
        """Horizontal hairlines with their values, a base line with its ticks, and what both axes are."""
        left, right = self.x.start, self.x.stop
        pieces = [words(0, 13, y_label, "axis-label")]
        for value, name in y_ticks.items():
            pieces.append(stroke("grid", left, self.y(value), right, self.y(value)))
            pieces.append(words(left - 8, self.y(value) + 4, name, "tick", anchor="end"))
        pieces.append(stroke("base", left, self.y.start, right, self.y.start))
        for value, name in x_ticks.items():
            pieces.append(stroke("base", self.x(value), self.y.start, self.x(value), self.y.start + 4))
            pieces.append(words(self.x(value), self.y.start + 18, name, "tick", anchor="middle"))
        pieces.append(words((left + right) / 2, self.height - 5, x_label, "axis-label", anchor="middle"))
        return join(pieces)


def drawing(width: float, height: float, title: str, description: str, identity: str, *content: Markup) -> Markup:
    """A whole drawing: an image to a screen reader, named by its title and told by its description."""
    heads = tag("title", title, id=f"{identity}-t") + tag("desc", description, id=f"{identity}-d")
    return tag(
        "svg",
        Markup(heads),
        *content,
        role="img",
        attributes={"viewBox": f"0 0 {width:g} {height:g}"},
        aria_labelledby=f"{identity}-t",
        aria_describedby=f"{identity}-d",
    )


def words(x: float, y: float, content: str, class_: str, anchor: str | None = None) -> Markup:
    """A word in the drawing; what is too long ends in an ellipsis where its caller cut it."""
    return tag("text", content, class_=class_, x=_place(x), y=_place(y), text_anchor=anchor)


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
        known = [value for value in values if value is not None and measured(value)]
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


def whisker(x: float, low: float, high: float) -> Markup:
    """A vertical bar with caps from low to high."""
    return tag(
        "path", class_="whisker", d=f"M{x - 3:.1f},{low:.1f}h6M{x:.1f},{low:.1f}V{high:.1f}M{x - 3:.1f},{high:.1f}h6"
    )


def mark(x: float, y: float, shape: int, class_: str = "mark") -> Markup:
    """A small mark; lines differ in its shape and not in colour alone."""
    return tag("path", class_=class_, d=_SHAPES[shape % len(_SHAPES)], transform=f"translate({x:.1f} {y:.1f})")


def target(x: float, y: float, says: str) -> Markup:
    """An invisible disc that says its numbers to who hovers over it."""
    return tag("circle", tag("title", says), class_="hit", cx=_place(x), cy=_place(y), r=9)


def _place(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
