"""What labelling shows in the report: the table of labelling functions, how much of the data they speak about, and the
headline that is followed over the nights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from assay.tasks.reporting.estimates import share_estimate, share_text
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Mark, Part
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import FindingIndex


def page(findings: FindingIndex, table: pa.Table, panel: pa.Table | None = None) -> Part:
    """The part of the report about labelling, from the `LabelingTable`, and the `Panel` where pruning has run."""
    faults = sum(table.column("faults").to_pylist())
    blocks: list[Block] = [_functions(table, panel)]
    if faults:
        blocks.append(_faults(table))
    sentence = f"{_coverage(table, findings)} {_fault_sentence(faults, table)}".strip()
    return Part("Labelling functions", sentence, blocks, "labeling")


def _coverage(table: pa.Table, findings: FindingIndex) -> str:
    rules = plural(table.num_rows, "labelling function")
    covered, disputed = findings.get("labeling.coverage"), findings.get("labeling.conflicts")
    if covered is None:
        return f"{rules} voted."
    sentence = f"{rules} vote on {share_text(covered)} of {plural(covered.n or 0, 'sample')}"
    return f"{sentence}; on {share_text(disputed)} at least two of them disagree." if disputed else f"{sentence}."


def _fault_sentence(faults: int, table: pa.Table) -> str:
    if not faults:
        return ""
    answers = sum(table.column("samples").to_pylist())
    rate = percent(faults / answers, 2) if answers else ""
    return f"{integer(faults)} of {integer(answers)} answers ({rate}) failed and count as abstentions."


def _functions(table: pa.Table, panel: pa.Table | None) -> DataTable:
    outcomes = _outcomes(panel)
    rows = [_function(row, outcomes) for row in table.to_pylist()]
    columns = [
        Column("Function"),
        Column("Says", help="The classes it votes for"),
        Column("Coverage", "bar", "Share of samples it votes on"),
        Column("Overlaps", "percent", "Share of samples it and another function vote on"),
        Column("Conflicts", "percent", "Share of samples it votes on and another function votes otherwise"),
        Column("Right where gold is known", "bar", "Share of its votes that match gold, with Wilson's 95 % interval"),
        Column("Faults", "integer", "Samples on which it failed; it abstains there"),
    ]
    if outcomes:
        columns.append(Column("Panel", help="Kept by Algorithm 1, or pruned because it depends on the one named"))
    note = "Coverage, overlaps and conflicts are shares of all samples; thin lines are Wilson's 95 % intervals."
    return DataTable("Every labelling function", columns, rows, note)


def _function(row: Mapping[str, object], outcomes: Mapping[str, Mark]) -> list[Cell]:
    name, n = str(row["function"]), _count(row["samples"])
    cells: list[Cell] = [
        name,
        str(row["polarity"]),
        share_estimate(_count(row["votes"]), n, counted=False),
        _number(row["overlaps"]),
        _number(row["conflicts"]),
        share_estimate(_count(row["gold_hits"]), _count(row["gold_votes"])),
        _count(row["faults"]),
    ]
    return [*cells, outcomes.get(name)] if outcomes else cells


def _outcomes(panel: pa.Table | None) -> dict[str, Mark]:
    """What became of each function, the kept ones first when the column is sorted."""
    if panel is None:
        return {}
    return {
        row["function"]: Mark("kept", "good", order=0.0)
        if row["kept"]
        else Mark("pruned", below=f"by {row['pruned_by']}", order=1.0 + row["rank"])
        for row in panel.to_pylist()
    }


def _faults(table: pa.Table) -> DataTable:
    rows: list[list[Cell]] = [
        [row["function"], row["faults"], row["fault_example"] or ""] for row in table.to_pylist() if row["faults"]
    ]
    columns = [Column("Function"), Column("Faults", "integer"), Column("One of them")]
    return DataTable("Functions that failed", columns, rows)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def followed(findings: FindingIndex) -> Iterable[Headline]:
    """The coverage of all rules together."""
    return headline_of("Samples some rule votes on", findings.get("labeling.coverage"))
