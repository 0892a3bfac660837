"""The page over all nights: per pipeline the trend of its headline findings, and every run with its status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

from toolz import unique

from assay.infra.errors import first_named
from assay.infra.storage.artifacts import by_date
from assay.tasks.reporting import numerals, svg
from assay.tasks.reporting.head import Head, head_markup
from assay.tasks.reporting.layout import anchors, badge, contents, document, safe_link, status_tone
from assay.tasks.reporting.markup import Markup, join, tag, text
from assay.tasks.reporting.parts import Part, Verdict
from assay.tasks.reporting.report import MISSED, Headline, RunEntry
from assay.tasks.reporting.svg import Linear, nice_range
from assay.tasks.reporting.tables import scroller


def trend(place: str, index: int, title: str, runs: Sequence[RunEntry]) -> Markup:
    """One finding over the nights: its latest value large, a sparkline with its intervals, first and last night."""
    points = [
        (position, headline)
        for position, run in enumerate(runs)
        for headline in run.headlines
        if headline.name == title
    ]
    latest = points[-1][1]
    interval = numerals.interval(latest.low, latest.high, latest.scale)
    count = f" n = {numerals.integer(latest.n)}" if latest.n is not None else ""
    number = tag("div", _written(latest), " ", tag("small", f"{interval}{count}".strip()), class_="latest")
    together = None
    if latest.so_far is not None:
        mean, low, high = latest.so_far
        interval = numerals.interval(low, high, latest.scale)
        together = tag("div", f"all nights so far {numerals.scaled(mean, latest.scale)} {interval}", class_="note")
    drawn = _sparkline(f"{place}-{index}", title, points, runs)
    return tag("div", tag("h3", title), number, together, drawn, class_="trend")


def _sparkline(identity: str, title: str, points: Sequence[tuple[int, Headline]], runs: Sequence[RunEntry]) -> Markup:
    width, height = 260.0, 74.0
    low, high = nice_range([value for _, headline in points for value in (headline.value, headline.low, headline.high)])
    x, y = Linear(0, max(len(runs) - 1, 1), 5, width - 5), Linear(low, high, height - 20, 6)
    nights = [float(at) for at in range(len(runs))]  # a night without the number is a gap in the line
    lines = []
    for edges in (
        {at: (headline.low, headline.high) for at, headline in points},
        {at: headline.so_far[1:] for at, headline in points if headline.so_far},
    ):
        lows, highs = zip(*(edges.get(at, (None, None)) for at in range(len(runs))), strict=True)
        stretches = [run for run in svg.runs(nights, lows, highs) if len(run) > 1]
        lines += [svg.band([(x(at), y(lower), y(upper)) for at, lower, upper in run]) for run in stretches]
    known = dict(points)
    for run in svg.runs(nights, [known[at].value if at in known else None for at in range(len(runs))]):
        places = [(x(at), y(value)) for at, value in run]
        lines.append(svg.polyline(places, "line") if len(places) > 1 else svg.mark(*places[0], 0))
    lines.append(svg.mark(x(points[-1][0]), y(points[-1][1].value), 0))
    lines += [
        svg.target(x(at), y(headline.value), f"{runs[at].named}: {_written(headline)}") for at, headline in points
    ]
    ends = svg.words(0, height - 3, runs[points[0][0]].started[:10], "tick")
    if len(points) > 1:
        ends = join([ends, svg.words(width, height - 3, runs[points[-1][0]].started[:10], "tick", "end")])
    base = svg.stroke("base", 0, height - 17, width, height - 17)
    states = [mark for at, entry in enumerate(runs) for mark in _marks(x(at), height - 17, entry)]
    listed = "; ".join(f"{runs[at].run} {_written(headline)}" for at, headline in points[-14:])
    alt = f"{title} over {numerals.plural(len(points), 'run')}, oldest first: {listed}."
    line = tag("g", *lines, class_="s1")
    return tag("div", svg.drawing(width, height, title, alt, identity, base, *states, line, ends), class_="spark")


def _marks(x: float, base: float, entry: RunEntry) -> Iterator[Markup]:
    """A dotted line through a night that is a baseline, a triangle over one in which a gate found a change; on the base
    line a cross under one that did not end well, a ring where none came."""
    if entry.accepted:
        yield tag("g", tag("title", f"Baseline: {entry.accepted}"), svg.stroke("baseline", x, 1, x, base))
    if entry.judged:
        yield tag("g", tag("title", f"{entry.named}: {' '.join(entry.judged)}"), svg.mark(x, 4, 4, "judged"))
    if status_tone(entry.status) != "good":
        cross = tag("path", d=f"M{x - 3:.1f} {base - 3:.1f}l6 6m0-6l-6 6", class_="crossed")
        shape = svg.mark(x, base, 0, "ring") if entry.status == MISSED else cross
        yield tag("g", tag("title", f"{entry.named}: {entry.status}"), shape)


def _written(headline: Headline) -> str:
    return numerals.scaled(headline.value, headline.scale)


_CHANGES, _TRENDS, _RUNS, _STRIP, _FLAGS = 10, 9, 90, 14, 3
_KEY = (
    "A filled square is a run that ended well; a cross, here and under the trends, one that did not; a dashed square, "
    "and a ring under the trends, a night that was due and did not come. "
    "In the trends the paler band is of each night alone; the darker one, where samples are new every night, is of all "
    "nights of the same models and settings so far, and holds on all of them at once. "
    "A dotted line is a baseline that somebody accepted, a triangle a change that a gate found."
)
_NO_NOTES: Mapping[str, Sequence[str]] = MappingProxyType({})


def render_index(entries: Iterable[RunEntry], notes: Mapping[str, Sequence[str]] = _NO_NOTES, budget: str = "") -> str:
    """The index as one self-contained HTML page, newest runs first; entries may come in any order.

    `notes` stand above the runs of a pipeline, each a sentence; the `budget` of false alarms above all.
    """
    ordered = sorted(entries, key=lambda entry: by_date(entry.started, entry.run))
    names = sorted({entry.pipeline for entry in ordered})
    groups = [(name, [entry for entry in ordered if entry.pipeline == name]) for name in names]
    places = anchors([Part(name, "") for name in names])
    sections = [
        _pipeline(place, name, runs, notes.get(name, ())) for place, (name, runs) in zip(places, groups, strict=True)
    ]
    missed = sum(entry.status == MISSED for entry in ordered)
    summary = f"{numerals.plural(len(ordered) - missed, 'run')} of {numerals.plural(len(names), 'pipeline')}"
    summary += f", {numerals.plural(missed, 'night')} missed" if missed else ""
    empty = tag("p", "No run has been reported yet.", class_="lead")
    states = [status_tone(_nights(runs)[-1].status) for _, runs in groups]
    nav = contents(zip(places, names, states, strict=True), "Pipelines")
    title = tag("p", "Assay · robustness audits", class_="kicker"), tag("h1", "All nights")
    facts = tag("dl", tag("div", tag("dt", "In this store"), tag("dd", summary)), class_="facts")
    state = head_markup(_last_nights(groups)) if ordered else empty
    spent = tag("p", budget, class_="note") if budget else None
    head = tag("header", *title, facts, state, spent)
    bad_first = sorted(zip(states, places, groups, strict=True), key=lambda group: group[0] == "good")
    rows = [_state(place, name, runs) for _, place, (name, runs) in bad_first]
    glance = [tag("ul", *rows, class_="states"), tag("p", _KEY, class_="note")] if ordered else []
    page = tag("div", nav, tag("main", head, *glance, *sections, id="report"), class_="page")
    skip = tag("a", "Skip to the runs", href="#report", class_="skip")
    return document("All nights · Assay", join([skip, page, tag("footer", "Assay. One line per run, newest first.")]))


def _last_nights(groups: Sequence[tuple[str, Sequence[RunEntry]]]) -> Head:
    """The state of all pipelines in a line, and what changed in the last night of each, worst first."""
    last = {name: _nights(runs)[-1] for name, runs in groups}
    bad = [name for name, entry in last.items() if status_tone(entry.status) != "good"]
    moved = [(change.gain, f"{name} · {change.text}") for name, entry in last.items() for change in entry.changes]
    lines = [Verdict(line, "bad" if gain < 0 else "good") for gain, line in sorted(moved)]
    worse, rest = sum(line.tone == "bad" for line in lines), len(lines) - _CHANGES
    ended = f"{len(bad)} of {len(last)} last nights did not end well: {', '.join(bad)}" if bad else "All ended well"
    changed = (
        f"{numerals.plural(worse, 'number') if worse else 'nothing'} got worse since the baseline or the night before"
    )
    more = [Verdict(f"{numerals.plural(rest, 'more change')}, on the runs' own pages")] if rest > 0 else []
    return Head(Verdict(f"{ended} · {changed}", "bad" if bad or worse else "good"), [*lines[:_CHANGES], *more])


def _nights(runs: Sequence[RunEntry]) -> Sequence[RunEntry]:
    """The runs that are followed: those of all samples, as long as there is one."""
    return [entry for entry in runs if not entry.sample] or runs


def _state(place: str, name: str, every: Sequence[RunEntry]) -> Markup:
    runs = _nights(every)
    latest = runs[-1]
    verdict = tag("p", numerals.unbroken(latest.verdict), class_="said") if latest.verdict else None
    return tag(
        "li",
        tag("div", tag("a", name, href=f"#{place}"), badge(status_tone(latest.status), latest.status), class_="who"),
        tag("div", verdict, _flags(latest), class_="what"),
        tag("div", _strip(runs), tag("span", numerals.moment(latest.started), class_="when"), class_="nights"),
    )


def _flags(entry: RunEntry) -> Markup | None:
    """The red flags that a run raised, by name."""
    if not entry.flags:
        return None
    sentence = f"{numerals.plural(len(entry.flags), 'red flag')}: {first_named(entry.flags, _FLAGS)}"
    return tag("p", tag("span", "⚑ ", aria_hidden="true"), sentence, class_="flags")


def _strip(runs: Sequence[RunEntry]) -> Markup:
    """The last nights as one row of squares, newest last; filled where all is well, crossed where not."""
    shown = runs[-_STRIP:]
    squares = [
        tag(
            "span",
            class_=f"night {MISSED if entry.status == MISSED else status_tone(entry.status)}",
            title=f"{entry.named}: {entry.status}",
        )
        for entry in shown
    ]
    states = "; ".join(f"{entry.named} {entry.status}" for entry in shown[-7:])
    label = f"The last {numerals.plural(len(shown), 'night')}, oldest first: {states}"
    return tag("span", *squares, class_="strip-of-nights", role="img", aria_label=label)


def _pipeline(place: str, name: str, runs: Sequence[RunEntry], notes: Sequence[str]) -> Markup:
    followed = [entry for entry in runs if not entry.sample]
    trends = [trend(place, index, title, followed) for index, title in enumerate(_drawn(followed))]
    first, more = trends[:_TRENDS], trends[_TRENDS:]
    summary = tag("summary", numerals.plural(len(more), "more trend"))
    folded = tag("details", summary, tag("div", *more, class_="trends")) if more else None
    newest = list(reversed(runs))
    shown, older = newest[:_RUNS], len(newest) - _RUNS
    note = tag("p", f"{numerals.plural(older, 'older run')} not listed here.", class_="note") if older > 0 else None
    heading = tag("div", tag("h2", name, id=f"{place}-h"), class_="section-head")
    above = [tag("p", numerals.unbroken(line), class_="note") for line in notes]
    drawn = tag("div", *first, class_="trends") if first else None
    table = scroller(f"Runs of {name}", _runs(name, shown))
    pieces = [heading, *above, drawn, folded, table, note]
    return tag("section", *pieces, id=place, class_="pipeline", aria_labelledby=f"{place}-h")


def _drawn(runs: Sequence[RunEntry]) -> list[str]:
    """The names whose trends are drawn: those of the newest run first, and none that this keeps as a spare."""
    newest = unique((headline for entry in reversed(runs) for headline in entry.headlines), key=attrgetter("name"))
    return [headline.name for headline in newest if not headline.spare]


def _runs(name: str, runs: Sequence[RunEntry]) -> Markup:
    names = ("Run", "Started", "Took", "Status", "Verdict")
    heads = tag("tr", *(tag("th", head, scope="col", class_="num" if head == "Took" else "") for head in names))
    body = tag("tbody", *map(_run, runs))
    return tag("table", tag("caption", f"Runs of {name}"), tag("thead", heads), body, class_="runs")


def _run(entry: RunEntry) -> Markup:
    of_sample = tag("p", f"Of {entry.sample}; in no trend.", class_="note") if entry.sample else None
    signed = tag("p", f"This run is {entry.signed}.", class_="note") if entry.signed else None
    name = tag("a", entry.run, href=entry.link) if safe_link(entry.link) else text(entry.run or "no run")
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", numerals.moment(entry.started)),
        tag("td", numerals.duration(entry.seconds if entry.run else None), class_="num"),
        tag("td", badge(status_tone(entry.status), entry.status)),
        tag("td", of_sample, numerals.unbroken(entry.verdict), _flags(entry), signed),
    )
