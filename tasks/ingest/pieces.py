"""The reading plan: which rows of which files make a piece that a worker reads on its own."""

from __future__ import annotations

import bisect
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from assay.tasks.ingest.files import SourceFile
from assay.tasks.ingest.iob_rows import Shape
from assay.tasks.ingest.layout import Layout
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.rows import Rows
from assay.tasks.ingest.spans import FileIndex, Span
from assay.tasks.ingest.tag_conventions import IOB2

GIVEN = "table"
"""What the format of a table in memory is called."""
TEXTS = ("csv", "jsonl", "iob")
"""Formats whose rows are counted by lines."""

PIECE_BYTES = 64 << 20
PIECE_ROWS = 100_000
PIECE_IMAGES = 256
MOST_BYTES = 512 << 20
"""A piece is about `PIECE_BYTES` or `PIECE_ROWS` (of images `PIECE_IMAGES`), whichever is less; never above
`MOST_BYTES`, whatever is asked."""
ALONE = 0.2
"""Files of at least this share of a piece are cut by themselves."""


@dataclass(frozen=True)
class Piece:
    """What one worker reads in one go: spans of one or several files."""

    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        """Accept the spans of a plan that was written down as JSON."""
        spans = (span if isinstance(span, Span) else Span(**span) for span in self.spans)
        object.__setattr__(self, "spans", tuple(spans))

    @property
    def place(self) -> str:
        """Which rows of which files, in words.

        >>> Piece((Span("a.csv", "csv", 10, 90, 2), Span("b.csv", "csv", 0, 50, 1))).place
        'a.csv from line 2, b.csv from line 1'
        """
        places = [
            f"{span.name} from {'line' if span.format in TEXTS else 'row'} {span.first}" for span in self.spans[:3]
        ]
        more = f" and {len(self.spans) - 3} more files" if len(self.spans) > 3 else ""
        return ", ".join(places) + more


@dataclass(frozen=True)
class Reading:
    """What every piece of a source needs to be read: the layout, where the files lie, the table if it is given."""

    layout: Layout
    urls: Mapping[str, str] = field(default_factory=dict)
    table: pa.Table | None = None
    convention: str = IOB2
    """How the tags of IOB files are written."""
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """What the sentences of each IOB file have in common."""
    folder: str = ""
    """Where the names of a listing of images are to be found."""

    @property
    def most_rows(self) -> int:
        """How many rows a piece has at most, unless somebody asks for fewer pieces."""
        return PIECE_ROWS if self.layout.image is None else PIECE_IMAGES


def index_file(file: SourceFile, layout: Layout) -> FileIndex:
    """The index of a file; text files are read once for it, of Parquet files only the footer."""
    return READERS.named(file.format, layout.source).index(file, layout)


def index_table(table: pa.Table, name: str) -> FileIndex:
    """The index of a table in memory."""
    return FileIndex(name, GIVEN, table.num_rows, table.nbytes)


def plan_pieces(files: list[FileIndex], partitions: int | None = None, most_rows: int = PIECE_ROWS) -> list[Piece]:
    """All rows of all files, in order: cut by file, or as about `partitions` pieces of about the same number of rows.

    Cut by file, a file of some size keeps its pieces whatever other files there are; small ones share a piece with
    their neighbours (`runs_of_files`).
    """
    if partitions is None:
        runs = runs_of_files(files, most_rows)
        return [piece for run in runs for piece in _even_pieces(run, _pieces_of(run, most_rows))]
    size = sum(file.bytes for file in files)
    return _even_pieces(files, max(partitions, math.ceil(size / MOST_BYTES)))


def runs_of_files(files: Sequence[FileIndex], most_rows: int) -> list[list[FileIndex]]:
    """The files that are cut together, in their order: each by itself, but small ones in runs.

    Where a run begins is up to the name and the size of the file it begins with (a hash decides, on average at half a
    piece), so that a file that is new, or gone, changes the run that it is in and no other. Only a run that would grow
    above one piece is closed by what is in it.
    """
    runs: list[list[FileIndex]] = []
    room = 0.0
    for file in files:
        size = _share_of_a_piece(file, most_rows)
        if not runs or size >= ALONE or size > room or _begins_a_run(file.name, size):
            runs.append([])
            room = 0.0 if size >= ALONE else 1.0
        runs[-1].append(file)
        room -= size
    return runs


def _share_of_a_piece(file: FileIndex, most_rows: int) -> float:
    return max(file.bytes / PIECE_BYTES, file.rows / most_rows)


def _begins_a_run(name: str, size: float) -> bool:
    drawn = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
    return drawn < 2 * size


def _pieces_of(files: Sequence[FileIndex], most_rows: int) -> int:
    rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    return max(1, math.ceil(size / PIECE_BYTES), math.ceil(rows / most_rows))


def _even_pieces(files: Sequence[FileIndex], wanted: int) -> list[Piece]:
    """The rows of the files as so many pieces, of about the same number of rows."""
    rows = sum(file.rows for file in files)
    pieces = min(wanted, max(rows, 1))
    bounds = [rows * number // pieces for number in range(pieces + 1)]
    spans: list[list[Span]] = [[] for _ in range(pieces)]
    before = 0
    for file in files:
        number = bisect.bisect_right(bounds, before) - 1
        while number < pieces and bounds[number] < before + file.rows:
            start, stop = max(bounds[number], before) - before, min(bounds[number + 1] - before, file.rows)
            span = file.span(start, stop) if start < stop else None
            if span is not None:
                spans[number].append(span)
            number += 1
        before += file.rows
    return [Piece(tuple(group)) for group in spans if group]


def read_span(span: Span, reading: Reading, wanted: tuple[str, ...] | None = None) -> Rows:
    """The rows of a span: text columns of CSV, typed columns of everything else; only the `wanted` ones if given."""
    layout = reading.layout
    needed = tuple(layout.types.names) if wanted is None else wanted
    if span.format != GIVEN:
        return READERS.named(span.format, layout.source).read(span, reading, needed)
    assert reading.table is not None
    table = reading.table.slice(span.start, span.stop - span.start).select(list(needed))
    schema = pa.schema([layout.types.field(name) for name in needed])
    files = tuple(reading.table["path"].slice(span.start, len(table)).to_pylist()) if reading.folder else None
    table = table.cast(schema).combine_chunks()
    return Rows(span.name, table, np.arange(span.start + 1, span.stop + 1), files=files)
