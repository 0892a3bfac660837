"""A report as one HTML page: the verdict first, then one section per audit, then everything it rests on."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from assay.tasks.reporting import numerals
from assay.tasks.reporting.appendix import appendix_sections
from assay.tasks.reporting.chords import chords_figure
from assay.tasks.reporting.gallery import gallery_figure
from assay.tasks.reporting.marked_texts import marked_figure
from assay.tasks.reporting.markup import Markup, join, tag
from assay.tasks.reporting.numerals import unbroken
from assay.tasks.reporting.parts import (
    BarPlot,
    Block,
    Chords,
    DataTable,
    Figure,
    Gallery,
    LinePlot,
    MarkedTexts,
    Panels,
    Paragraph,
    Part,
    Scatters,
    Tone,
    Verdict,
)
from assay.tasks.reporting.plots import bar_figure, line_figure, panels_figure
from assay.tasks.reporting.report import Report
from assay.tasks.reporting.scatter import scatters_figure
from assay.tasks.reporting.tables import table_figure

SIGNS = {"good": "✓", "bad": "✗", "neutral": "•", "not measured": "–"}
SAID = {"good": "good", "bad": "bad", "neutral": "for information", "not measured": "not measured"}
_RESERVED = ("report", "reading", "findings", "lineage", "settings", "failures")
_STATUS: dict[str, Tone] = {
    "done": "good",
    "completed": "good",
    "gate failed": "bad",
    "refused": "bad",
    "broken": "bad",
    "crashed": "bad",
    "failed": "bad",
    "missed": "bad",
}


def render_report(report: Report) -> str:
    """The report as one self-contained HTML page: no network, complete without JavaScript, every datum escaped."""
    parts = list(zip(anchors(report.parts), report.parts, strict=True))
    back = [*appendix_sections(report)]
    contents: list[tuple[str, str, str]] = [(anchor, part.title, part.verdict) for anchor, part in parts]
    contents += [(section.anchor, section.title, "") for section in back]
    body = [
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag(
            "div",
            _contents(contents),
            tag(
                "main",
                _head(report),
                _notices(report),
                *(_section(anchor, part) for anchor, part in parts),
                tag("div", *(section.markup for section in back), class_="appendix"),
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
    return f"<!doctype html>\n{tag('html', head, tag('body', body, tag('script', Markup(script))), lang='en')}\n"


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


def block_markup(block: Block, identity: str) -> Markup:
    """One block of a part."""
    match block:
        case LinePlot():
            return line_figure(block, identity)
        case Panels():
            return panels_figure(block, identity)
        case BarPlot():
            return bar_figure(block, identity)
        case DataTable():
            return table_figure(block)
        case Figure():
            source = "data:image/png;base64," + b64encode(block.png).decode()
            return tag(
                "figure",
                tag("img", src=source, alt=block.alt),
                tag("figcaption", tag("p", block.caption, class_="note")),
            )
        case Gallery():
            return gallery_figure(block)
        case MarkedTexts():
            return marked_figure(block)
        case Scatters():
            return scatters_figure(block, identity)
        case Chords():
            return chords_figure(block, identity)
        case Paragraph():
            return tag("p", unbroken(block.text), class_="prose")


def badge(tone: str, words: str = "") -> Markup:
    """A judgement as a sign and a word, so that it never hangs on colour alone."""
    return tag(
        "span",
        tag("span", SIGNS[tone], class_="sign", aria_hidden="true"),
        words or SAID[tone],
        class_=f"badge {tone.replace(' ', '-')}",
    )


def status_tone(status: str) -> Tone:
    """How a run's status is coloured; a word we do not know stays plain."""
    return _STATUS.get(status.lower(), "neutral")


def verdict_list(verdicts: Sequence[Verdict]) -> Markup:
    """The lines of verdict, each with its sign."""
    lines = [
        tag(
            "li",
            tag("span", SIGNS[one.tone], class_="sign", role="img", aria_label=SAID[one.tone]),
            tag("span", unbroken(one.text)),
            class_=one.tone,
        )
        for one in verdicts
    ]
    return tag("ul", *lines, class_="verdicts")


def _section(anchor: str, part: Part) -> Markup:
    head = tag("h2", part.title, id=f"{anchor}-h")
    judged = None if part.verdict == "neutral" else badge(part.verdict, part.judged)
    blocks = [block_markup(block, f"{anchor}-{index}") for index, block in enumerate(part.blocks)]
    return tag(
        "section",
        tag("div", head, judged, class_="section-head"),
        tag("p", unbroken(part.sentence), class_="lead"),
        *blocks,
        id=anchor,
        aria_labelledby=f"{anchor}-h",
    )


def _head(report: Report) -> Markup:
    facts = {
        "Run": report.run,
        "Started": numerals.moment(report.started),
        "Took": numerals.duration(report.seconds),
        "Seed": str(report.seed),
        **report.facts,
    }
    listed = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()]
    up = tag("a", "All nights", href=report.index_link) if safe_link(report.index_link) else None
    return tag(
        "header",
        tag("p", tag("span", "Assay · robustness audit"), up, class_="kicker"),
        tag("div", tag("h1", report.pipeline), badge(status_tone(report.status), report.status), class_="title"),
        tag("dl", *listed, class_="facts"),
        _of_sample(report),
        verdict_list(report.verdicts) if report.verdicts else None,
    )


def _of_sample(report: Report) -> Markup | None:
    """The line above everything else where the page is about a part of the samples."""
    if not report.sample:
        return None
    warning = (
        f"This page is about {report.sample}. It stands for no whole run: no trend, baseline or alarm knows of it."
    )
    return tag("p", tag("strong", "A sample. "), warning, class_="lead", id="sample")


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


def _contents(entries: Sequence[tuple[str, str, str]]) -> Markup:
    lines = []
    for anchor, title, tone in entries:
        sign = SIGNS.get(tone, "") if tone != "neutral" else ""
        mark = (
            tag("span", sign, class_=f"sign {tone.replace(' ', '-')}", role="img", aria_label=SAID[tone])
            if sign
            else None
        )
        lines.append(tag("li", tag("a", title, href=f"#{anchor}"), mark))
    return tag("nav", tag("p", "Contents", class_="toc-title"), tag("ol", *lines), class_="toc", aria_label="Contents")


def safe_link(link: str) -> bool:
    """Whether a link stays beside this file: relative, without a scheme or a host.

    >>> safe_link("../index.html"), safe_link("javascript:alert(1)"), safe_link("//host/x"), safe_link("")
    (True, False, False, False)
    """
    return bool(link) and ":" not in link.split("/", 1)[0] and not link.startswith(("/", "\\")) and "\\" not in link


@cache
def _asset(name: str) -> str:
    return files("assay.tasks.reporting").joinpath(name).read_text(encoding="utf-8").strip()
