"""What a worker does with one partition: read it, call the stage's function, write what came out, leave a mark."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from assay.infra.engines.calls import slot_here
from assay.infra.errors import RunError
from assay.infra.stages.exact import encode_tally
from assay.infra.storage.artifacts import Part, PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import conform, read_part, row_sums, schema_hash, write_part

HERE = "this process"
POSTED = "posted"
"""The constant that holds what earlier partitions sent, for `call_function` to hand out."""


@dataclass(frozen=True)
class Tallied:
    """What a partition function returns when it also counted something: its table or tables, and the exact counts."""

    result: pa.Table | tuple[pa.Table, ...]
    tally: Mapping[str, object]


@dataclass(frozen=True)
class Slice:
    """Rows of one part: all of them, or, where another input is cut differently, those that lie beside its rows."""

    part: PartFile
    start: int
    rows: int

    @property
    def mark(self) -> str:
        """What a finished partition notes of this input, so that it is reused only beside the same rows."""
        return self.part.sums if self.rows == self.part.rows else f"{self.part.sums}[{self.start}+{self.rows}]"


@dataclass(frozen=True)
class PartitionWork:
    """One partition's work, small enough to send: where to read and write, and which function to call."""

    name: str
    index: int
    store: str
    function: Callable[..., Any]
    sources: tuple[tuple[Slice, ...], ...] = ()
    piece: object = None
    aligned: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[tuple[str, ...], ...] = ()
    """The columns that are read of each input; all where none are named."""
    posted: str = ""
    """What the files stand for in which the work finds what was sent to it; empty where nothing is."""
    kinds: tuple[type[Table], ...] = ()
    prefixes: tuple[str, ...] = ()
    mark: str = ""
    content: str = ""

    def arguments(self) -> tuple[object, ...]:
        """The piece, or the input tables, that the function takes."""
        if self.piece is not None:
            return (self.piece,)
        folder, columns = Folder(self.store), self.columns or ((),) * len(self.sources)
        return tuple(read_slices(folder, slices, names) for slices, names in zip(self.sources, columns, strict=True))

    def marks(self) -> tuple[str, ...]:
        """What went in, as a finished part remembers it."""
        posted = (self.posted,) if self.posted else ()
        if self.piece is not None:
            return (hashlib.blake2b(repr(self.piece).encode(), digest_size=16).hexdigest(), *posted)
        return (*("+".join(slice_.mark for slice_ in slices) for slices in self.sources), *posted)


def write_partition(work: PartitionWork, constants: Mapping[str, Any]) -> Part:
    """The part that the function's result became; doing it twice, or on two workers, gives the same files."""
    wall, cpu = time.perf_counter(), time.process_time()
    tables, tally = tables_of(work, constants)
    folder = Folder(work.store)
    files = tuple(
        write_part(folder, f"{prefix}-{work.index:05d}", table)
        for prefix, table in zip(work.prefixes, tables, strict=True)
    )
    seconds = round(time.perf_counter() - wall, 4), round(time.process_time() - cpu, 4)
    part = Part(work.index, files, work.marks(), *whereabouts(), *seconds, tally, work.content)
    folder.write_json(work.mark, asdict(part))
    return part


def differing_outputs(work: PartitionWork, constants: Mapping[str, Any], part: Part) -> tuple[str, ...]:
    """The kinds of output, or `counts`, in which a part that lies there is not what its function gives now."""
    tables, tally = tables_of(work, constants)
    folder = Folder(work.store)
    differ = ["counts"] if json.dumps(tally, sort_keys=True) != json.dumps(part.tally, sort_keys=True) else []
    for kind, table, file in zip(work.kinds, tables, part.files, strict=True):
        there, sums = read_part(folder, file), row_sums(table).text
        as_noted = (sums, schema_hash(table.schema)) == (file.sums, file.schema)
        if not as_noted or (sums, table.column_names) != (row_sums(there).text, there.column_names):
            differ.append(kind.__name__)
    return tuple(differ)


def tables_of(work: PartitionWork, constants: Mapping[str, Any]) -> tuple[tuple[pa.Table, ...], dict[str, Any] | None]:
    """What the function makes of a partition: a table per kind that was announced, and what it counted, as JSON."""
    result = call_function(work, constants)
    tally = encode_tally(result.tally) if isinstance(result, Tallied) else None
    tables = result.result if isinstance(result, Tallied) else result
    tables = tables if isinstance(tables, tuple) else (tables,)
    if len(tables) != len(work.kinds):
        raise RunError(f"{work.name}: the function gave {len(tables)} tables, {len(work.kinds)} were announced.")
    return tuple(conform(table, kind, work.name) for kind, table in zip(work.kinds, tables, strict=True)), tally


def call_function(work: PartitionWork, constants: Mapping[str, Any]) -> Any:
    """What the function gives for its inputs; after them comes what was sent to it, where something was."""
    given = dict(constants)
    post = given.pop(POSTED, None)
    received = () if post is None else (post.received(work.index),)
    return work.function(*work.arguments(), *received, **work.aligned, **given)


def read_slices(folder: Folder, slices: tuple[Slice, ...], columns: tuple[str, ...] = ()) -> pa.Table:
    """The rows of the slices, one after the other; of the named columns, if any are."""
    tables = [
        read_part(folder, rows.part, list(columns) or None)
        if rows.rows == rows.part.rows
        else _read_part_once(folder.url, rows.part, columns).slice(rows.start, rows.rows)
        for rows in slices
    ]
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


@lru_cache(maxsize=1)
def _read_part_once(store: str, part: PartFile, columns: tuple[str, ...]) -> pa.Table:
    """A part of which only some rows are wanted: the next partition, likely worked on here, wants its next rows."""
    return read_part(Folder(store), part, list(columns) or None)


def whereabouts() -> tuple[str, str]:
    """The worker that this runs on, and the kind of slot that it gives the work: `gpu` or `cpu`."""
    name, slot = HERE, slot_here().lower()
    if "distributed" in sys.modules:
        from distributed import get_worker

        with suppress(ValueError):  # no worker: this process
            name = str(get_worker().name)
    return name, slot
