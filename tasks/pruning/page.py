"""What pruning shows in the report: which labelling functions make the panel, which of them pruned the others, and the
headline that is followed over the nights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.reporting.parts import Block, Column, DataTable, Part, RowColumn

_LISTED = 12


def page(panel: pa.Table, correlation: float) -> Part:
    """The part of the report about pruning, from the `Panel` and δ, the correlation above which functions depend."""
    rows = panel.to_pylist()
    ranked = sorted(rows, key=itemgetter("rank"))
    kept = [row for row in rows if row["kept"]]
    constant = [row["function"] for row in rows if row["constant"]]
    blocks: list[Block] = [_kept(ranked)]
    if len(kept) < len(rows):
        blocks.append(_pruned(ranked))
    rules = plural(len(rows), "labelling function")
    if len(kept) == len(rows):
        sentence = f"All {rules} are kept: no two of them correlate by more than δ = {plain(correlation)}."
    else:
        sentence = (
            f"{len(kept)} of {rules} are kept, no two of which correlate by more than δ = {plain(correlation)}; "
            f"the other {len(rows) - len(kept)} each depend on one of them."
        )
    if constant:
        named = ", ".join(constant[:_LISTED]) + (" and others" if len(constant) > _LISTED else "")
        sentence += f" {plural(len(constant), 'function')} never varied, and so could depend on nothing: {named}."
    return Part("Panel", sentence, blocks, "pruning")


_PLACE: tuple[RowColumn, ...] = (
    (Column("Rank", "integer", "Its place in the line of Algorithm 1, from 1"), lambda row: row["rank"] + 1),
    (Column("Cliques", "integer", "Maximal cliques of dependent functions that it is in"), itemgetter("cliques")),
    (Column("Neighbours", "integer", "Functions it depends on"), itemgetter("degree")),
    (Column("Coverage", "bar", "Share of samples it votes on"), itemgetter("coverage")),
)


def _kept(rows: Sequence[Mapping[str, Any]]) -> DataTable:
    pruned_by = {
        row["function"]: sorted(other["function"] for other in rows if other["pruned_by"] == row["function"])
        for row in rows
    }
    columns: list[RowColumn] = [
        (Column("Kept"), itemgetter("function")),
        *_PLACE,
        (Column("Pruned", "integer", "How many functions it pruned"), lambda row: len(pruned_by[row["function"]])),
        (Column("The functions it pruned"), lambda row: ", ".join(pruned_by[row["function"]])),
    ]
    note = "First in line are the functions in most maximal cliques of dependent functions (Algorithm 1)."
    return DataTable.of("The panel, and whom each pruned", [row for row in rows if row["kept"]], columns, note)


def _pruned(rows: Sequence[Mapping[str, Any]]) -> DataTable:
    columns: list[RowColumn] = [
        (Column("Pruned"), itemgetter("function")),
        (Column("By"), itemgetter("pruned_by")),
        (Column("Correlation with it", "number"), itemgetter("correlation")),
        *_PLACE,
    ]
    pruned = [row for row in rows if not row["kept"]]
    return DataTable.of("Functions that were pruned", pruned, columns, collapsed=True)
