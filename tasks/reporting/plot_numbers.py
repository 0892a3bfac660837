"""The numbers behind a plot, as a table that can be opened below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.tasks.reporting import numerals
from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.parts import BarPlot, LinePlot, Scale, Series


def line_grid(plot: LinePlot) -> Markup:
    """The numbers behind a line plot: one row per place, one column per line."""
    xs = sorted({x for series in plot.series for x in series.x})
    heads = [tag("th", name, scope="col") for name in (plot.x_label or "x", *(series.name for series in plot.series))]
    rows = []
    for x in xs:
        cells = [tag("th", name_of_place(plot, x), scope="row")]
        cells += [tag("td", _cell(series, x, plot.scale)) for series in plot.series]
        rows.append(tag("tr", *cells))
    return _grid(heads, rows)


def bar_grid(plot: BarPlot) -> Markup:
    """The numbers behind a bar plot."""
    heads = [tag("th", name, scope="col") for name in ("name", plot.x_label, "interval")]
    rows = []
    for name, value, low, high in bars(plot):
        cells = [numerals.scaled(value, plot.scale), numerals.interval(low, high, plot.scale)]
        rows.append(tag("tr", tag("th", name, scope="row"), *(tag("td", cell) for cell in cells)))
    return _grid(heads, rows)


def bars(plot: BarPlot) -> Iterable[tuple[str, float | None, float | None, float | None]]:
    """Each bar: its name, its value, and the ends of its interval."""
    empty: Sequence[float | None] = [None] * len(plot.names)
    return zip(plot.names, plot.values, plot.low or empty, plot.high or empty, strict=True)


def _grid(heads: Sequence[Markup], rows: Sequence[Markup]) -> Markup:
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="numbers")


def folded_numbers(caption: str, content: Markup) -> Markup:
    """A table of numbers that is closed until a reader opens it."""
    scroller = tag("div", content, class_="scroll", role="region", tabindex=0, aria_label=f"Numbers: {caption}")
    return tag("details", tag("summary", "Numbers: ", caption), scroller, class_="data")


def _cell(series: Series, x: float, scale: Scale) -> str:
    nothing: Sequence[float | None] = [None] * len(series.x)
    for place, y, low, high in zip(series.x, series.y, series.low or nothing, series.high or nothing, strict=True):
        if place == x:
            return f"{numerals.scaled(y, scale)} {numerals.interval(low, high, scale)}".strip()
    return numerals.NONE


def name_of_place(plot: LinePlot, x: float) -> str:
    """What a place on the x axis is called where numbers are read off, whether its tick has room for the name or not.

    >>> plot = LinePlot("t", [], "x", "y", "alt", x_ticks={0.1: "0.1"}, x_names={4 / 255: "4/255"})
    >>> [name_of_place(plot, x) for x in (4 / 255, 0.1, 0.25)]
    ['4/255', '0.1', '0.25']
    """
    return {**(plot.x_ticks or {}), **(plot.x_names or {})}.get(x, f"{x:g}")
