"""Scatters and chord diagrams: points in a plane as small multiples, and things on a circle joined by bands as
wide as they are often together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, radians, sin

from assay.tasks.reporting import svg
from assay.tasks.reporting.markup import Markup, figure, tag
from assay.tasks.reporting.numerals import integer
from assay.tasks.reporting.parts import Chord, Chords, Cloud, Scatter, Scatters
from assay.tasks.reporting.svg import SHAPES, Linear

_SCATTER_SIDE = 272.0


def scatters_figure(scatters: Scatters, identity: str) -> Markup:
    """The scatters beside each other on the same axes, under one legend."""
    clouds = [cloud for plot in scatters.plots for cloud in plot.clouds]
    spans = _span([x for cloud in clouds for x in cloud.x]), _span([y for cloud in clouds for y in cloud.y])
    drawings = [_scatter_drawing(plot, scatters, spans, f"{identity}-{at}") for at, plot in enumerate(scatters.plots)]
    pairs = zip(scatters.plots, drawings, strict=True)
    panels = [tag("div", tag("h4", plot.title), drawing, class_="plot panel") for plot, drawing in pairs]
    names = {cloud.kind: cloud.name for cloud in clouds if not cloud.faint}
    items = [tag("li", svg.swatch(kind, svg.mark(13, 7, kind, "cloud")), name) for kind, name in sorted(names.items())]
    legend = tag("ul", *items, class_="legend")
    return figure(scatters.title, scatters.note, legend, tag("div", *panels, class_="panels"))


def _scatter_drawing(
    plot: Scatter, scatters: Scatters, spans: tuple[tuple[float, float], tuple[float, float]], identity: str
) -> Markup:
    left, top, right, bottom = 24.0, 6.0, _SCATTER_SIDE - 6, _SCATTER_SIDE - 24
    x, y = Linear(*spans[0], left + 8, right - 8), Linear(*spans[1], bottom - 8, top + 8)
    content = [
        tag("path", class_="field", d=f"M{left:g},{top:g}H{right:g}V{bottom:g}H{left:g}z"),
        svg.words((left + right) / 2, _SCATTER_SIDE - 7, scatters.x_label, "axis-label", "middle"),
        svg.words(14, (top + bottom) / 2, scatters.y_label, "axis-label", "middle", turned=-90),
        *(_cloud(cloud, x, y) for cloud in sorted(plot.clouds, key=lambda cloud: not cloud.faint)),
    ]
    return svg.drawing(_SCATTER_SIDE, _SCATTER_SIDE, plot.title, plot.alt, identity, *content)


def _cloud(cloud: Cloud, x: Linear, y: Linear) -> Markup:
    shape = SHAPES[cloud.kind % len(SHAPES)]
    places = "".join(f"M{x(a):.1f},{y(b):.1f}{shape}" for a, b in zip(cloud.x, cloud.y, strict=True))
    faint = " faint" if cloud.faint else ""
    return tag("path", tag("title", cloud.name), class_=f"cloud{faint} {svg.colour(cloud.kind)}", d=places)


def _span(values: Sequence[float]) -> tuple[float, float]:
    return (min(values), max(values)) if values else (0.0, 1.0)


_CHORD_SIDE, _RADIUS, _THICK = 440.0, 118.0, 11.0
_GAP = 5.0  # degrees between neighbours at least, so that their names do not touch
_LONGEST = 16  # characters of a name


@dataclass(frozen=True)
class Band:
    """A stretch of the circle, in degrees clockwise from the top: what `owner` shares with `other`, or has alone."""

    owner: int
    other: int
    start: float
    stop: float


def chords_figure(chords: Chords, identity: str) -> Markup:
    """The diagrams beside each other, drawn to one scale."""
    degrees = scale_of(chords.diagrams)
    drawings = [_chord_drawing(each, chords, degrees, f"{identity}-{at}") for at, each in enumerate(chords.diagrams)]
    pairs = zip(chords.diagrams, drawings, strict=True)
    drawn = [tag("div", tag("h4", diagram.title), drawing, class_="plot") for diagram, drawing in pairs]
    return figure(chords.title, chords.note, tag("div", *drawn, class_="chords"))


def scale_of(diagrams: Sequence[Chord]) -> float:
    """Degrees per count, such that the fullest circle is full; 0 where nothing was counted.

    >>> scale_of([Chord("", [[0, 10], [10, 0]], [0, 0], ""), Chord("", [[0, 5], [5, 0]], [0, 0], "")])
    17.5
    """
    room = 360.0 - _GAP * max((len(diagram.counts) for diagram in diagrams), default=0)
    fullest = max((_total(diagram) for diagram in diagrams), default=0)
    return room / fullest if fullest else 0.0


def bands_of(diagram: Chord, degrees: float) -> list[Band]:
    """Where on the circle each pair begins and ends, seen from both sides, and what each has alone.

    >>> bands = bands_of(Chord("", [[0, 10], [10, 0]], [0, 0], ""), 17.0)
    >>> [(band.owner, band.other, band.start, band.stop) for band in bands]
    [(0, 1, 0.0, 170.0), (1, 0, 180.0, 350.0)]
    """
    k = len(diagram.counts)
    gap = (360.0 - degrees * _total(diagram)) / max(k, 1)
    bands, at = [], 0.0
    for owner in range(k):
        around = [(owner - step) % k for step in range(1, k)]  # neighbours on either side without crossing
        shares = [(other, diagram.counts[owner][other]) for other in around] + [(owner, diagram.alone[owner])]
        for other, count in shares:
            if count:
                bands.append(Band(owner, other, at, at + degrees * count))
                at += degrees * count
        at += gap
    return bands


def _chord_drawing(diagram: Chord, chords: Chords, degrees: float, identity: str) -> Markup:
    bands = bands_of(diagram, degrees)
    ends = {(band.owner, band.other): band for band in bands}
    ribbons = [
        _ribbon(band, ends[band.other, band.owner], diagram, chords)
        for band in sorted(bands, key=lambda band: band.start - band.stop)
        if band.owner < band.other
    ]
    arcs = [_arc(band, diagram, chords) for band in bands]
    names = [_name(owner, chords.names[owner], bands) for owner in range(len(chords.names))]
    if not bands:
        names = [svg.words(_CHORD_SIDE / 2, _CHORD_SIDE / 2, f"no {chords.unit}", "tick", "middle")]
    return svg.drawing(_CHORD_SIDE, _CHORD_SIDE, diagram.title, diagram.alt, identity, *ribbons, *arcs, *names)


def _ribbon(band: Band, back: Band, diagram: Chord, chords: Chords) -> Markup:
    inner = _RADIUS - _THICK
    count = diagram.counts[band.owner][band.other]
    middle = f"{_CHORD_SIDE / 2:g},{_CHORD_SIDE / 2:g}"
    path = (
        f"M{_at(band.start, inner)}{_along(band.start, band.stop, inner)}Q{middle} {_at(back.start, inner)}"
        f"{_along(back.start, back.stop, inner)}Q{middle} {_at(band.start, inner)}z"
    )
    says = f"{chords.names[band.owner]} and {chords.names[band.other]}: {integer(count)} {chords.unit}"
    return tag("path", tag("title", says), class_=f"chord {svg.colour(band.owner)}", d=path)


def _arc(band: Band, diagram: Chord, chords: Chords) -> Markup:
    inner = _RADIUS - _THICK + 2
    back = _along(band.stop, band.start, inner, backwards=True)
    path = f"M{_at(band.start, _RADIUS)}{_along(band.start, band.stop, _RADIUS)}L{_at(band.stop, inner)}{back}z"
    alone = band.owner == band.other
    with_what = "alone" if alone else f"with {chords.names[band.other]}"
    count = diagram.alone[band.owner] if alone else diagram.counts[band.owner][band.other]
    says = f"{chords.names[band.owner]} {with_what}: {integer(count)} {chords.unit}"
    lighter = " alone" if alone else ""
    return tag("path", tag("title", says), class_=f"arc{lighter} {svg.colour(band.owner)}", d=path)


def _name(owner: int, name: str, bands: Sequence[Band]) -> Markup:
    """The name along a ray from the middle of its arc, never upside down; nothing where it has no arc."""
    own = [band for band in bands if band.owner == owner]
    if not own:
        return Markup("")
    middle = (own[0].start + own[-1].stop) / 2
    left = middle % 360 > 180
    x, y = _place(middle, _RADIUS + 7)
    turned = middle + 90 if left else middle - 90
    cut = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return svg.words(x, y, cut, "bar-name", "end" if left else None, turned, dy=4)


def _total(diagram: Chord) -> int:
    pairs = sum(count for i, row in enumerate(diagram.counts) for j, count in enumerate(row) if i != j)
    return int(pairs + sum(diagram.alone))


def _place(degrees: float, radius: float) -> tuple[float, float]:
    angle = radians(degrees) - pi / 2
    return _CHORD_SIDE / 2 + radius * cos(angle), _CHORD_SIDE / 2 + radius * sin(angle)


def _at(degrees: float, radius: float) -> str:
    x, y = _place(degrees, radius)
    return f"{x:.1f},{y:.1f}"


def _along(start: float, stop: float, radius: float, *, backwards: bool = False) -> str:
    wide = int(abs(stop - start) > 180)
    return f"A{radius:g},{radius:g} 0 {wide},{int(not backwards)} {_at(stop, radius)}"
