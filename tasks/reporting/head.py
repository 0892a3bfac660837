"""The head of a page, for a reader with one minute: the state, what changed, a scorecard, a few sentences, and what to
look at next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.tasks.reporting.gallery import png_image
from assay.tasks.reporting.markup import Markup, join, tag
from assay.tasks.reporting.numerals import unbroken
from assay.tasks.reporting.parts import Mark, NamedSample, Verdict

SENTENCES, SAMPLES = 5, 10
"""At most so many sentences, and so many samples to look at."""
SIGNS = {"good": "✓", "bad": "✗", "neutral": "•", "not measured": "–"}
SAID = {"good": "good", "bad": "bad", "neutral": "for information", "not measured": "not measured"}


@dataclass(frozen=True)
class Scorecard:
    """A row per subject, a column per question; `alone` is what one constant answer gets in each."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Mark | None]]]
    alone: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class Head:
    """What is read first: the state of the run, what changed since the baseline (worst first), the scorecard, the
    sentences (most consequential first), the one setting that would tell more, and the samples to look at."""

    state: Verdict
    changes: Sequence[Verdict] = ()
    scorecard: Scorecard | None = None
    sentences: Sequence[Verdict] = ()
    setting: str = ""
    samples: Sequence[NamedSample] = field(default_factory=tuple)


def head_markup(head: Head) -> Markup:
    """The head as it stands on the page."""
    tone = head.state.tone
    return join(
        [
            tag("p", sign(tone), " ", unbroken(head.state.text), class_=f"state {tone}", id="state"),
            verdict_list(head.changes, "changes") if head.changes else None,
            scorecard_markup(head.scorecard) if head.scorecard else None,
            verdict_list(head.sentences[:SENTENCES], "verdicts") if head.sentences else None,
            *_next(head),
        ]
    )


def sign(tone: str, class_: str = "sign") -> Markup:
    """A judgement as a sign that is also said."""
    return tag("span", SIGNS[tone], class_=class_, role="img", aria_label=SAID[tone])


def verdict_list(verdicts: Sequence[Verdict], name: str = "verdicts") -> Markup:
    """Lines, each with its sign."""
    lines = [tag("li", sign(line.tone), tag("span", unbroken(line.text)), class_=line.tone) for line in verdicts]
    return tag("ul", *lines, class_=name, id=name)


def scorecard_markup(scorecard: Scorecard) -> Markup:
    """The scorecard as a table; where the page is narrow every subject becomes a card."""
    heads = [tag("th", name, scope="col") for name in ("Subject", *scorecard.columns)]
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(_score(column, cell) for column, cell in zip(scorecard.columns, cells, strict=True)),
        )
        for name, cells in scorecard.rows
    ]
    if any(scorecard.alone):
        alone = [
            tag("td", text or "–", data_head=column)
            for column, text in zip(scorecard.columns, scorecard.alone, strict=True)
        ]
        rows.append(tag("tr", tag("th", "One constant answer", scope="row"), *alone, class_="alone"))
    table = tag(
        "table", tag("caption", "Scorecard"), tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="scorecard"
    )
    note = tag("p", unbroken(scorecard.note), class_="note") if scorecard.note else None
    return tag("div", table, note, id="scorecard")


def _score(column: str, cell: Mark | None) -> Markup:
    if cell is None:
        return tag("td", tag("span", "–", class_="none", title="not measured"), data_head=column)
    below = tag("span", unbroken(cell.below), class_="below") if cell.below else None
    return tag("td", tag("b", cell.text, class_=f"mark-{cell.tone}"), below, data_head=column)


def _next(head: Head) -> Iterator[Markup]:
    if not head.setting and not head.samples:
        return
    yield tag("h2", "What to look at next", id="next-h")
    setting = tag("p", unbroken(head.setting), class_="prose") if head.setting else None
    samples = tag("ol", *map(_sample, head.samples[:SAMPLES]), class_="samples") if head.samples else None
    yield tag("div", setting, samples, id="next")


def _sample(sample: NamedSample) -> Markup:
    image = None if sample.png is None else png_image(sample.png, f"The sample {sample.id}", "enlarged")
    text = tag("span", sample.text, class_="excerpt", dir="auto") if sample.text else None
    said = [tag("span", line, class_="below") for line in (sample.note, sample.votes) if line]
    return tag("li", image, tag("b", sample.id), text, *said, class_="worded" if image is None else None)
