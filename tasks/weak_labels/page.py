"""What weak labelling shows in the report: what each labeler's votes weigh, and whether Snorkel's training settled."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pyarrow as pa

from assay.tasks.reporting.numerals import interval, number, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, Part
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.weak_labels.labelers import labeled_by

_BARS = 40


def page(findings: FindingIndex, models: Mapping[str, pa.Table]) -> Part:
    """The part of the report about weak labels, from the `LabelModel` of each labeler, by the labeler's name."""
    sentences = [_labeler(name, table) for name, table in models.items()]
    sentences += map(_indecision, measured(findings.select("weak_labels.undecided")))
    weighing = {name: table for name, table in models.items() if not labeled_by(table)}
    blocks: list[Block] = [_weights_plot(name, table) for name, table in weighing.items() if len({*_values(table)}) > 1]
    if weighing:
        blocks.append(_weights(weighing))
    unsettled = any(_training(table) is not None and math.isnan(_training(table) or 0.0) for table in models.values())
    return Part(
        "Weak labels",
        " ".join(sentences),
        blocks,
        "weak-labels",
        "bad" if unsettled else "neutral",
        "not converged" if unsettled else "",
    )


def _labeler(name: str, table: pa.Table) -> str:
    functions = plural(table.num_rows, "labelling function")
    settled = _training(table)
    if labeled_by(table):
        return f"{name.capitalize()} makes probabilities of the votes of {functions} in a way of its own."
    if settled is None:
        return f"{name.capitalize()} counts the votes of {functions}, each with the same weight."
    epochs, first, last = (_first(table, column) for column in ("epochs", "first_loss", "last_loss"))
    loss = f"its loss fell from {number(first)} to {number(last)}"
    if math.isnan(settled):
        return (
            f"{name.capitalize()} learned the weights of {functions} in {plural(round(epochs), 'epoch')} and had not "
            f"converged: {loss} and was still falling. More epochs would move the weights."
        )
    return (
        f"{name.capitalize()} learned the weights of {functions}; the training converged after "
        f"{plural(round(settled), 'epoch')} of {number(epochs)}: {loss}."
    )


def _indecision(finding: Finding) -> str:
    samples = plural(finding.n or 0, "sample")
    if not finding.value:
        return f"{finding.group.capitalize()} decides all of {samples}."
    share = f"{percent(finding.value)} {interval(finding.low, finding.high)}"
    return f"{finding.group.capitalize()} leaves {share} of {samples} undecided; they get the default label."


def _weights_plot(name: str, table: pa.Table) -> BarPlot:
    pairs = sorted(zip(_names(table), _values(table), strict=True), key=lambda pair: (-pair[1], pair[0]))[:_BARS]
    rest = table.num_rows - len(pairs)
    top, bottom = pairs[0], pairs[-1]
    return BarPlot(
        f"What a vote weighs ({name})",
        [pair[0] for pair in pairs],
        [pair[1] for pair in pairs],
        "weight",
        f"{plural(len(pairs), 'bar')}, from {top[0]} ({number(top[1])}) to {bottom[0]} ({number(bottom[1])}).",
        note=f"The {len(pairs)} heaviest; {rest} lighter ones are in the table." if rest else "",
    )


def _weights(models: Mapping[str, pa.Table]) -> DataTable:
    functions = list(dict.fromkeys(name for table in models.values() for name in _names(table)))
    weights = {labeler: dict(zip(_names(table), _values(table), strict=True)) for labeler, table in models.items()}
    rows: list[list[Cell]] = [[name, *(weights[labeler].get(name) for labeler in models)] for name in functions]
    columns = [Column("Function"), *(Column(f"Weight, {labeler}", "number") for labeler in models)]
    return DataTable("Weights of all labelers", columns, rows, collapsed=True)


def _training(table: pa.Table) -> float | None:
    """The epoch after which the training had settled, NaN where it had not, None where nothing was trained."""
    return _first(table, "settled_after") if "settled_after" in table.column_names and table.num_rows else None


def _first(table: pa.Table, column: str) -> float:
    return float(table.column(column)[0].as_py())


def _names(table: pa.Table) -> list[str]:
    return [str(name) for name in table.column("function").to_pylist()]


def _values(table: pa.Table) -> list[float]:
    return [float(weight) for weight in table.column("weight").to_pylist()]
