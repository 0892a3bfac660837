"""Reader of Parquet files: types from the footers, and a range of rows without holding more of the file than that."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.infra.errors import InputError, reason_of
from assay.infra.storage.folders import require_regular_url
from assay.tasks.ingest.reader_choice import (
    Columns,
    FileIndex,
    Layout,
    ReaderChoice,
    Reading,
    Span,
    require_same_columns,
    with_folder_columns,
)
from assay.tasks.ingest.record_scanner import require_columns
from assay.tasks.ingest.rows import Reject, Rows, plain_type
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import SourceFile

_BATCH, _BATCH_OF_IMAGES = 65_536, 256
MOST_BYTES = 1 << 30
"""What is read at once unpacks to no more."""
_MOST_IN_BATCH = 256 << 20
_SHORT = 64 << 10


def in_utf8(rows: Rows) -> Rows:
    """The rows whose texts are UTF-8; the others are rejected, each with the first of its columns that is not.

    >>> texts = pa.array([b"a", bytes([255])], pa.binary()).view(pa.string())
    >>> read = in_utf8(Rows("t.parquet", pa.table({"note": texts}), np.array([1, 2])))
    >>> read.positions.tolist(), [(reject.row, reject.column) for reject in read.rejects]
    ([1], [(2, 'note')])
    """
    broken: dict[int, str] = {}
    for name in rows.table.column_names:
        for at in _undecodable(rows.table.column(name), rows.file, name):
            broken.setdefault(at, name)
    if not broken:
        return rows
    whole = np.setdiff1d(np.arange(rows.table.num_rows), list(broken))
    rejects = tuple(
        Reject(rows.file, int(rows.positions[at]), "its text is not UTF-8", broken[at]) for at in sorted(broken)
    )
    return Rows(rows.file, rows.table.take(whole), rows.positions[whole], (*rows.rejects, *rejects), rows.files)


def _undecodable(column: pa.ChunkedArray, file: str, name: str) -> list[int]:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            raise InputError(f"{file} holds values in column {name!r} that cannot be read ({error}).") from error
        texts = ((at, value or b"") for at, value in enumerate(column.cast(pa.binary()).to_pylist()))
        return [at for at, text in texts if text.decode("utf-8", "ignore").encode() != text]
    return []


@contextlib.contextmanager
def parquet_file(url: str, name: str, by_number: Collection[str] = ()) -> Iterator[pq.ParquetFile]:
    """An open Parquet file; a truncated or damaged one is refused by name. Columns `by_number` stay dictionaries."""
    import fsspec

    require_regular_url(url, name)
    try:
        with fsspec.open(url, "rb") as file:
            yield pq.ParquetFile(file, read_dictionary=list(by_number))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = reason_of(error)
        raise InputError(f"{name} is not a whole Parquet file ({reason}); write or copy it again.") from error


def parquet_rows(
    url: str,
    name: str,
    start: int,
    stop: int,
    target: pa.Schema,
    wanted: tuple[str, ...] | None = None,
    batch_rows: int = 65_536,
    votes: Collection[str] = (),
) -> Rows:
    """Rows `start` to `stop` (from 0) of a Parquet file in the types of `target`, `batch_rows` of them at a time.

    Columns of `votes` may keep fewer bits than these types have: there are hundreds of them.
    """
    columns = list(target.names if wanted is None else wanted)
    schema = pa.schema([target.field(column) for column in columns])
    tables = []
    with parquet_file(url, name) as parquet:
        # The row groups that hold rows `start` to `stop`, and the number of the first row in them.
        sizes = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        groups = [i for i in range(len(sizes)) if begins[i] < stop and begins[i + 1] > start]
        first = int(begins[groups[0]]) if groups else 0
        longest, held = _longest_repeated(parquet, groups, columns, url, name), 0
        at_once = max(1, min(batch_rows, _MOST_IN_BATCH // longest))
        for batch in parquet.iter_batches(batch_size=at_once, row_groups=groups, columns=columns):
            low, high = max(start - first, 0), min(stop - first, len(batch))
            if low < high:
                tables.append(_in_types(pa.Table.from_batches([batch.slice(low, high - low)]), schema, name, votes))
                held += tables[-1].nbytes
                if held > MOST_BYTES:
                    raise _unpacks(name, f"rows {start + 1} to {first + high}")
            first += len(batch)
            if first >= stop:
                break
    table = _whole(tables) if tables else schema.empty_table()
    return in_utf8(Rows(name, table, np.arange(start + 1, start + 1 + table.num_rows, dtype=np.int64)))


def _longest_repeated(parquet: pq.ParquetFile, groups: list[int], columns: list[str], url: str, name: str) -> int:
    """How many bytes a row may have of what pages repeat, texts by their number and nulls by how many they are, so that
    a small file could unpack to any size."""
    stored = parquet.schema_arrow
    repeated: dict[str, list[int]] = {}
    longest = max((_fixed_width(stored.field(name).type) for name in columns), default=1)
    for number, group in ((at, parquet.metadata.row_group(at)) for at in groups):
        for chunk in (group.column(at) for at in range(group.num_columns)):
            path, values = chunk.path_in_schema, chunk.num_values
            if path.partition(".")[0] in columns:
                longest = max(longest, 8 * values // max(1, group.num_rows))
                size = chunk.total_uncompressed_size if chunk.has_dictionary_page else 0
                if size <= _SHORT:
                    longest = max(longest, size)
                elif values * size > MOST_BYTES:
                    repeated.setdefault(path, []).append(number)
    if repeated:
        with parquet_file(url, name, repeated) as by_number:
            for path, at in ((path, at) for path, numbers in repeated.items() for at in numbers):
                cells = next(by_number.iter_batches(64, row_groups=[at], columns=[path])).column(0)
                while pa.types.is_list(cells.type):
                    cells = cells.values
                if pa.types.is_dictionary(cells.type):
                    longest = max(longest, pc.max(pc.binary_length(cells.dictionary)).as_py() or 1)
    if longest > MOST_BYTES:
        raise _unpacks(name, "one row")
    return longest


def _fixed_width(kind: pa.DataType) -> int:
    """The bytes that a row has at the least, null or not.

    >>> _fixed_width(pa.list_(pa.float64(), 1000)), _fixed_width(pa.binary(16)), _fixed_width(pa.string())
    (8000, 16, 8)
    """
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _fixed_width(kind.value_type)
    return int(kind.byte_width) if pa.types.is_fixed_size_binary(kind) else 8


def _unpacks(name: str, what: str) -> InputError:
    return InputError(
        f"{name} unpacks {what} to more than {MOST_BYTES >> 30} GiB: name the columns to keep as `features`, or raise "
        "`compute.partitions`."
    )


def _whole(tables: list[pa.Table]) -> pa.Table:
    """The batches as one table of whole columns; a column's batches go before the next is put together."""
    together = pa.concat_tables(tables)
    tables.clear()
    names, batches = together.column_names, together.columns[::-1]
    del together
    return pa.table([batches.pop().combine_chunks() for _ in names], names=names)


def _in_types(table: pa.Table, schema: pa.Schema, name: str, votes: Collection[str]) -> pa.Table:
    arrays = []
    for field in schema:
        column = table.column(field.name)
        fits = column.type == field.type or (field.name in votes and pa.types.is_signed_integer(column.type))
        try:
            arrays.append(column if fits else column.cast(field.type))
        except pa.ArrowException as error:
            raise InputError(
                f"{name} has {column.type} in column {field.name!r}, read as {field.type} like the first file's, and a "
                f"value does not convert ({error})."
            ) from error
    return pa.table(arrays, names=schema.names)


def parquet_columns(files: Sequence[SourceFile], settings: Source) -> Columns:
    """The plain types of the first file, as its footer says; an index that pandas stored without a name is left out."""
    schemas = {}
    for file in files:
        with parquet_file(file.url, file.name) as parquet:
            stored = parquet.schema_arrow
        require_columns(stored.names, file.name)
        schemas[file.name] = pa.schema(
            [(field.name, plain_type(field.type)) for field in stored if not field.name.startswith("__index_level_")]
        )
    require_same_columns(files, {name: tuple(schema.names) for name, schema in schemas.items()}, settings)
    return schemas[files[0].name], {}


def index_parquet(file: SourceFile, _: Layout) -> FileIndex:
    """The index of a file, of which only the footer is read."""
    with parquet_file(file.url, file.name) as parquet:
        metadata = parquet.metadata
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        return FileIndex(file.name, file.format, metadata.num_rows, size)


def read_parquet(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """The rows of a span in their types."""
    layout, url = reading.layout, reading.urls[span.name]
    batch = _BATCH if layout.image is None else _BATCH_OF_IMAGES
    return parquet_rows(url, span.name, span.start, span.stop, layout.types, needed, batch, layout.votes)


PARQUET = with_folder_columns(
    ReaderChoice("parquet", parquet_columns, index_parquet, read_parquet, endings=(".parquet", ".pq"))
)
