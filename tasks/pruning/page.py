"""What pruning shows in the report: which labelling functions make the panel, which of them pruned the others, and the
headline that is followed over the nights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Part
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import FindingIndex

_LISTED = 12


def page(panel: pa.Table, correlation: float) -> Part:
    """The part of the report about pruning, from the `Panel` and δ, the correlation above which functions depend."""
    rows = panel.to_pylist()
    kept = [row for row in rows if row["kept"]]
    constant = [row["function"] for row in rows if row["constant"]]
    blocks: list[Block] = [_kept(panel)]
    if len(kept) < len(rows):
        blocks.append(_pruned(panel))
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


def _kept(panel: pa.Table) -> DataTable:
    pruned: dict[str, list[str]] = {}
    for row in panel.to_pylist():
        if not row["kept"]:
            pruned.setdefault(row["pruned_by"], []).append(row["function"])
    rows = [
        [*_place(row), len(pruned.get(row["function"], ())), ", ".join(sorted(pruned.get(row["function"], ())))]
        for row in sorted(panel.to_pylist(), key=lambda row: int(row["rank"]))
        if row["kept"]
    ]
    columns = [
        Column("Kept"),
        *_PLACE,
        Column("Pruned", "integer", "How many functions it pruned"),
        Column("The functions it pruned"),
    ]
    note = "First in line are the functions in most maximal cliques of dependent functions (Algorithm 1)."
    return DataTable("The panel, and whom each pruned", columns, rows, note)


def _pruned(panel: pa.Table) -> DataTable:
    rows: list[list[Cell]] = [
        [row["function"], row["pruned_by"], row["correlation"], *_place(row)[1:]]
        for row in sorted(panel.to_pylist(), key=lambda row: int(row["rank"]))
        if not row["kept"]
    ]
    columns = [Column("Pruned"), Column("By"), Column("Correlation with it", "number"), *_PLACE]
    return DataTable("Functions that were pruned", columns, rows, collapsed=True)


_PLACE = (
    Column("Rank", "integer", "Its place in the line of Algorithm 1, from 1"),
    Column("Cliques", "integer", "Maximal cliques of dependent functions that it is in"),
    Column("Neighbours", "integer", "Functions it depends on"),
    Column("Coverage", "bar", "Share of samples it votes on"),
)


def _place(row: Mapping[str, object]) -> list[Cell]:
    rank, cliques, degree, coverage = (row[name] for name in ("rank", "cliques", "degree", "coverage"))
    return [
        str(row["function"]),
        rank + 1 if isinstance(rank, int) else None,
        cliques if isinstance(cliques, int) else None,
        degree if isinstance(degree, int) else None,
        coverage if isinstance(coverage, float) else None,
    ]


def followed(findings: FindingIndex) -> Iterable[Headline]:
    """The number of rules that are kept."""
    return headline_of("Rules kept", findings.get("pruning.kept"), "number")
