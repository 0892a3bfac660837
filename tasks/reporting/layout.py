"""A report as one HTML page: the verdict first, then one section per audit, then everything it rests on (findings,
lineage, settings, versions).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files

from assay.infra.settings import Settings
from assay.tasks.reporting import numerals
from assay.tasks.reporting.diagrams import chords_figure, scatters_figure
from assay.tasks.reporting.gallery import gallery_figure, marked_figure
from assay.tasks.reporting.head import SAID, SIGNS, head_markup, sign, verdict_list
from assay.tasks.reporting.markup import Markup, join, rows_markup, tag
from assay.tasks.reporting.numerals import unbroken
from assay.tasks.reporting.parts import (
    BarPlot,
    Chords,
    DataTable,
    Gallery,
    LinePlot,
    MarkedTexts,
    Panels,
    Paragraph,
    Part,
    SampleList,
    Scatters,
    Shown,
    Tone,
)
from assay.tasks.reporting.plots import bar_figure, line_figure, panels_figure
from assay.tasks.reporting.report import Report, SettingRow
from assay.tasks.reporting.tables import ANCHOR as READING
from assay.tasks.reporting.tables import TITLE as READING_TITLE
from assay.tasks.reporting.tables import reading_section, table_figure
from assay.tasks.statistics.findings import Finding

_LINEAGE_NOTE = (
    "Keys name the work (stage, settings, inputs), digests the content: runs with equal digests saw equal data. "
    "The first twelve digits of each are shown."
)


def appendix_sections(report: Report) -> Iterator[tuple[str, str, Markup]]:
    """The anchor, the title and the HTML of each section at the end of the report that has something to show."""
    yield READING, READING_TITLE, reading_section()
    if report.findings:
        measured = f"All {numerals.plural(len(report.findings), 'finding')}: every measured thing of this run"
        folded = _folded(f"{measured}, one row each", _rows(_FINDINGS, report.findings))
        yield _appendix_section("findings", "Findings", folded)
    if report.lineage:
        cached = sum(artifact.cached for artifact in report.lineage)
        made = f"{numerals.plural(len(report.lineage), 'artifact')}, {cached} of them cached"
        rows = [replace(each, key=each.key[:12], digest=each.digest[:12]) for each in report.lineage]
        content = tag("p", _LINEAGE_NOTE, class_="note"), _rows(_LINEAGE, rows)
        folded = _folded(f"{made}: what each stage made, by content", *content)
        yield _appendix_section("lineage", "Lineage", folded)
    if report.settings or report.versions or report.machine:
        yield _appendix_section("settings", "Settings and versions", *_settings(report))


def settings_rows(stage: str, settings: Settings) -> list[SettingRow]:
    """A stage's options as rows, in the order in which the settings declare them.

    >>> from assay.infra.settings import Settings
    >>> class Pruning(Settings):
    ...     correlation: float = 0.5
    >>> settings_rows("prune", Pruning())
    [SettingRow(stage='prune', option='correlation', value='0.5')]
    """
    return [
        SettingRow(stage, name, _written(value))
        for name, value in settings.model_dump(mode="json", by_alias=True).items()
    ]


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_written(item) for item in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_written(item)}" for name, item in value.items()) or "none"
    return "none" if value is None else str(value)


def _appendix_section(anchor: str, title: str, *content: Markup) -> tuple[str, str, Markup]:
    heading = tag("h2", title, id=f"{anchor}-h")
    return anchor, title, tag("section", heading, *content, id=anchor, aria_labelledby=f"{anchor}-h")


def _folded(summary: str, *content: Markup) -> Markup:
    return tag("details", tag("summary", summary), *content, class_="fold")


_FINDINGS = tuple(name for name in Finding.__dataclass_fields__ if name not in ("run", "pipeline"))
_LINEAGE = ("stage", "kind", "key", "digest", "rows", "cached", "seconds", "note")


def _rows(fields: Sequence[str], rows: Iterable[object]) -> Markup:
    """Values under the names of the fields."""
    return rows_markup([fields, *([_plain(getattr(row, name)) for name in fields] for row in rows)])


def _plain(value: object) -> str:
    """A value between tabs: numbers in full, nothing where there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _settings(report: Report) -> Iterator[Markup]:
    if report.settings:
        summary = f"{numerals.plural(len(report.settings), 'setting')} this run used"
        yield _folded(summary, _rows(("stage", "option", "value"), report.settings))
    yield _folded("Machine and seed", _pairs({**report.machine, "seed": str(report.seed)}))
    if report.versions:
        yield _folded(f"{numerals.plural(len(report.versions), 'package')} and their versions", _pairs(report.versions))


def _pairs(values: Mapping[str, str], class_: str = "pairs") -> Markup:
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()), class_=class_)


_SECTIONS = ["report", "reading", "findings", "lineage", "settings", "failures"]
_RESERVED = [*_SECTIONS, "state", "changes", "scorecard", "verdicts", "next"]
_WELL, _BADLY = ("done", "completed"), ("gate failed", "refused", "broken", "crashed", "failed", "missed")
"""How a run ends; what is in neither stays plain."""


def render_report(report: Report) -> str:
    """The report as one self-contained HTML page: no network, complete without JavaScript, every datum escaped."""
    parts = list(zip(anchors(report.parts), report.parts, strict=True))
    back = [*appendix_sections(report)]
    listed: list[tuple[str, str, str]] = [(anchor, part.title, part.verdict) for anchor, part in parts]
    listed += [(anchor, title, "") for anchor, title, _ in back]
    body = [
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag(
            "div",
            contents(listed, "Contents"),
            tag(
                "main",
                _head(report),
                _notices(report),
                *(_section(anchor, part, report.findings) for anchor, part in parts),
                tag("div", *(markup for *_, markup in back), class_="appendix"),
                id="report",
            ),
            class_="page",
        ),
        tag("footer", "Assay, run ", tag("code", report.run), ". One file, no network: keep it, send it, print it."),
    ]
    return document(f"{report.pipeline} · {report.run} · Assay", join(body))


def document(title: str, body: Markup) -> str:
    """A page around the body: style and script are inside it, and its policy lets nothing else in."""
    style, script = _asset("report.css"), _asset("report.js")
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    body = pictures_once(body)
    return f"<!doctype html>\n{tag('html', head, tag('body', body, tag('script', Markup(script))), lang='en')}\n"


_IMAGE = re.compile(r'<img src="(data:image/png;base64,[^"]+)" alt="([^"]*)" width="(\d+)" height="(\d+)"([^>]*)>')


def pictures_once(body: Markup) -> Markup:
    """The body with every picture that stands in it several times written once, and drawn by reference elsewhere."""
    found = _IMAGE.findall(body)
    times = Counter(source for source, *_ in found)
    repeated = {source: f"pixels-{at}" for at, source in enumerate(times) if times[source] > 1}
    if not repeated:
        return body

    def again(image: re.Match[str]) -> str:
        name = repeated.get(image[1])
        small = ' class="enlarged"' if "enlarged" in image[5] else ""
        box = f'viewBox="0 0 {image[3]} {image[4]}" role="img" aria-label="{image[2]}"{small}'
        return f'<svg {box}><use href="#{name}"/></svg>' if name else image[0]

    sizes = {source: (width, height) for source, _, width, height, _ in found}
    kept = [
        tag("image", id=name, href=source, width=sizes[source][0], height=sizes[source][1])
        for source, name in repeated.items()
    ]
    store = tag("svg", tag("defs", *kept), class_="pixels", aria_hidden="true")
    return Markup(store + _IMAGE.sub(again, body))


def anchors(parts: Sequence[Part]) -> list[str]:
    """One anchor per part, from its own or its title, never the same twice.

    >>> anchors([Part("Weak labels", ""), Part("Weak labels", "")])
    ['weak-labels', 'weak-labels-2']
    """
    taken = list(_RESERVED)
    for part in parts:
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in (part.anchor or part.title).lower())
        stem = "-".join(piece for piece in plain.split("-") if piece) or "part"
        count = sum(1 for other in taken if other == stem or other.rpartition("-")[0] == stem)
        taken.append(stem if stem not in taken else f"{stem}-{count + 1}")
    return taken[len(_RESERVED) :]


_FIGURES: Mapping[type, Callable[..., Markup]] = {
    LinePlot: line_figure,
    Panels: panels_figure,
    BarPlot: bar_figure,
    Scatters: scatters_figure,
    Chords: chords_figure,
    DataTable: table_figure,
    Gallery: gallery_figure,
    MarkedTexts: marked_figure,
}
_DRAWN = (LinePlot, Panels, BarPlot, Scatters, Chords)


def block_markup(block: Shown, identity: str) -> Markup:
    """One block of a part."""
    if isinstance(block, Paragraph):
        return tag("p", unbroken(block.text), class_="prose")
    figure = _FIGURES[type(block)]
    return figure(block, identity) if isinstance(block, _DRAWN) else figure(block)


def badge(tone: str, words: str = "") -> Markup:
    """A judgement as a sign and a word, so that it never hangs on colour alone."""
    sign_of_tone = tag("span", SIGNS[tone], class_="sign", aria_hidden="true")
    return tag("span", sign_of_tone, words or SAID[tone], class_=f"badge {tone.replace(' ', '-')}")


def status_tone(status: str) -> Tone:
    """How a run's status is coloured; a word we do not know stays plain."""
    return "good" if status.lower() in _WELL else "bad" if status.lower() in _BADLY else "neutral"


def _section(anchor: str, part: Part, findings: Sequence[Finding] = ()) -> Markup:
    head = tag("h2", part.title, id=f"{anchor}-h")
    judged = None if part.verdict == "neutral" else badge(part.verdict, part.judged)
    shown = [block.shown if isinstance(block, SampleList) else block for block in part.blocks]
    blocks = {index: block_markup(block, f"{anchor}-{index}") for index, block in enumerate(shown)}
    opened = next((blocks.pop(at) for at, block in enumerate(shown) if _opens(part, block)), None)
    gist = [tag("p", unbroken(part.sentence), class_="lead"), opened]
    named = tag("div", head, judged, _own_findings(part, findings), class_="section-head")
    beside = tag("div", *gist, class_="gist") if opened else gist[0]
    folded = _folded(_more(shown[at] for at in blocks), *blocks.values()) if blocks else None
    return tag("section", named, beside, folded, id=anchor, aria_labelledby=f"{anchor}-h")


def _own_findings(part: Part, findings: Sequence[Finding]) -> Markup | None:
    """The link to what a part rests on: all findings, narrowed to its own where scripts run."""
    own = sum(finding.metric.startswith(part.findings) for finding in findings) if part.findings else 0
    if not own:
        return None
    return tag("a", numerals.plural(own, "finding"), href="#findings", class_="own", data_find=part.findings)


def _opens(part: Part, block: Shown) -> bool:
    """Whether a block stands beside the sentence, without a click."""
    return part.verdict == "bad" if part.background else isinstance(block, _DRAWN)


def _more(folded: Iterable[Shown]) -> str:
    """What is folded, in words: "2 plots, 3 tables"."""
    kinds = Counter(_KINDS.get(type(block), ("", "")) for block in folded)
    counted = [numerals.plural(kinds[kind], *kind) for kind in dict.fromkeys(_KINDS.values()) if kinds[kind]]
    return f"{'More: ' if counted else 'More'}{', '.join(counted)}"


_KINDS: Mapping[type, tuple[str, str]] = {
    **dict.fromkeys(_DRAWN, ("plot", "plots")),
    DataTable: ("table", "tables"),
    Gallery: ("gallery", "galleries"),
    MarkedTexts: ("list of texts", "lists of texts"),
}


def _head(report: Report) -> Markup:
    facts = {
        "Run": report.run,
        "Started": numerals.moment(report.started),
        "Took": numerals.duration(report.seconds),
        "Seed": str(report.seed),
        **report.facts,
    }
    up = tag("a", "All nights", href=report.index_link) if safe_link(report.index_link) else None
    kicker = tag("p", tag("span", "Assay · robustness audit"), up, class_="kicker")
    state = None if report.head else badge(status_tone(report.status), report.status)
    title, sample, verdicts = tag("div", tag("h1", report.pipeline), state, class_="title"), None, None
    if report.sample:
        warning = tag("strong", "A sample. ")
        sample = tag("p", warning, _OF_SAMPLE.format(report.sample), class_="lead", id="sample")
    if report.head or report.verdicts:
        verdicts = head_markup(report.head) if report.head else verdict_list(report.verdicts)
    return tag("header", kicker, title, _pairs(facts, "facts"), sample, verdicts)


_OF_SAMPLE = "This page is about {}. It stands for no whole run: no trend, baseline or alarm knows of it."


def _notices(report: Report) -> Markup:
    pieces = []
    if report.failures:
        lines = [tag("li", failure) for failure in report.failures]
        title = f"{numerals.plural(len(lines), 'branch', 'branches')} of this run failed; the rest of the report stands"
        pieces.append(tag("section", tag("h2", title), tag("ul", *lines), class_="failures", id="failures"))
    if report.not_asked:
        asked = f"Not asked for by this pipeline, and so not in this report: {', '.join(report.not_asked)}."
        pieces.append(tag("p", asked, class_="not-asked"))
    return join(pieces)


def contents(entries: Iterable[tuple[str, str, str]], title: str) -> Markup:
    """The links to sections, by their anchors and titles, with the sign of each."""
    lines = []
    for anchor, section, tone in entries:
        mark = sign(tone, f"sign {tone.replace(' ', '-')}") if tone in SIGNS and tone != "neutral" else None
        lines.append(tag("li", tag("a", section, href=f"#{anchor}"), mark))
    return tag("nav", tag("p", title, class_="toc-title"), tag("ol", *lines), class_="toc", aria_label=title)


def safe_link(link: str) -> bool:
    """Whether a link stays beside this file: relative, without a scheme or a host.

    >>> safe_link("../index.html"), safe_link("javascript:alert(1)"), safe_link("//host/x"), safe_link("")
    (True, False, False, False)
    """
    return bool(link) and ":" not in link.split("/", 1)[0] and not link.startswith(("/", "\\")) and "\\" not in link


@cache
def _asset(name: str) -> str:
    return files("assay.tasks.reporting").joinpath(name).read_text(encoding="utf-8").strip()
