"""Points in a plane as small multiples: kinds differ in shape as well as in colour."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting import svg
from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.parts import Cloud, Scatter, Scatters
from assay.tasks.reporting.scales import Linear

_SIDE = 272.0
_COLOURS = 8
_SHAPES = (
    "m-3,0a3,3 0 1,0 6,0a3,3 0 1,0-6,0z",
    "m-2.7,-2.7h5.4v5.4h-5.4z",
    "m0,-3.7l3.5,6.3h-7z",
    "m0,-3.9l3.9,3.9l-3.9,3.9l-3.9,-3.9z",
    "m0,3.7l3.5,-6.3h-7z",
    "m-1.1,-3.6h2.2v2.5h2.5v2.2h-2.5v2.5h-2.2v-2.5h-2.5v-2.2h2.5z",
    "m-3.4,-3.4l1.6,0l1.8,1.8l1.8,-1.8l1.6,0l0,1.6l-1.8,1.8l1.8,1.8l0,1.6l-1.6,0l-1.8,-1.8l-1.8,1.8l-1.6,0l0,-1.6"
    "l1.8,-1.8l-1.8,-1.8z",
)  # seven, so that with eight colours 56 kinds differ


def scatters_figure(scatters: Scatters, identity: str) -> Markup:
    """The scatters beside each other on the same axes, under one legend."""
    clouds = [cloud for plot in scatters.plots for cloud in plot.clouds]
    spans = _span([x for cloud in clouds for x in cloud.x]), _span([y for cloud in clouds for y in cloud.y])
    panels = [
        tag("div", tag("h4", plot.title), _drawing(plot, scatters, spans, f"{identity}-{at}"), class_="plot panel")
        for at, plot in enumerate(scatters.plots)
    ]
    note = tag("p", scatters.note, class_="note") if scatters.note else None
    caption = tag("figcaption", tag("h3", scatters.title), note)
    return tag("figure", caption, _legend(clouds), tag("div", *panels, class_="panels"))


def _drawing(
    plot: Scatter, scatters: Scatters, spans: tuple[tuple[float, float], tuple[float, float]], identity: str
) -> Markup:
    left, top, right, bottom = 24.0, 6.0, _SIDE - 6, _SIDE - 24
    x, y = Linear(*spans[0], left + 8, right - 8), Linear(*spans[1], bottom - 8, top + 8)
    box = f"M{left:g},{top:g}H{right:g}V{bottom:g}H{left:g}z"
    sideways = f"rotate(-90 14 {(top + bottom) / 2:g})"
    content = [
        tag("path", class_="field", d=box),
        svg.words((left + right) / 2, _SIDE - 7, scatters.x_label, "axis-label", "middle"),
        tag(
            "text",
            scatters.y_label,
            class_="axis-label",
            x="14",
            y=f"{(top + bottom) / 2:g}",
            text_anchor="middle",
            transform=sideways,
        ),
        *(_cloud(cloud, x, y) for cloud in sorted(plot.clouds, key=lambda cloud: not cloud.faint)),
    ]
    return svg.drawing(_SIDE, _SIDE, plot.title, plot.alt, identity, *content)


def _cloud(cloud: Cloud, x: Linear, y: Linear) -> Markup:
    shape = _SHAPES[cloud.kind % len(_SHAPES)]
    places = "".join(f"M{x(a):.1f},{y(b):.1f}{shape}" for a, b in zip(cloud.x, cloud.y, strict=True))
    faint = " faint" if cloud.faint else ""
    return tag("path", tag("title", cloud.name), class_=f"cloud{faint} {_colour(cloud.kind)}", d=places)


def _legend(clouds: Sequence[Cloud]) -> Markup:
    names = {cloud.kind: cloud.name for cloud in clouds if not cloud.faint}
    items = []
    for kind, name in sorted(names.items()):
        sample = tag("path", class_="cloud", d=f"M13,7{_SHAPES[kind % len(_SHAPES)]}")
        box = {"viewBox": "0 0 26 14"}
        swatch = tag("svg", sample, class_=f"swatch {_colour(kind)}", attributes=box, aria_hidden="true")
        items.append(tag("li", swatch, name))
    return tag("ul", *items, class_="legend")


def _colour(kind: int) -> str:
    return f"s{kind % _COLOURS + 1}"


def _span(values: Sequence[float]) -> tuple[float, float]:
    return (min(values), max(values)) if values else (0.0, 1.0)
