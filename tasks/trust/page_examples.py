"""Predictions to look at: their texts with the words marked as the oracle sees them, or masked to the last word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.tasks.reporting.changed_lines import MASK, shortened_gap
from assay.tasks.reporting.numerals import percent
from assay.tasks.reporting.parts import Mark, MarkedText, MarkedTexts, Stretch, Tone
from assay.tasks.trust.page_findings import Explained

LEGEND: Mapping[Tone, str] = {
    "good": "speaks for the prediction, related to the class",
    "bad": "speaks for the prediction, not related to it",
    "neutral": "speaks against the prediction, or is known to no embedding",
}


def examples_block(explained: Explained) -> MarkedTexts | None:
    """The most damning examples of a subject by one explainer, and a trustworthy one of each class beside them."""
    rows = explained.examples.to_pylist()
    if not rows:
        return None
    texts = [_example(row, explained) for row in rows]
    note = (
        "Right predictions that are confident, and go most clearly by words that are not related to the class; then "
        "for each class one that goes by related words. The stronger the colour, the more a word matters."
    )
    if explained.masked:
        note += " The texts of this audit are masked: only marked words are shown, and of these only the marks."
    return MarkedTexts(f"Predictions to look at, {explained.subject}, {explained.explainer}", texts, LEGEND, note)


def _example(row: dict[str, Any], explained: Explained) -> MarkedText:
    truth = f", in truth {row['truth']}" if row["truth"] else ""
    tone: Tone = "bad" if row["label"] == "untrustworthy" else "good"
    answer = [
        Mark(f"{row['label']}{truth}", tone),
        Mark(f"confidence {percent(row['confidence'])}"),
        Mark(f"related words weigh {row['related_mass']:.2g}, others {row['unrelated_mass']:.2g}"),
    ]
    stretches = masked_stretches(row) if explained.masked else stretches_of(row)
    return MarkedText(f"{row['id']} · {explained.classes[row['code']]}", stretches, answer)


def stretches_of(row: Mapping[str, Any]) -> list[Stretch]:
    """The text in pieces, those of the explanation marked; long stretches without a mark are cut."""
    text, end = row["text"], 0
    stretches: list[Stretch] = []
    largest = max((abs(score) for score in row["importance"]), default=0.0) or 1.0
    for start, stop, score, related in _words(row):
        stretches += [
            Stretch(shortened_gap(text[end:start], first=end == 0)),
            Stretch(text[start:stop], *_mark(score, related, largest)),
        ]
        end = stop
    return [*stretches, Stretch(shortened_gap(text[end:], last=True, first=end == 0))]


def masked_stretches(row: Mapping[str, Any]) -> list[Stretch]:
    """The marks without the words, all of one length, a blank between them."""
    largest = max((abs(score) for score in row["importance"]), default=0.0) or 1.0
    marks: list[Stretch] = []
    for _, _, score, related in _words(row):
        marks += [Stretch(MASK, *_mark(score, related, largest)), Stretch(" ")]
    return marks


def _words(row: Mapping[str, Any]) -> list[tuple[int, int, float, bool | None]]:
    return sorted(zip(row["starts"], row["ends"], row["importance"], row["related"], strict=True), key=lambda w: w[0])


def _mark(score: float, related: bool | None, largest: float) -> tuple[Tone, float]:
    tone: Tone = "neutral" if score <= 0 or related is None else "good" if related else "bad"
    return tone, abs(score) / largest
