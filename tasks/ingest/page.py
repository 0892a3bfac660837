"""The report's parts about the data: how many samples entered, what was rejected and why, what the contract found,
and what people's answers changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.data.arrays import Integers
from assay.tasks.ingest.label_studio import CONFIRMED, NEW, OUTCOMES, OVERRULED, SKIPPED, TIED, UNANSWERED
from assay.tasks.reporting.estimates import capital, column, groups_text, share_text, table_of
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import Block, DataTable, Paragraph, Part
from assay.tasks.statistics.findings import FindingIndex

_REASONS, _EXAMPLES = 25, 3


def ingest_page(
    samples: int,
    rejects: pa.Table,
    contracts: pa.Table,
    gold: int | None = None,
    groups: Integers | None = None,
    truth: str = "class",
) -> Part:
    """The part of the report about ingest, from the number of samples, the `Rejects` and the `ContractResults`.

    `gold` is the number of samples whose true class (number, …: `truth`) is known, where somebody counted it; `groups`
    how many samples each group of `source.group` has.
    """
    broken = [row for row in contracts.to_pylist() if not row["success"]]
    blocks: list[Block] = []
    if rejects.num_rows:
        blocks.append(_reasons(rejects))
    if broken:
        blocks.append(_contract(broken))
    known = "" if gold is None else f", {integer(gold)} of them with a known true {truth}"
    together = "" if groups is None else f" in {groups_text(groups)}"
    rejected = f"Of {plural(samples, 'row')} none was rejected."
    if out := rejects.num_rows:
        of_rows = f"of {plural(samples + out, 'row')} ({percent(out / (samples + out))})"
        rejected = f"{integer(out)} {of_rows} {'was' if out == 1 else 'were'} rejected, each with a reason."
    sentence = f"{plural(samples, 'sample')} entered{together}{known}. {rejected}"
    if not contracts.num_rows:
        return Part("Data", sentence, blocks, "ingest")
    expectations = plural(contracts.num_rows, "expectation")
    if broken:
        sentence += f" {integer(len(broken))} of {expectations} of the data contract did not hold."
        return Part("Data", sentence, blocks, "ingest", "bad", "contract broken")
    held = f"{sentence} All {expectations} of the data contract held."
    return Part("Data", held, blocks, "ingest", "good", "contract held")


def _reasons(rejects: pa.Table) -> DataTable:
    """The reasons, most frequent first, each with the first places where it was met."""
    grouped = groupby(lambda row: (row["reason"], row["column"] or ""), rejects.to_pylist())
    ordered = sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0]))
    rest = len(ordered) - _REASONS
    note = (
        f"{plural(rest, 'rarer reason')} not shown here; the rejects are an artifact of this run." if rest > 0 else ""
    )
    first = "File and line (or row), counted from 1, and the id if readable; of images in folders, the path"
    columns = [
        column("Reason", lambda item: item[0][0]),
        column("Column", lambda item: item[0][1]),
        column("Rows", lambda item: len(item[1]), "integer"),
        column("First places", lambda item: "\n".join(map(_place, item[1][:_EXAMPLES])), help=first),
    ]
    return table_of("Rows that did not enter", ordered[:_REASONS], columns, note)


def _place(row: dict[str, object]) -> str:
    """Where a row stands that was turned away; an image of a folder is named by its path, and has no lines.

    >>> _place({"file": "a.csv", "row": 3, "id": "p7"}), _place({"file": "cat/1.png", "row": 1, "id": "cat/1.png"})
    ('a.csv:3 (p7)', 'cat/1.png')
    """
    if row["id"] == row["file"]:
        return str(row["file"])
    return f"{row['file']}:{row['row']}" + (f" ({row['id']})" if row["id"] else "")


def _contract(broken: Sequence[Mapping[str, Any]]) -> DataTable:
    columns = [
        column("Expectation", "expectation"),
        column("Column", lambda row: row["column"] or ""),
        column("Rows checked", "checked", "integer"),
        column("Unexpected", "unexpected", "integer", "Rows that did not meet it"),
        column("Contract", "contract"),
        column("Detail", lambda row: row["detail"] or ""),
    ]
    return table_of("What did not hold of the data contract (Great Expectations)", broken, columns)


_SHOWN = 25
_NOTE = (
    "People looked at samples that somebody chose, the hardest perhaps: shares by gold are of the samples that have "
    "gold, and these may be harder than the others."
)


def answers_page(answers: pa.Table, classes: Sequence[str], findings: FindingIndex) -> Part:
    """The part of the report about people's answers, from `PeoplesAnswers` and the findings `answers.*`."""
    counts = {row["values"]: row["counts"] for row in pc.value_counts(answers["outcome"]).to_pylist()}
    given = sum(counts.get(outcome, 0) for outcome in (NEW, CONFIRMED, OVERRULED))
    unanimous = findings.get("answers.unanimous")
    agreed = "" if unanimous is None else f" Where several answered, {share_text(unanimous)} are of one mind."
    sentence = (
        f"{plural(given, 'sample')} of {answers.num_rows} that people were asked about have their answer as gold: "
        f"{counts.get(NEW, 0)} had none, of {counts.get(OVERRULED, 0)} it says another class than the gold column."
        f"{agreed}"
    )
    without = [
        f"{capital(OUTCOMES[name][1])}: {counts[name]}" for name in (TIED, SKIPPED, UNANSWERED) if name in counts
    ]
    blocks: list[Block] = [Paragraph(" ".join([_NOTE, *(f"{line}." for line in without)]))]
    overruled = answers.filter(pc.equal(answers["outcome"], OVERRULED))
    if overruled.num_rows:
        blocks.append(_overruled(overruled, classes))
    return Part("People's answers", sentence, blocks, "answers")


def _overruled(answers: pa.Table, classes: Sequence[str]) -> DataTable:
    """The samples whose gold column people contradict."""
    more = answers.num_rows - _SHOWN
    columns = [
        column("Sample", "id"),
        column("Gold column", lambda row: classes[row["before"]]),
        column("People", lambda row: classes[row["answer"]]),
        column("How many", lambda row: f"{row['agreeing']} of {row['people']}"),
    ]
    note = f"{plural(more, 'more sample')}." if more > 0 else ""
    return table_of("Gold that people changed", answers.slice(0, _SHOWN).to_pylist(), columns, note)
