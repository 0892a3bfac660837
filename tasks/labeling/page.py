"""What labelling shows in the report: the table of labelling functions, and how much of the data they speak about."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from assay.tasks.reporting.estimates import column, share_estimate, share_text, table_of
from assay.tasks.reporting.numerals import coefficient, integer, percent, plural
from assay.tasks.reporting.parts import Block, Cell, DataTable, Mark, Part
from assay.tasks.statistics.findings import FindingIndex


def page(findings: FindingIndex, table: pa.Table, panel: pa.Table | None = None) -> Part:
    """The part of the report about labelling, from the `LabelingTable`, and the `Panel` where pruning has run."""
    faults = sum(table.column("faults").to_pylist())
    blocks: list[Block] = [_functions(table, panel)]
    if faults:
        blocks.append(_faults(table))
    sentence = plural(table.num_rows, "labelling function")
    covered, disputed = findings.get("labeling.coverage"), findings.get("labeling.conflicts")
    if covered is None:
        sentence += " voted."
    else:
        sentence += f" vote on {share_text(covered)} of {plural(covered.n or 0, 'sample')}"
        sentence += f"; on {share_text(disputed)} at least two of them disagree." if disputed else "."
    if faults:
        answers = sum(table.column("samples").to_pylist())
        rate = percent(faults / answers, 2) if answers else ""
        sentence += f" {integer(faults)} of {integer(answers)} answers ({rate}) failed and count as abstentions."
    return Part("Labelling functions", sentence, blocks, "labeling")


def _functions(table: pa.Table, panel: pa.Table | None) -> DataTable:
    outcomes = _outcomes(panel)
    panelled = "Kept by Algorithm 1, or pruned because it depends on the one named"
    matching = "Share of its votes that match gold, with Wilson's 95 % interval"
    voting_otherwise = "Share of samples it votes on and another function votes otherwise"

    def covered(row: Mapping[str, int]) -> Cell:
        return share_estimate(row["votes"], row["samples"], counted=False)

    def right(row: Mapping[str, int]) -> Cell:
        return share_estimate(row["gold_hits"], row["gold_votes"])

    columns = [
        column("Function", "function"),
        column("Says", "polarity", help="The classes it votes for"),
        column("Coverage", covered, "bar", "Share of samples it votes on"),
        column("Overlaps", "overlaps", "percent", "Share of samples it and another function vote on"),
        column("Conflicts", "conflicts", "percent", voting_otherwise),
        column("Right where gold is known", right, "bar", matching),
        column("Faults", "faults", "integer", "Samples on which it failed; it abstains there"),
        *([column("Panel", lambda row: outcomes.get(row["function"]), help=panelled)] if outcomes else []),
    ]
    note = "Coverage, overlaps and conflicts are shares of all samples; thin lines are Wilson's 95 % intervals."
    return table_of("Every labelling function", table.to_pylist(), columns, note)


def _outcomes(panel: pa.Table | None) -> dict[str, Mark]:
    """What became of each function, and by whom it was pruned; the kept ones first when the column is sorted."""
    outcomes = {}
    for row in [] if panel is None else panel.to_pylist():
        pruner = f"by {row['pruned_by']}, r = {coefficient(row['correlation'], 2)}"
        pruned = Mark("pruned", below=pruner, order=1.0 + row["rank"])
        outcomes[row["function"]] = Mark("kept", "good", order=0.0) if row["kept"] else pruned
    return outcomes


def _faults(table: pa.Table) -> DataTable:
    columns = [
        column("Function", "function"),
        column("Faults", "faults", "integer"),
        column("One of them", lambda row: row["fault_example"] or ""),
    ]
    return table_of("Functions that failed", [row for row in table.to_pylist() if row["faults"]], columns)
