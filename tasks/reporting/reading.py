"""What kinds of number there are and what each can say, in a sentence or two: where the heads of columns lead.

The same sections, at length, are in docs/reading-the-numbers.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.parts import Column

ANCHOR, TITLE = "reading", "How to read these numbers"


@dataclass(frozen=True)
class Reading:
    """One kind of number: its section in the documents, what it says, and the columns that are of it."""

    anchor: str
    title: str
    explanation: str
    heads: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    written: str = ""
    """Of the columns with such a head, only those of this kind."""


READINGS = (
    Reading(
        "interval",
        "An interval: 88 % [80, 93]",
        "The share that was measured, and the range in which the true one lies in nineteen of twenty audits like this "
        "one; n is how many samples it rests on. Two intervals that overlap do not mean that two things are alike. It "
        "is of these models: another seed trains another one, with other numbers.",
        kinds=frozenset({"percent", "bar"}),
    ),
    Reading(
        "p",
        'p, and "not shown"',
        "How often chance alone would show as much, corrected for the number of tests where the head says so. Not "
        "shown means that this audit could not show it, never that there is nothing.",
        frozenset({"Shown", "Concluded"}),
        frozenset({"p"}),
    ),
    Reading(
        "worst",
        "The worst of many, the best of several",
        "What is named after looking at many has the wider interval that holds for all of them at once; in a table of "
        "all cells each has its own.",
        frozenset({"Slice"}),
    ),
    Reading(
        "slices",
        "Slices",
        "A slice is the samples that share a value of a column. What a search finds on one half of the samples counts "
        "only where the other half confirms it.",
        frozenset({"Rest"}),
    ),
    Reading(
        "chances",
        "Confidence, calibration error, Brier",
        "A confidence is a chance only where, of the answers given with 80 %, 80 in 100 are right. The "
        "calibration error is how far the two lie apart, Brier's score the squared error of all probabilities (0 is "
        "best), the risk the mean share of errors of the surest answers.",
        frozenset({"Calibration error", "Brier", "Risk", "Confidence"}),
    ),
    Reading(
        "order",
        "A right label outranks a wrong one 62 % of the time (AUC)",
        "Of one right and one wrong answer at random, how often the right one stands nearer the easy end of the order: "
        "50 % is no order at all.",
        frozenset({"AUC", "More than our order"}),
        written="percent",
    ),
    Reading(
        "auc",
        "The AUC of a class",
        "How often a sample of a class gets more of its probability than a sample of another: 50 % is guessing.",
        frozenset({"AUC"}),
    ),
)


def reading_of(column: Column) -> Reading | None:
    """What a column's numbers are, by its head before its kind; None of names and counts.

    >>> [one.anchor if one else None for one in map(reading_of, (Column("Risk", "percent"), Column("p, corrected", "p"),
    ...  Column("Subject")))]
    ['chances', 'p', None]
    """
    named = next((one for one in READINGS if column.name in one.heads and one.written in ("", column.kind)), None)
    return named or next((one for one in READINGS if column.kind in one.kinds), None)


def reading_link(column: Column) -> Markup | None:
    """The mark behind a column's head that leads to what its numbers are."""
    reading = reading_of(column)
    if reading is None:
        return None
    return tag(
        "a",
        "?",
        href=f"#{ANCHOR}-{reading.anchor}",
        class_="meant",
        title=reading.explanation,
        aria_label=f"How to read {column.name}",
    )


def reading_section() -> Markup:
    """The section of a report that the heads of its columns lead to."""
    entries = [
        tag("div", tag("dt", one.title, id=f"{ANCHOR}-{one.anchor}"), tag("dd", one.explanation)) for one in READINGS
    ]
    heading = tag("h2", TITLE, id=f"{ANCHOR}-h")
    return tag("section", heading, tag("dl", *entries, class_="readings"), id=ANCHOR, aria_labelledby=f"{ANCHOR}-h")
