"""What data shows at a first look, before anybody says what it means: its columns and what stands in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.flows.starting.addresses import Address
from assay.infra.seeds import Seeds
from assay.tasks.ingest.casting import cast_text
from assay.tasks.ingest.files import opened
from assay.tasks.ingest.image_folder import CLASS, SPLIT, listing
from assay.tasks.ingest.layout import Layout
from assay.tasks.ingest.pieces import Reading, index_file, plan_pieces, read_span
from assay.tasks.ingest.pixels import UnfitError, decoded
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve

MOST_ROWS = 20_000
_BLOCK = 500
_SIZES = 200
"""So many images are opened to see what sizes there are."""
_WORDS = 3.0
"""A column of texts has more words a cell than this, on average."""

_TEXTS = ("text", "comment", "review", "body", "message", "content", "sentence", "note", "report", "title")

Holds = Literal["numbers", "words", "texts", "other"]


@dataclass(frozen=True)
class Column:
    """A column at a first look: what it holds, how many values differ, how many are missing, and the commonest."""

    name: str
    holds: Holds
    whole: bool
    rows: int
    distinct: int
    missing: int
    values: tuple[str, ...] = ()
    """Its values in order of how often they stand there, where they are few."""
    counts_rows: bool = False
    """Whether it counts the rows: 0, 1, 2, … or 1, 2, 3, …"""

    @property
    def is_unique(self) -> bool:
        """Whether no value stands there twice, and none is missing."""
        return self.rows > 1 and self.distinct == self.rows


@dataclass(frozen=True)
class Look:
    """Data at a first look: its columns, or of images the classes, parts, sizes and modes of their folders."""

    address: Address
    rows: int
    looked_at: int
    columns: tuple[Column, ...] = ()
    others: tuple[str, ...] = ()
    """Columns of lists, bytes and the like, which a start makes nothing of."""
    classes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    shapes: tuple[tuple[int, int, int], ...] = ()
    """Channels (0 where they have to be said), height and width of images, as many as differ."""

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((one for one in self.columns if one.name == name), None)


MOST_VALUES = 20
"""A column with more different values is no column of classes."""


def look(address: Address, base: Path) -> Look:
    """What the data at an address shows; a seeded part of it where there is much."""
    source = Source.model_validate(address.settings)
    return _at_images(address, source, base) if address.origin == "images" else _at_table(address, source, base)


def _at_table(address: Address, source: Source, base: Path) -> Look:
    resolved = resolve(source, base)
    reader = READERS.named(resolved.files[0].format, resolved.settings)
    types, heads = reader.columns(resolved.files, resolved.settings)
    plain = pa.schema([pa.field(one.name, one.type) for one in types if _is_plain(one.type)])
    names = tuple(plain.names)
    layout = Layout(
        plain, None, None, names, (), delimiter=source.delimiter, closed=True, heads=heads, source=resolved.settings
    )
    files = [index_file(file, layout) for file in resolved.files]
    rows = sum(file.rows for file in files)
    reading = Reading(layout, {file.name: file.url for file in resolved.files})
    pieces = plan_pieces(files, max(1, math.ceil(rows / _BLOCK)) if rows > MOST_ROWS else None)
    drawn = Seeds(0, "first look").generator().permutation(len(pieces))
    wanted = max(1, MOST_ROWS // _BLOCK) if rows > MOST_ROWS else len(pieces)
    parts = [
        _typed(read_span(span, reading, names).table, plain)
        for at in np.sort(drawn[:wanted])
        for span in pieces[at].spans
    ]
    table = pa.concat_tables(parts) if parts else plain.empty_table()
    others = tuple(one.name for one in types if one.name not in names)
    return Look(address, rows, table.num_rows, tuple(column_of(table[name], name) for name in names), others)


def _typed(table: pa.Table, types: pa.Schema) -> pa.Table:
    columns = []
    for kind in types:
        column = table[kind.name].combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        columns.append(column if column.type == kind.type else cast_text(column, kind.type)[0])
    return pa.table(columns, schema=types)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of the type can be counted and shown: the others are left to the pipeline's own settings."""
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return bool(numbers or pa.types.is_string(kind) or pa.types.is_timestamp(kind))


def column_of(values: pa.ChunkedArray, name: str) -> Column:
    """What a column shows.

    >>> column_of(pa.chunked_array([["a", "b", "a", None]]), "kind")
    Column(name='kind', holds='words', whole=False, rows=4, distinct=2, missing=1, values=('a', 'b'), counts_rows=False)
    """
    kind, rows = values.type, len(values)
    whole = bool(pa.types.is_integer(kind))
    known = values.drop_null()
    if pa.types.is_string(kind):
        known = known.filter(pc.not_equal(pc.utf8_trim_whitespace(known), ""))
    counts = known.value_counts()
    distinct = len(counts)
    common = (
        sorted(counts.to_pylist(), key=lambda one: (-one["counts"], _shown(one["values"])))
        if distinct <= MOST_VALUES
        else []
    )
    few = tuple(_shown(one["values"]) for one in common)
    missing = rows - len(known)
    counting = whole and distinct == rows and rows > 2 and _counts(known)
    return Column(name, _holds(kind, known, name), whole, rows, distinct, missing, few, counting)


def _holds(kind: pa.DataType, known: pa.ChunkedArray, name: str) -> Holds:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if pa.types.is_boolean(kind):
        return "words"
    if not pa.types.is_string(kind):
        return "other"
    words = pc.mean(pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(known)))).as_py() or 0
    many = len(known.unique()) > MOST_VALUES or name.lower() in _TEXTS
    return "texts" if words > _WORDS and many else "words"


def _counts(values: pa.ChunkedArray) -> bool:
    lowest, highest = pc.min_max(values).as_py().values()
    return lowest in (0, 1) and highest - lowest == len(values) - 1


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at_images(address: Address, source: Source, base: Path) -> Look:
    resolved = resolve(source, base)
    table = listing([file.name for file in resolved.files])
    chosen = Seeds(0, "first look").generator().permutation(len(resolved.files))[:_SIZES]
    shapes = {_shape(resolved.files[at].url, resolved.files[at].name) for at in chosen} - {None}
    classes = tuple(sorted(table[CLASS].unique().to_pylist()))
    parts = tuple(sorted(table[SPLIT].unique().to_pylist())) if SPLIT in table.column_names else ()
    return Look(
        address, len(table), len(table), classes=classes, parts=parts, shapes=tuple(sorted(filter(None, shapes)))
    )


def _shape(url: str, name: str) -> tuple[int, int, int] | None:
    """Channels (0 where they are to be said: palettes, transparency), height and width; None of what is no image."""
    with opened(url, name) as file:
        content = file.read()
    for channels in (None, 3):
        try:
            picture = decoded(content, channels)
        except UnfitError:
            continue
        depth, height, width = picture.shape
        return (depth if channels is None else 0), height, width
    return None
