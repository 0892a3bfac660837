"""What ingest shows in the report: how many samples entered, what was turned away and why, what the contract found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Part

_REASONS, _EXAMPLES = 25, 3


def page(
    samples: int, rejects: pa.Table, contracts: pa.Table, gold: int | None = None, groups: int | None = None
) -> Part:
    """The part of the report about ingest, from the number of samples, the `Rejects` and the `ContractResults`.

    `gold` is the number of samples whose true class is known, where somebody counted it; `groups` that of the groups of
    `source.group`.
    """
    broken = [row for row in contracts.to_pylist() if not row["success"]]
    blocks: list[Block] = []
    if rejects.num_rows:
        blocks.append(_reasons(rejects))
    if contracts.num_rows:
        blocks.append(_contract(contracts))
    lines = (
        _entry_sentence(samples, gold, groups),
        _rejection_sentence(samples, rejects.num_rows),
        _contract_sentence(contracts.num_rows, broken),
    )
    return Part("Data", " ".join(filter(None, lines)), blocks, "ingest", *_tone(contracts.num_rows, len(broken)))


def _tone(expectations: int, broken: int) -> tuple[Literal["good", "bad", "neutral"], str]:
    """How the part is marked, and in which words."""
    if not expectations:
        return "neutral", ""
    return ("bad", "contract broken") if broken else ("good", "contract held")


def _entry_sentence(samples: int, gold: int | None, groups: int | None) -> str:
    known = "" if gold is None else f", {integer(gold)} of them with a known true class"
    together = "" if groups is None else f" in {plural(groups, 'group')}"
    return f"{plural(samples, 'sample')} entered{together}{known}."


def _rejection_sentence(samples: int, rejected: int) -> str:
    if not rejected:
        return f"Of {plural(samples, 'row')} none was rejected."
    rows = samples + rejected
    return (
        f"{integer(rejected)} of {plural(rows, 'row')} ({percent(rejected / rows)}) were rejected, each with a reason."
    )


def _contract_sentence(expectations: int, broken: Sequence[object]) -> str:
    if not expectations:
        return ""
    if not broken:
        return f"All {plural(expectations, 'expectation')} of the data contract held."
    return f"{integer(len(broken))} of {plural(expectations, 'expectation')} of the data contract did not hold."


def _reasons(rejects: pa.Table) -> DataTable:
    """The reasons, most frequent first, each with the first places where it was met."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for row in rejects.to_pylist():
        grouped.setdefault((row["reason"], row["column"] or ""), []).append(_place(row))
    ordered = sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0]))
    rows: list[list[Cell]] = [
        [reason, column, len(places), "\n".join(places[:_EXAMPLES])] for (reason, column), places in ordered[:_REASONS]
    ]
    rest = len(ordered) - len(rows)
    note = (
        f"{plural(rest, 'rarer reason')} not shown here; the rejects are an artifact of this run." if rest > 0 else ""
    )
    columns = [
        Column("Reason"),
        Column("Column"),
        Column("Rows", "integer"),
        Column(
            "First places",
            help="File and line (or row), counted from 1, and the id if readable; of images in folders, the path",
        ),
    ]
    return DataTable("Rows that did not enter", columns, rows, note)


def _place(row: dict[str, object]) -> str:
    """Where a row stands that was turned away; an image of a folder is named by its path, and has no lines.

    >>> _place({"file": "a.csv", "row": 3, "id": "p7"}), _place({"file": "cat/1.png", "row": 1, "id": "cat/1.png"})
    ('a.csv:3 (p7)', 'cat/1.png')
    """
    if row["id"] == row["file"]:
        return str(row["file"])
    return f"{row['file']}:{row['row']}" + (f" ({row['id']})" if row["id"] else "")


def _contract(contracts: pa.Table) -> DataTable:
    rows: list[list[Cell]] = [
        [
            row["expectation"],
            row["column"] or "",
            row["success"],
            row["checked"],
            row["unexpected"],
            row["contract"],
            row["detail"] or "",
        ]
        for row in sorted(contracts.to_pylist(), key=lambda row: bool(row["success"]))
    ]
    columns = [
        Column("Expectation"),
        Column("Column"),
        Column("Held", "flag"),
        Column("Rows checked", "integer"),
        Column("Unexpected", "integer", "Rows that did not meet it"),
        Column("Contract"),
        Column("Detail"),
    ]
    held = all(row[2] for row in rows)
    return DataTable("Data contract (Great Expectations)", columns, rows, collapsed=held)
