"""What labelling shows in the report: the table of labelling functions, how much of the data they speak about, and the
headline that is followed over the nights.
"""

from __future__ import annotations

from operator import itemgetter

import pyarrow as pa

from assay.tasks.reporting.estimates import share_estimate, share_text
from assay.tasks.reporting.numerals import coefficient, integer, percent, plural
from assay.tasks.reporting.parts import Block, Column, DataTable, Mark, Part, RowColumn
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
    columns: list[RowColumn] = [
        (Column("Function"), itemgetter("function")),
        (Column("Says", help="The classes it votes for"), itemgetter("polarity")),
        (
            Column("Coverage", "bar", "Share of samples it votes on"),
            lambda row: share_estimate(row["votes"], row["samples"], counted=False),
        ),
        (Column("Overlaps", "percent", "Share of samples it and another function vote on"), itemgetter("overlaps")),
        (
            Column("Conflicts", "percent", "Share of samples it votes on and another function votes otherwise"),
            itemgetter("conflicts"),
        ),
        (
            Column(
                "Right where gold is known", "bar", "Share of its votes that match gold, with Wilson's 95 % interval"
            ),
            lambda row: share_estimate(row["gold_hits"], row["gold_votes"]),
        ),
        (Column("Faults", "integer", "Samples on which it failed; it abstains there"), itemgetter("faults")),
    ]
    if outcomes:
        panel_column = Column("Panel", help="Kept by Algorithm 1, or pruned because it depends on the one named")
        columns.append((panel_column, lambda row: outcomes.get(row["function"])))
    note = "Coverage, overlaps and conflicts are shares of all samples; thin lines are Wilson's 95 % intervals."
    return DataTable.of("Every labelling function", table.to_pylist(), columns, note)


def _outcomes(panel: pa.Table | None) -> dict[str, Mark]:
    """What became of each function, and by whom it was pruned; the kept ones first when the column is sorted."""
    outcomes = {}
    for row in [] if panel is None else panel.to_pylist():
        pruner = f"by {row['pruned_by']}, r = {coefficient(row['correlation'], 2)}"
        pruned = Mark("pruned", below=pruner, order=1.0 + row["rank"])
        outcomes[row["function"]] = Mark("kept", "good", order=0.0) if row["kept"] else pruned
    return outcomes


def _faults(table: pa.Table) -> DataTable:
    columns: list[RowColumn] = [
        (Column("Function"), itemgetter("function")),
        (Column("Faults", "integer"), itemgetter("faults")),
        (Column("One of them"), lambda row: row["fault_example"] or ""),
    ]
    return DataTable.of("Functions that failed", [row for row in table.to_pylist() if row["faults"]], columns)
