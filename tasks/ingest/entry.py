"""The door: which rows become samples, and the reason of each one that does not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.data.images import COLUMNS
from assay.data.schemas import Samples
from assay.tasks.ingest.casting import NOUNS, cast_text, shown
from assay.tasks.ingest.classes import gold_codes, not_a_class
from assay.tasks.ingest.column_types import out_of_calendar
from assay.tasks.ingest.image_cells import pictures
from assay.tasks.ingest.layout import Layout
from assay.tasks.ingest.multilabel import marked, marks_column
from assay.tasks.ingest.pieces import Reading
from assay.tasks.ingest.pixels import UnfitError
from assay.tasks.ingest.rows import Reject, Rows, rejects_table
from assay.tasks.ingest.truths import checked_scores, checked_tags
from assay.tasks.statistics.groups import GROUP, group_names


class Door:
    """Turns rows away, each once and for the first reason that is found."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.closed = np.zeros(len(rows.positions), dtype=bool)
        self.ids: pa.Array | None = None
        self.rejects: list[Reject] = list(rows.rejects)

    def reject(self, positions: NDArray[np.int64], reasons: Iterable[str], column: str | None) -> None:
        """Turn away the rows at these positions (of the table)."""
        for position, reason in zip(positions.tolist(), reasons, strict=True):
            if not self.closed[position]:
                self.closed[position] = True
                known = self.ids[position].as_py() if self.ids is not None else None
                file, row = self.rows.place(position)
                self.rejects.append(Reject(file, row, reason, column, known or None))


def enter(rows: Rows, reading: Reading, classes: tuple[str, ...]) -> tuple[pa.Table, pa.Table]:
    """The rows of one file as Samples and Rejects: typed, identified, with the code of their gold class.

    A row is turned away for a cell that does not fit its column's type, no id, a label that is no class, a missing
    value where one is required, a vote outside the classes, or an image that cannot be had or differs from the others.
    """
    layout = reading.layout
    door = Door(rows)
    ids = ids_of(rows, layout)
    door.ids = ids if layout.id is not None else None
    _require(door, pc.equal(pc.fill_null(ids, ""), ""), "there is no id", layout.id)
    columns = {name: _typed(door, name, layout) for name in layout.types.names if name != layout.id}
    gold = _gold(door, columns, layout, classes)
    columns |= _truths(door, columns, layout)
    for name in layout.required:
        if name in columns:
            _require(door, _missing(columns[name]), f"{name} is missing and required", name)
    features = {
        name: _vote(door, name, columns[name], classes) if name in layout.votes else columns[name]
        for name in layout.features
    }
    features |= _labels(door, columns, layout, classes)
    features |= _images(door, reading)
    if layout.group is not None:
        features[GROUP] = group_names(ids if layout.group == layout.id else columns[layout.group])
    table = pa.table({"id": ids, "gold": gold, **features}).filter(pa.array(~door.closed))
    fields = [*Samples.schema, *(pa.field(name, column.type) for name, column in features.items())]
    return pa.table(table.columns, schema=pa.schema(fields)), rejects_table(door.rejects)


def ids_of(rows: Rows, layout: Layout) -> pa.Array:
    """The id column as text, or `file:row` for each row."""
    if layout.id is not None:
        ids = rows.table.column(layout.id).combine_chunks().cast(pa.string())
        return pc.utf8_trim_whitespace(ids)
    return pc.binary_join_element_wise(rows.file, pa.array(rows.positions).cast(pa.string()), ":")


def _typed(door: Door, name: str, layout: Layout) -> pa.Array:
    """A column in its type; cells of text files that do not fit close the door to their rows."""
    column, target = door.rows.table.column(name).combine_chunks(), layout.types.field(name).type
    if column.type == target or pa.types.is_integer(column.type):
        strange = out_of_calendar(column)
        door.reject(strange, ("a time outside the years 1 to 9999" for _ in strange), name)
        return column
    values, bad = cast_text(column, target)
    noun = NOUNS.get(target, str(target))
    door.reject(bad, (f"{shown(value)} is not {noun}" for value in column.take(pa.array(bad)).to_pylist()), name)
    return values


def _gold(door: Door, columns: dict[str, pa.Array], layout: Layout, classes: tuple[str, ...]) -> pa.Array:
    if layout.label is None:
        return pa.nulls(len(door.closed), pa.int16())
    coded = gold_codes(columns[layout.label], classes)
    door.reject(coded.bad, (not_a_class(value, classes) for value in coded.values), layout.label)
    shown_there = _shown(columns, layout)
    return coded.codes if shown_there is None else pc.if_else(shown_there, coded.codes, pa.scalar(None, pa.int16()))


def _truths(door: Door, columns: dict[str, pa.Array], layout: Layout) -> dict[str, pa.Array]:
    """The columns of tags and scores that are not classes, each row of them checked; what is hidden is null."""
    truths: dict[str, pa.Array] = {}
    if layout.tagged is not None:
        words, tags = layout.tagged
        truths[tags], faults = checked_tags(columns[words], columns[tags])
        for position, reason in faults:
            door.reject(np.array([position]), [reason], tags)
    if layout.score is not None:
        truths[layout.score], bad = checked_scores(columns[layout.score])
        door.reject(bad, ("an infinite score" for _ in bad), layout.score)
    shown_there = _shown(columns, layout)
    if shown_there is not None:
        for name in truths:
            truths[name] = pc.if_else(shown_there, truths[name], pa.scalar(None, truths[name].type))
    return truths


def _shown(columns: dict[str, pa.Array], layout: Layout) -> pa.Array | None:
    """Whether each row's truth is used, or None where all of it is: that of the parts named in `gold_in`."""
    if layout.gold_in is None or layout.split is None:
        return None
    part = columns[layout.split].cast(pa.string())
    return pc.is_in(part, value_set=pa.array(layout.gold_in, pa.string()))


def _labels(door: Door, columns: dict[str, pa.Array], layout: Layout, classes: tuple[str, ...]) -> dict[str, pa.Array]:
    """The column `labels`, where samples bear several classes; what is hidden is unknown."""
    if layout.labels is None:
        return {}
    parsed = marked(layout.labels, [columns[name] for name in layout.labels.names], classes)
    for position, reason, column in parsed.faults:
        door.reject(np.array([position]), [reason], column)
    shown_there = _shown(columns, layout)
    if shown_there is not None:
        parsed.marks[~pc.fill_null(shown_there, False).to_numpy(zero_copy_only=False)] = -1
    return {"labels": marks_column(parsed.marks)}


def _images(door: Door, reading: Reading) -> dict[str, pa.Array]:
    """The pixels of each row that is still to enter, and their extents; empty where the image does not fit."""
    image = reading.layout.image
    if image is None:
        return {}
    assert image.form is not None
    blobs = [b""] * len(door.closed)
    for position, picture in pictures(door.rows, image, reading, door.closed):
        if isinstance(picture, UnfitError):
            door.reject(np.array([position]), [str(picture)], image.name if door.rows.files is None else None)
        else:
            blobs[position] = picture.tobytes()
    extents = (image.form.height, image.form.width, image.form.channels)
    sizes = [pa.array(np.full(len(blobs), extent, np.int16)) for extent in extents]
    return dict(zip(COLUMNS, [pa.array(blobs, pa.large_binary()), *sizes], strict=True))


def _vote(door: Door, name: str, column: pa.Array, classes: tuple[str, ...]) -> pa.Array:
    """A column of votes as int8; nothing at all is an abstention."""
    votes = pc.fill_null(column, -1)
    outside = pc.or_(pc.less(votes, -1), pc.greater_equal(votes, len(classes)))
    bad = np.flatnonzero(outside.to_numpy(zero_copy_only=False)).astype(np.int64)
    expected = f"-1 to abstain or a class from 0 to {len(classes) - 1}"
    values = votes.take(pa.array(bad)).to_pylist()
    door.reject(bad, (f"{name} votes {value}, and a vote is {expected}" for value in values), name)
    return pc.if_else(outside, pa.scalar(-1, votes.type), votes).cast(pa.int8())


def _missing(column: pa.Array) -> pa.Array:
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    return pc.or_(missing, pc.equal(column, "")) if pa.types.is_string(column.type) else missing


def _require(door: Door, absent: pa.Array, reason: str, column: str | None) -> None:
    bad = np.flatnonzero(pc.fill_null(absent, True).to_numpy(zero_copy_only=False)).astype(np.int64)
    door.reject(bad, (reason for _ in range(len(bad))), column)
