"""The trend of one number over the nights of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting import numerals, svg
from assay.tasks.reporting.following import Headline
from assay.tasks.reporting.layout import status_tone
from assay.tasks.reporting.markup import Markup, join, tag
from assay.tasks.reporting.run_entry import MISSED, RunEntry
from assay.tasks.reporting.scales import Linear, nice_range


def trend(place: str, index: int, title: str, runs: Sequence[RunEntry]) -> Markup:
    """One finding over the nights: its latest value large, a sparkline with its intervals, first and last night."""
    points = [(position, one) for position, run in enumerate(runs) for one in run.headlines if one.name == title]
    latest = points[-1][1]
    interval = numerals.interval(latest.low, latest.high, latest.scale)
    count = f" n = {numerals.integer(latest.n)}" if latest.n is not None else ""
    number = tag("div", _written(latest), " ", tag("small", f"{interval}{count}".strip()), class_="latest")
    return tag("div", tag("h3", title), number, _sparkline(f"{place}-{index}", title, points, runs), class_="trend")


def _sparkline(identity: str, title: str, points: Sequence[tuple[int, Headline]], runs: Sequence[RunEntry]) -> Markup:
    width, height = 260.0, 74.0
    low, high = nice_range([value for _, one in points for value in (one.value, one.low, one.high)])
    x, y = Linear(0, max(len(runs) - 1, 1), 5, width - 5), Linear(low, high, height - 20, 6)
    nights = [float(at) for at in range(len(runs))]  # a night without the number is a gap in the line
    values, lows, highs = (
        [known.get(at) for at in range(len(runs))]
        for known in (
            {at: one.value for at, one in points},
            {at: one.low for at, one in points},
            {at: one.high for at, one in points},
        )
    )
    stretches = [run for run in svg.runs(nights, lows, highs) if len(run) > 1]
    lines = [svg.band([(x(at), y(lower), y(upper)) for at, lower, upper in run]) for run in stretches]
    for run in svg.runs(nights, values):
        places = [(x(at), y(value)) for at, value in run]
        lines.append(svg.polyline(places, "line") if len(places) > 1 else svg.mark(*places[0], 0))
    lines.append(svg.mark(x(points[-1][0]), y(points[-1][1].value), 0))
    lines += [svg.target(x(at), y(one.value), f"{runs[at].named}: {_written(one)}") for at, one in points]
    ends = svg.words(0, height - 3, _day(runs[points[0][0]].started), "tick")
    if len(points) > 1:
        ends = join([ends, svg.words(width, height - 3, _day(runs[points[-1][0]].started), "tick", "end")])
    base = svg.stroke("base", 0, height - 17, width, height - 17)
    states = [_marks(x(at), height - 17, entry) for at, entry in enumerate(runs)]
    listed = "; ".join(f"{runs[at].run} {_written(one)}" for at, one in points[-14:])
    alt = f"{title} over {numerals.plural(len(points), 'run')}, oldest first: {listed}."
    return tag(
        "div",
        svg.drawing(width, height, title, alt, identity, base, *states, tag("g", *lines, class_="s1"), ends),
        class_="spark",
    )


def _marks(x: float, base: float, entry: RunEntry) -> Markup:
    """A dotted line through a night that is a baseline, a triangle over one in which a gate found a change; on the base
    line a cross under one that did not end well, a ring where none came."""
    marks = []
    if entry.accepted:
        line = svg.stroke("baseline", x, 1, x, base)
        marks += [tag("g", tag("title", f"Baseline: {entry.accepted}"), line)]
    if entry.judged:
        triangle = svg.mark(x, 4, 4, "judged")
        marks += [tag("g", tag("title", f"{entry.named}: {' '.join(entry.judged)}"), triangle)]
    if status_tone(entry.status) != "good":
        cross = tag("path", d=f"M{x - 3:.1f} {base - 3:.1f}l6 6m0-6l-6 6", class_="crossed")
        shape = svg.mark(x, base, 0, "ring") if entry.status == MISSED else cross
        marks += [tag("g", tag("title", f"{entry.named}: {entry.status}"), shape)]
    return join(marks)


def _written(headline: Headline) -> str:
    return numerals.scaled(headline.value, headline.scale)


def _day(started: str) -> str:
    return started[:10]
