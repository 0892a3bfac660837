"""The page over all nights: per pipeline the trend of its headline findings, and every run with its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from assay.infra.settings import Settings
from assay.tasks.reporting import numerals, svg
from assay.tasks.reporting.following import Headline
from assay.tasks.reporting.layout import anchors, badge, document, safe_link, status_tone
from assay.tasks.reporting.markup import Markup, join, tag, text
from assay.tasks.reporting.parts import Part
from assay.tasks.reporting.report import Report
from assay.tasks.reporting.scales import Linear, nice_range
from assay.tasks.reporting.tables import scroller

_TRENDS, _RUNS = 9, 90
_NO_NOTES: Mapping[str, Sequence[str]] = MappingProxyType({})


class RunEntry(Settings):
    """What the index knows of one run; it lies as JSON beside the run's report."""

    run: str
    """The run's name."""

    pipeline: str
    """The pipeline it ran."""

    started: str
    """When it started, as an ISO time."""

    seconds: float
    """How long it took."""

    status: str
    """How it ended."""

    link: str
    """Where its report is, relative to the index; empty where there is none."""

    verdict: str = ""
    """Its first line of verdict; of a run that did not get so far, what ended it."""

    headlines: tuple[Headline, ...] = ()
    """Its numbers that are followed over the nights."""


def entry_of(report: Report, link: str) -> RunEntry:
    """The line that a report adds to the index."""
    return RunEntry(
        run=report.run, pipeline=report.pipeline, started=report.started, seconds=report.seconds,
        status=report.status, link=link, verdict=report.verdicts[0].text if report.verdicts else "",
        headlines=tuple(report.followed),
    )  # fmt: skip


def render_index(entries: Iterable[RunEntry], notes: Mapping[str, Sequence[str]] = _NO_NOTES, budget: str = "") -> str:
    """The index as one self-contained HTML page, newest runs first; entries may come in any order.

    `notes` stand above the runs of a pipeline, each a sentence; the `budget` of false alarms above all.
    """
    ordered = sorted(entries, key=lambda entry: (entry.started, entry.run))
    names = sorted({entry.pipeline for entry in ordered})
    groups = [(name, [entry for entry in ordered if entry.pipeline == name]) for name in names]
    places = anchors([Part(name, "") for name in names])
    sections = [
        _pipeline(place, name, runs, notes.get(name, ())) for place, (name, runs) in zip(places, groups, strict=True)
    ]
    said = f"{numerals.plural(len(ordered), 'run')} of {numerals.plural(len(names), 'pipeline')}"
    empty = None if ordered else tag("p", "No run has been reported yet.", class_="lead")
    links = [
        tag("li", tag("a", name, href=f"#{place}"), tag("span", _sign(runs[-1]), class_="sign"))
        for place, (name, runs) in zip(places, groups, strict=True)
    ]
    nav = tag("nav", tag("p", "Pipelines", class_="toc-title"), tag("ol", *links), class_="toc", aria_label="Pipelines")
    head = tag(
        "header",
        tag("p", "Assay · robustness audits", class_="kicker"),
        tag("h1", "All nights"),
        tag("p", said, class_="lead"),
        tag("p", budget, class_="note") if budget else None,
    )
    page = tag("div", nav, tag("main", head, empty, *sections, id="report"), class_="page")
    skip = tag("a", "Skip to the runs", href="#report", class_="skip")
    return document("All nights · Assay", join([skip, page, tag("footer", "Assay. One line per run, newest first.")]))


def _pipeline(place: str, name: str, runs: Sequence[RunEntry], notes: Sequence[str]) -> Markup:
    latest = runs[-1]
    trends = [trend(place, index, title, runs) for index, title in enumerate(_drawn(runs))]
    first, more = trends[:_TRENDS], trends[_TRENDS:]
    newest = list(reversed(runs))
    shown, older = newest[:_RUNS], len(newest) - _RUNS
    note = tag("p", f"{numerals.plural(older, 'older run')} not listed here.", class_="note") if older > 0 else None
    status = badge(status_tone(latest.status), latest.status)
    return tag(
        "section", tag("div", tag("h2", name, id=f"{place}-h"), status, class_="section-head"),
        tag("p", numerals.unbroken(latest.verdict), class_="lead") if latest.verdict else None,
        *(tag("p", numerals.unbroken(one), class_="note") for one in notes),
        tag("div", *first, class_="trends") if first else None,
        _folded(more) if more else None,
        scroller(f"Runs of {name}", _runs(name, shown)), note,
        id=place, class_="pipeline", aria_labelledby=f"{place}-h",
    )  # fmt: skip


def _drawn(runs: Sequence[RunEntry]) -> list[str]:
    """The names whose trends are drawn: those of the newest run first, and none that this keeps as a spare."""
    newest: dict[str, Headline] = {}
    for entry in reversed(runs):
        for one in entry.headlines:
            newest.setdefault(one.name, one)
    return [name for name, one in newest.items() if not one.spare]


def _folded(trends: Sequence[Markup]) -> Markup:
    title = f"{numerals.plural(len(trends), 'more trend')}"
    return tag("details", tag("summary", title), tag("div", *trends, class_="trends"))


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
    lines += [svg.target(x(at), y(one.value), f"{runs[at].run}: {_written(one)}") for at, one in points]
    ends = svg.words(0, height - 3, _day(runs[points[0][0]].started), "tick")
    if len(points) > 1:
        ends = join([ends, svg.words(width, height - 3, _day(runs[points[-1][0]].started), "tick", "end")])
    base = svg.stroke("base", 0, height - 17, width, height - 17)
    told = "; ".join(f"{runs[at].run} {_written(one)}" for at, one in points[-14:])
    said = f"{title} over {numerals.plural(len(points), 'run')}, oldest first: {told}."
    return tag(
        "div",
        svg.drawing(width, height, title, said, identity, base, tag("g", *lines, class_="s1"), ends),
        class_="spark",
    )


def _runs(name: str, runs: Sequence[RunEntry]) -> Markup:
    heads = [
        tag("th", head, scope="col", class_=kind)
        for head, kind in (("Run", ""), ("Started", ""), ("Took", "num"), ("Status", ""), ("Verdict", ""))
    ]
    rows = [_run(entry) for entry in runs]
    return tag(
        "table", tag("caption", f"Runs of {name}"), tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="runs"
    )


def _run(entry: RunEntry) -> Markup:
    name = tag("a", entry.run, href=entry.link) if safe_link(entry.link) else text(entry.run)
    return tag(
        "tr", tag("th", name, scope="row"), tag("td", numerals.moment(entry.started)),
        tag("td", numerals.duration(entry.seconds), class_="num"),
        tag("td", badge(status_tone(entry.status), entry.status)),
        tag("td", numerals.unbroken(entry.verdict)),
    )  # fmt: skip


def _written(headline: Headline) -> str:
    return numerals.scaled(headline.value, headline.scale)


def _sign(entry: RunEntry) -> str:
    return {"good": "✓", "bad": "✗"}.get(status_tone(entry.status), "•")


def _day(started: str) -> str:
    return started[:10]
