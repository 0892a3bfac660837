"""Attacked texts to look at, as two lines with the changed words marked, and the words that carry the attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.tasks.attacks.words.page_findings import AttackedTexts
from assay.tasks.attacks.words.showing import carriers
from assay.tasks.reporting.changed_lines import AFTER, BEFORE, changed_lines, masked_lines
from assay.tasks.reporting.estimates import share_estimate
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.parts import Cell, Column, DataTable, Mark, MarkedText, MarkedTexts, Tone

LEGEND: Mapping[Tone, str] = {BEFORE: "as it was", AFTER: "what the attack made of it"}
_MOST = 15


def examples_block(shown: AttackedTexts) -> MarkedTexts | None:
    """The examples of one attack on one subject."""
    if shown.examples is None or not shown.examples.num_rows:
        return None
    texts = [_example(row, shown) for row in shown.examples.to_pylist()]
    note = "The original above, the attacked text below it."
    if shown.attacked is None:
        known = all(row["gold"] is not None and row["gold"] >= 0 for row in shown.examples.to_pylist())
        turned = "makes a right prediction wrong" if known else "changes the answer"
        note += f" Of each kind of noise the gentlest that {turned}."
    else:
        note += " Successful attacks that took the fewest words, and one that failed."
    if shown.masked:
        note += " The texts of this audit are masked: of the changed words only the marks are shown."
    return MarkedTexts(f"Attacked texts, {shown.attack} on {shown.subject}", texts, LEGEND, note)


def _example(row: dict[str, Any], shown: AttackedTexts) -> MarkedText:
    before, after = shown.classes[row["before"]], shown.classes[row["after"]]
    fooled = row["before"] != row["after"]
    answers = [Mark(f"{before} → {after}" if fooled else f"{before}, still", "bad" if fooled else "good")]
    changes = len(row["news"])
    if row["words"] is not None:
        alike = "" if row["similarity"] is None else f", similarity {row['similarity']:.3f}"
        answers.append(Mark(f"{changes} of {plural(row['words'], 'word')} changed{alike}"))
    else:
        answers.append(Mark(plural(changes, "change")))
    title = " · ".join(filter(None, (row["id"], row["group"].replace(", severity=", " at severity "))))
    if shown.masked:
        first, second = masked_lines(changes)
    else:
        changed = list(zip(row["starts"], row["ends"], row["news"], strict=True))
        first, second = changed_lines(row["text"], changed, whole_words=shown.attacked is None)
    return MarkedText(title, first, answers, second)


def carriers_table(shown: AttackedTexts) -> DataTable | None:
    """The words that most successful attacks replaced; of masked texts there is nothing that may be shown."""
    if shown.attacked is None or shown.masked:
        return None
    words = carriers(shown.attacked)
    if not words:
        return None
    columns = [
        Column("Word"),
        Column("Successful attacks", "integer", "in which this word was replaced"),
        Column("Of attacks that replaced it", "percent"),
        Column("Most often by"),
    ]
    rows: list[Sequence[Cell]] = [
        [carrier.word, carrier.successes, share_estimate(carrier.successes, carrier.attacks), carrier.instead]
        for carrier in words[:_MOST]
    ]
    more = f"The first {_MOST} of {plural(len(words), 'word')}. " if len(words) > _MOST else ""
    note = f"{more}A word that an attack replaced without success was no help to it. Intervals are 95 % (Wilson)."
    return DataTable(f"Words that carry the attacks, {shown.attack} on {shown.subject}", columns, rows, note)
