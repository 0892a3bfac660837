"""Classes that are named together, before and after an attack: chord diagrams, and the matrices they are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.tasks.reporting.numerals import integer
from assay.tasks.reporting.parts import Block, Cell, Chord, Chords, Column, DataTable
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.eps import eps_name

Matrix = npt.NDArray[np.int64]
_SHOWN = 24  # classes: a larger matrix is folded away and has no diagram


def label_blocks(findings: FindingIndex, counts: pa.Table, classes: Sequence[str]) -> list[Block]:
    """The diagrams and matrices of one attack on one subject; of single classes, what became of each."""
    rows = counts.to_pylist()
    if not rows:
        return []
    first = rows[0]
    where = f"{first['attack']}, {eps_name(first['eps']).replace('eps=', 'ε = ')}"
    sides = {side: _matrix(rows, side, len(classes)) for side in dict.fromkeys(row["side"] for row in rows)}
    if "moved" in sides:
        return [_transition_table(sides["moved"], classes, first["subject"], where, first["images"])]
    alone = {
        side: [row["alone"] for row in rows if row["side"] == side and row["first"] == row["second"]] for side in sides
    }
    blocks: list[Block] = []
    if len(classes) <= _SHOWN:
        blocks.append(_chords(sides, alone, classes, findings, first, where))
    blocks += [_co_occurrence_table(sides[side], alone[side], classes, first, side, where) for side in sides]
    return blocks


def _chords(
    sides: dict[str, Matrix],
    alone: dict[str, list[int]],
    classes: Sequence[str],
    findings: FindingIndex,
    first: dict[str, object],
    where: str,
) -> Chords:
    diagrams = []
    for side, matrix in sides.items():
        title = "clean" if side == "clean" else f"under {where}"
        group = "clean" if side == "clean" else eps_name(float(str(first["eps"])))
        pairs = findings.get("diagnostics.pairs_named", str(first["subject"]), str(first["attack"]), group)
        named = "" if pairs is None else f": {pairs.value:.2f} pairs per image"
        off = matrix - np.diag(np.diag(matrix))
        diagrams.append(Chord(f"{title}{named}", off.tolist(), alone[side], _alt(off, classes, title)))
    note = (
        f"What {first['subject']} says of {integer(int(str(first['images'])))} images. A band joins labels that are "
        "named together, as wide as that is frequent; the paler end of an arc is the label alone. Both circles are "
        "drawn to one scale."
    )
    return Chords(f"{first['subject']}: labels named together, {where}", list(classes), diagrams, "images", note)


def _co_occurrence_table(
    matrix: Matrix, alone: Sequence[int], classes: Sequence[str], first: dict[str, object], side: str, where: str
) -> DataTable:
    columns = [Column("Label"), *(Column(name, "integer") for name in classes), Column("alone", "integer")]
    rows: list[list[Cell]] = [
        [name, *(int(one) for one in matrix[at]), int(alone[at])] for at, name in enumerate(classes)
    ]
    title = f"{first['subject']}: images that bear both labels, {'clean' if side == 'clean' else where}"
    note = f"Of {integer(int(str(first['images'])))} images; on the diagonal, those that bear the label at all."
    return DataTable(title, columns, rows, note, collapsed=True)


def _transition_table(matrix: Matrix, classes: Sequence[str], subject: str, where: str, images: int) -> DataTable:
    columns = [Column("Said clean"), *(Column(name, "integer") for name in classes)]
    rows: list[list[Cell]] = [[name, *(int(one) for one in matrix[at])] for at, name in enumerate(classes)]
    note = f"Rows: what is said of the clean image; columns: of the same image under {where}. {integer(images)} images."
    return DataTable(f"{subject}: what became of what it said, {where}", columns, rows, note, len(classes) > _SHOWN)


def _matrix(rows: Sequence[dict[str, object]], side: str, classes: int) -> Matrix:
    matrix = np.zeros((classes, classes), np.int64)
    for row in rows:
        if row["side"] == side:
            matrix[int(str(row["first"])), int(str(row["second"]))] = int(str(row["count"]))
    return matrix


def _alt(off: Matrix, classes: Sequence[str], title: str) -> str:
    """The most frequent pairs in words."""
    upper = np.triu(off)
    order = upper.ravel().argsort(kind="stable")[::-1][:3]
    named = [
        f"{classes[at // len(classes)]} and {classes[at % len(classes)]} {upper.ravel()[at]} times"
        for at in order.tolist()
        if upper.ravel()[at]
    ]
    return f"Labels named together, {title}: {'; '.join(named) or 'none'}."
