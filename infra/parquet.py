"""Tables in Parquet files as the store wants them: the declared schema, bounded row groups, checksummed pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.infra.artifacts import Table
from assay.infra.digests import row_sums
from assay.infra.errors import RunError
from assay.infra.folders import Folder
from assay.infra.manifests import PartFile

_ROW_GROUP_BYTES = 64 << 20
_LOOKED_AT = 4096
UNCOMPRESSED = {b"compression": b"none"}
"""The metadata of a field whose values are written as they are, and can be found in the file."""
_COLUMNS = 128  # that are read at a time: each has a reader of some 300 kB, which for 1,800 columns is half a gigabyte


def conform(table: pa.Table, kind: type[Table], what: str) -> pa.Table:
    """The table with exactly the types and null rules that its kind declares; RunError names what does not fit."""
    names = kind.schema.names
    if table.column_names[: len(names)] != names:
        raise RunError(
            f"{what}: {kind.__name__} must begin with the columns {', '.join(names)}, not {table.column_names[:12]}."
        )
    for extra in table.column_names[len(names) :]:
        dtype = table.schema.field(extra).type
        if kind.extras is None or (kind.extras != "any" and dtype != kind.extras):
            raise RunError(f"{what}: {kind.__name__} may not hold a column {extra!r} of type {dtype}.")
    fields = [*kind.schema, *(table.schema.field(i) for i in range(len(names), table.num_columns))]
    for field in kind.schema:
        column = table.column(field.name)
        if column.type != field.type:
            raise RunError(f"{what}: column {field.name} of {kind.__name__} is {column.type}, not {field.type}.")
        if column.null_count and not field.nullable:
            raise RunError(f"{what}: column {field.name} of {kind.__name__} has {column.null_count} nulls.")
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def write_part(folder: Folder, prefix: str, table: pa.Table) -> PartFile:
    """The file that now holds the table, named after its content: writing it twice is writing it once."""
    sums = row_sums(table).text
    name = name_of_part(prefix, sums)
    blobs = {
        field.name for field in table.schema if pa.types.is_large_binary(field.type) or pa.types.is_binary(field.type)
    }
    plain = [field.name for field in table.schema if field.name not in blobs]
    as_they_are = any(field.metadata == UNCOMPRESSED for field in table.schema)
    rows = max(1, int(_ROW_GROUP_BYTES / max(1.0, table.nbytes / max(1, table.num_rows))))
    with folder.writing(name) as sink:
        pq.write_table(
            table,
            sink,
            row_group_size=rows,
            compression="none" if as_they_are else "zstd",
            write_page_checksum=True,
            use_dictionary=[name for name in plain if _repeats(table.column(name))],
            write_statistics=plain if blobs else True,
        )
        size = sink.tell()
    return PartFile(name, table.num_rows, sums, size, schema_hash(table.schema))


def name_of_part(prefix: str, sums: str) -> str:
    """The name of the file with these rows."""
    return f"{prefix}-{hashlib.blake2b(sums.encode(), digest_size=6).hexdigest()}.parquet"


def schema_hash(schema: pa.Schema) -> str:
    """The hash of everything that a function may see of a table's columns before it sees a row."""
    return hashlib.blake2b(schema.remove_metadata().serialize().to_pybytes(), digest_size=8).hexdigest()


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether values repeat, to judge by the first ones: a dictionary of all different ones costs time and space."""
    if pa.types.is_nested(column.type):
        return False
    first = column.slice(0, _LOOKED_AT)
    return 2 * len(first.unique()) <= len(first)


def read_parquet(folder: Folder, name: str, columns: list[str] | None = None, size: int | None = None) -> pa.Table:
    """The table in a Parquet file, its page checksums verified, read in the calling thread.

    Arrow's own reading ahead through a Python file leaves threads behind that abort the interpreter when it ends early.
    """
    with open_parquet(folder, name, size) as file:
        wanted = file.schema_arrow.names if columns is None else columns
        if len(wanted) <= _COLUMNS:
            return file.read(columns=columns, use_threads=False)
        blocks = [
            file.read(columns=wanted[at : at + _COLUMNS], use_threads=False) for at in range(0, len(wanted), _COLUMNS)
        ]
    arrays = [column for block in blocks for column in block.columns]
    schema = pa.schema([field for block in blocks for field in block.schema], blocks[0].schema.metadata)
    return pa.Table.from_arrays(arrays, schema=schema)


@contextmanager
def open_parquet(folder: Folder, name: str, size: int | None = None) -> Iterator[pq.ParquetFile]:
    """A Parquet file of a folder, open for reading; local ones by Arrow itself, without Python in between."""
    if folder.is_local:
        with pq.ParquetFile(folder.path_of_file(name), page_checksum_verification=True, pre_buffer=False) as file:
            yield file
    else:
        with folder.open(name, size) as source:
            yield pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False)


def read_part(folder: Folder, part: PartFile, columns: list[str] | None = None) -> pa.Table:
    """The table in a part's file; RunError by name where the file is damaged."""
    try:
        table = read_parquet(folder, part.file, columns, part.bytes)
    except (pa.ArrowInvalid, OSError) as error:
        raise damaged(folder, part, error) from error
    if table.num_rows != part.rows:
        place = f"{folder.url}/{part.file}"
        raise RunError(f"The file {place} has {table.num_rows} rows, not {part.rows}: delete it and run again.")
    return table


def read_rows(folder: Folder, part: PartFile, ids: pa.Array) -> pa.Table:
    """The rows of a part whose `id` is among these, one row group in memory at a time; RunError where it is damaged."""
    try:
        with open_parquet(folder, part.file, part.bytes) as file:
            tables = [file.schema_arrow.remove_metadata().empty_table()]
            for group in range(file.num_row_groups):
                wanted = pc.is_in(file.read_row_group(group, columns=["id"], use_threads=False)["id"], value_set=ids)
                if pc.any(wanted).as_py():
                    tables.append(file.read_row_group(group, use_threads=False).filter(wanted))
    except (pa.ArrowInvalid, OSError) as error:
        raise damaged(folder, part, error) from error
    return pa.concat_tables(tables)


def damaged(folder: Folder, part: PartFile, error: Exception) -> RunError:
    """The sentence for a part's file that cannot be read."""
    return RunError(
        f"The file {folder.url}/{part.file} is damaged or gone ({_first_line(error)}): delete it and run again, "
        "only that partition is computed anew."
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0][:200] or type(error).__name__
