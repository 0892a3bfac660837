"""What the report shows of people's answers: what became of them, and the samples whose gold they changed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.ingest.people.answers import CONFIRMED, NEW, OUTCOMES, OVERRULED
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Part
from assay.tasks.statistics.findings import FindingIndex

_SHOWN = 25
_NOTE = (
    "People looked at samples that somebody chose, the hardest perhaps: shares by gold are of the samples that have "
    "gold, and these may be harder than the others."
)


def page(answers: pa.Table, classes: Sequence[str], findings: FindingIndex) -> Part:
    """The part of the report about people's answers, from `PeoplesAnswers` and the findings `answers.*`."""
    counts = {one["values"]: one["counts"] for one in pc.value_counts(answers["outcome"]).to_pylist()}
    given = sum(counts.get(one, 0) for one in (NEW, CONFIRMED, OVERRULED))
    sentence = (
        f"{plural(given, 'sample')} of {answers.num_rows} that people were asked about have their answer as gold: "
        f"{counts.get(NEW, 0)} had none, of {counts.get(OVERRULED, 0)} it says another class than the gold column."
    )
    rows: list[list[Cell]] = [[one, counts[one], words] for one, words in OUTCOMES.items() if one in counts]
    measured: list[list[Cell]] = [
        [words, estimate(findings.get(f"answers.{metric}"))]
        for metric, words in (
            ("given", "Answered, of those asked about"),
            ("overruled", "Against the gold column, of those that had gold"),
            ("unanimous", "Of one mind, of those that several answered"),
        )
    ]
    blocks: list[Block] = [
        DataTable("What became of them", [Column("Outcome"), Column("Samples", "integer"), Column("")], rows, _NOTE),
        DataTable("Shares", [Column("Share"), Column("", "percent")], measured),
    ]
    overruled = answers.filter(pc.equal(answers["outcome"], OVERRULED))
    if overruled.num_rows:
        blocks.append(_overruled(overruled, classes))
    return Part("People's answers", sentence, blocks, "answers")


def _overruled(answers: pa.Table, classes: Sequence[str]) -> DataTable:
    """The samples whose gold column people contradict."""
    rows: list[list[Cell]] = [
        [one["id"], classes[one["before"]], classes[one["answer"]], f"{one['agreeing']} of {one['people']}"]
        for one in answers.slice(0, _SHOWN).to_pylist()
    ]
    more = answers.num_rows - len(rows)
    columns = [Column("Sample"), Column("Gold column"), Column("People"), Column("How many")]
    return DataTable("Gold that people changed", columns, rows, f"{plural(more, 'more sample')}." if more > 0 else "")
