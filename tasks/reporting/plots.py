"""Line plots and bar plots as figures: a drawing for wide pages, one for phones, and the numbers as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.tasks.reporting import numerals, svg
from assay.tasks.reporting.markup import Markup, figure, rows_markup, tag
from assay.tasks.reporting.numerals import measured
from assay.tasks.reporting.parts import BarPlot, LinePlot, Panels, Scale, Series
from assay.tasks.reporting.svg import Linear, nice_range, nice_ticks, spread_apart, whole_ticks

Lines = list[Sequence[str]]
"""The numbers behind a plot: the heads of its columns, and a row per place."""


def line_numbers(plot: LinePlot) -> Lines:
    """One row per place, one column per line; marks that were set aside at a place share the name, and the row, of
    it."""
    named: Mapping[float, float | str] = plot.x_names or {}
    written = [
        {named.get(x, x): _written(y, low, high, plot.scale) for x, y, low, high in points_of(series)}
        for series in plot.series
    ]
    places = {named.get(x, x): name_of_place(plot, x) for x in sorted({x for each in plot.series for x in each.x})}
    rows = [[name, *(line.get(place, numerals.NONE) for line in written)] for place, name in places.items()]
    return [(plot.x_label or "x", *(series.name for series in plot.series)), *rows]


def points_of(series: Series) -> Iterable[tuple[float, float | None, float | None, float | None]]:
    """Each point of a line: its place, its value, and the ends of its interval."""
    empty: Sequence[float | None] = [None] * len(series.x)
    return zip(series.x, series.y, series.low or empty, series.high or empty, strict=True)


def bars(plot: BarPlot) -> Iterable[tuple[str, float | None, float | None, float | None]]:
    """Each bar: its name, its value, and the ends of its interval."""
    empty: Sequence[float | None] = [None] * len(plot.names)
    return zip(plot.names, plot.values, plot.low or empty, plot.high or empty, strict=True)


def folded_numbers(caption: str, *tables: Lines) -> Markup:
    """Numbers that are closed until a reader opens them."""
    return tag("details", tag("summary", "Numbers: ", caption), *map(rows_markup, tables), class_="data")


def _written(value: float | None, low: float | None, high: float | None, scale: Scale) -> str:
    return f"{numerals.scaled(value, scale)} {numerals.interval(low, high, scale)}".strip()


def name_of_place(plot: LinePlot, x: float) -> str:
    """What a place on the x axis is called where numbers are read off, whether its tick has room for the name or not.

    >>> plot = LinePlot("t", [], "x", "y", "alt", x_ticks={0.1: "0.1"}, x_names={4 / 255: "4/255"})
    >>> [name_of_place(plot, x) for x in (4 / 255, 0.1, 0.25)]
    ['4/255', '0.1', '0.25']
    """
    return {**(plot.x_ticks or {}), **(plot.x_names or {})}.get(x, f"{x:g}")


@dataclass(frozen=True)
class Size:
    """How large a plot is drawn, and what there is room for."""

    width: float
    height: float
    x_ticks: int
    labels: bool


_POINTED = 400  # points of a line that a pointer can tell apart
WIDE, NARROW, PANEL = Size(760, 350, 12, True), Size(372, 300, 6, False), Size(272, 208, 6, False)


def line_figure(plot: LinePlot, identity: str) -> Markup:
    """The plot with its title, a legend where the lines carry no names, and the numbers behind it."""
    named = Markup("") if _labels_fit(plot.series) else tag("div", legend(plot.series), class_="wide")
    wide = tag("div", line_drawing(plot, WIDE, f"{identity}-w"), class_="plot wide")
    narrow = tag("div", legend(plot.series), line_drawing(plot, NARROW, f"{identity}-n"), class_="plot narrow")
    return figure(plot.title, plot.note, named, wide, narrow, folded_numbers(plot.title, line_numbers(plot)))


def panels_figure(panels: Panels, identity: str) -> Markup:
    """Small multiples on common axes, with one legend."""
    shared = _y_range([series for plot in panels.plots for series in plot.series], panels.plots[0].scale)
    cells: list[Markup] = []
    for index, plot in enumerate(panels.plots):
        small = line_drawing(plot, PANEL, f"{identity}-{index}", plot.y_range or shared)
        cells.append(tag("div", tag("h4", plot.title), small, class_="plot panel"))
    names = {series.name for plot in panels.plots for series in plot.series}
    key = legend(panels.plots[0].series) if len(names) > 1 else Markup("")
    numbers_of = [(plot.title, line_numbers(plot)) for plot in panels.plots]
    tables = [[(f"{title}: {head[0]}", *head[1:]), *rows] for title, (head, *rows) in numbers_of]
    numbers = folded_numbers(panels.title, *tables)
    return figure(panels.title, panels.note, key, tag("div", *cells, class_="panels"), numbers)


def bar_figure(plot: BarPlot, identity: str) -> Markup:
    """Horizontal bars with their values and whiskers, for wide pages and for phones."""
    numbers = ((name, _written(value, low, high, plot.scale)) for name, value, low, high in bars(plot))
    wide = tag("div", bar_drawing(plot, WIDE, f"{identity}-w"), class_="plot wide")
    narrow = tag("div", bar_drawing(plot, NARROW, f"{identity}-n"), class_="plot narrow")
    folded = folded_numbers(plot.title, [("name", plot.x_label), *numbers])
    return figure(plot.title, plot.note, wide, narrow, folded)


def line_drawing(plot: LinePlot, size: Size, identity: str, y_range: tuple[float, float] | None = None) -> Markup:
    """The lines of a plot, with their bands, names and tooltips."""
    low, high = plot.y_range or y_range or _y_range(plot.series, plot.scale)
    y_names = {tick: _tick_name(tick, plot.scale) for tick in nice_ticks(low, high, 5 if size.height > 250 else 4)}
    named = size.labels and _labels_fit(plot.series)
    left = 14 + max((svg.text_width(name) for name in y_names.values()), default=0)
    right = 22 + max(svg.text_width(series.name) for series in plot.series) if named else 16
    places = [place for series in plot.series for place in series.x]
    start, stop = (min(places), max(places)) if places else (0.0, 1.0)
    margin = 10 if len(plot.series) > 1 else 6
    across = Linear(start, stop, left + margin, size.width - right - margin)
    frame = svg.Frame(size.width, size.height, across, Linear(low, high, size.height - 46, 26))
    ticks = thinned(plot.x_ticks or {tick: f"{tick:g}" for tick in whole_ticks(places, 12)}, size.x_ticks)
    content = [*frame.axes(ticks, y_names, plot.x_label, plot.y_label)]
    order = list(enumerate(plot.series))
    content += [_spread(series, index, frame) for index, series in order]
    content += [_line(series, index, frame) for index, series in reversed(order)]
    content += [name for series in plot.series for name in _point_names(series, frame)]
    content += _names(plot.series, frame) if named else ()
    pointed = [series for series in plot.series if size is not NARROW and len(series.x) <= _POINTED]
    content += [target for series in pointed for target in _targets(series, frame, plot)]
    return svg.drawing(size.width, size.height, plot.title, plot.alt, identity, *content)


def bar_drawing(plot: BarPlot, size: Size, identity: str) -> Markup:
    """The bars of a plot, top to bottom in the order given."""
    values = [*plot.values, *(plot.low or ()), *(plot.high or ()), 0.0]
    low, high = nice_range(values, None, 1.0 if plot.scale == "percent" else None)
    room = 30 if size.labels else 17
    left = 12 + svg.text_width("m" * min(max((len(name) for name in plot.names), default=0), room)) * 0.92
    row, top = 24, 8
    height = top + row * len(plot.names) + 46
    frame = svg.Frame(size.width, height, Linear(low, high, left, size.width - 62), Linear(0, 1, height - 46, top))
    ticks = nice_ticks(low, high, 5 if size.labels else 3)
    content = [svg.stroke("grid", frame.x(tick), top, frame.x(tick), height - 46) for tick in ticks]
    content += [svg.words(frame.x(t), height - 28, _tick_name(t, plot.scale), "tick", "middle") for t in ticks]
    content.append(svg.words((left + size.width - 62) / 2, height - 6, plot.x_label, "axis-label", "middle"))
    content.append(svg.stroke("base", frame.x(0), top, frame.x(0), height - 46))
    for index, (name, value, below, above) in enumerate(bars(plot)):
        y = top + row * index + row / 2
        shown = name if len(name) <= room else f"{name[: room - 1]}…"
        content.append(svg.words(left - 8, y + 4, shown, "bar-name", "end"))
        content += _bar(frame, y, value, below, above, plot.scale, name)
    return svg.drawing(size.width, height, plot.title, plot.alt, identity, *content)


def _bar(
    frame: svg.Frame, y: float, value: float | None, low: float | None, high: float | None, scale: Scale, name: str
) -> Iterator[Markup]:
    if value is None or not measured(value):
        yield svg.words(frame.x(0) + 6, y + 4, "not measured", "tick")
        return
    zero, end = sorted((frame.x(0), frame.x(value)))
    says = tag("title", f"{name}: {_written(value, low, high, scale)}")
    left, wide = f"{zero:.1f}", f"{end - zero:.1f}"
    yield tag("rect", says, class_="bar s1", x=left, y=f"{y - 7:.1f}", width=wide, height=14)
    if measured(low) and measured(high):
        start, stop = frame.x(low), frame.x(high)
        whisker = f"M{start:.1f},{y - 4:.1f}v8M{start:.1f},{y:.1f}H{stop:.1f}M{stop:.1f},{y - 4:.1f}v8"
        yield tag("path", class_="bar-whisker", d=whisker)
        end = max(end, stop)
    yield svg.words(end + 6, y + 4, numerals.scaled(value, scale), "bar-value")


def _spread(series: Series, index: int, frame: svg.Frame) -> Markup:
    if series.low is None or series.high is None:
        return Markup("")
    pieces = []
    for run in svg.runs(series.x, series.low, series.high):
        places = [(frame.x(x), frame.y(low), frame.y(high)) for x, low, high in run]
        if series.style in ("points", "interval") or len(places) == 1:
            pieces.append(svg.whiskers(places))
        else:
            pieces.append(svg.band(svg.held(places) if series.style == "steps" else places))
    return tag("g", *pieces, class_=svg.colour(index))


def _line(series: Series, index: int, frame: svg.Frame) -> Markup:
    pieces = []
    for run in svg.runs(series.x, series.y):
        places = [(frame.x(x), frame.y(y)) for x, y in run]
        if len(places) > 1 and series.style in ("line", "dashed", "steps"):
            corners = svg.held(places) if series.style == "steps" else places
            pieces.append(svg.polyline(corners, "dashed" if series.style == "dashed" else "line"))
        if series.style in ("line", "points") and len(series.x) <= 40:
            pieces += [svg.mark(x, y, index) for x, y in places]
    return tag("g", *pieces, class_=svg.colour(index))


def _targets(series: Series, frame: svg.Frame, plot: LinePlot) -> Iterator[Markup]:
    for (x, y, low, high), name in zip(points_of(series), series.names or [""] * len(series.x), strict=True):
        if measured(y):
            where = ", ".join(piece for piece in (name, name_of_place(plot, x)) if piece)
            says = f"{series.name}, {where}: {_written(y, low, high, plot.scale)}"
            yield svg.target(frame.x(x), frame.y(y), says)


def _names(series: Sequence[Series], frame: svg.Frame) -> Iterator[Markup]:
    ends = [(index, *last) for index, line in enumerate(series) if (last := _last(line)) is not None]
    places = spread_apart([frame.y(y) for _, _, y in ends], 17, frame.y.stop, frame.y.start)
    for (index, x, y), place in zip(ends, places, strict=True):
        colour, beside = svg.colour(index), frame.x.stop
        if abs(place - frame.y(y)) > 5:
            yield svg.stroke(f"leader {colour}", frame.x(x) + 6, frame.y(y), beside + 16, place)
        yield svg.words(beside + 20, place + 4, series[index].name, f"name {colour}")


def _point_names(series: Series, frame: svg.Frame) -> Iterator[Markup]:
    """Beside each point what it is called, left of those at the right edge."""
    for x, y, name in zip(series.x, series.y, series.names or [""] * len(series.x), strict=True):
        if name and measured(y):
            over = frame.x(x) + 8 + svg.text_width(name) > frame.x.stop + 8
            at, anchor = (frame.x(x) - 8, "end") if over else (frame.x(x) + 8, None)
            yield svg.words(at, frame.y(y) - 6, name, "tick", anchor)


def _last(series: Series) -> tuple[float, float] | None:
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if measured(y)]
    return max(known) if known else None


def legend(series: Sequence[Series]) -> Markup:
    """The names of the lines with a sample of each, for where the lines cannot carry their names."""
    if len(series) < 2:
        return Markup("")
    items = []
    for index, line in enumerate(series):
        style = "dashed" if line.style == "dashed" else "line"
        pieces = [svg.whiskers([(13, 13, 1)])] if line.style == "interval" else []
        pieces += [svg.stroke(style, 1, 7, 25, 7)] if line.style in ("line", "dashed", "steps") else []
        pieces += [svg.mark(13, 7, index)] if line.style in ("line", "points") else []
        items.append(tag("li", svg.swatch(index, *pieces), line.name))
    return tag("ul", *items, class_="legend")


def thinned(ticks: Mapping[float, str], most: int) -> Mapping[float, str]:
    """At most about `most` of the ticks, evenly spaced, the last one among them where that is possible.

    >>> list(thinned({float(i): f"D{i}" for i in range(1, 11)}, 6).values())
    ['D1', 'D4', 'D7', 'D10']
    """
    count = len(ticks)
    stride = max(1, -(-count // most))
    while stride > 1 and (count - 1) % stride and stride < -(-count // most) + 2:
        stride += 1
    return dict(list(ticks.items())[::stride])


def _labels_fit(series: Sequence[Series]) -> bool:
    return 1 < len(series) <= 6 and all(len(line.name) <= 24 for line in series)


def _y_range(series: Sequence[Series], scale: Scale) -> tuple[float, float]:
    values = [value for line in series for column in (line.y, line.low or (), line.high or ()) for value in column]
    return nice_range(values, 0.0, 1.0) if scale == "percent" else nice_range(values)


def _tick_name(value: float, scale: Scale) -> str:
    shown = f"{100 * value if scale == 'percent' else value:,.10g}".replace("-", numerals.MINUS)
    return shown.replace(",", numerals.THIN) + (f"{numerals.THIN}%" if scale == "percent" else "")
