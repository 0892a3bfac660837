"""Rows out of a range of rows of a Parquet file, without holding more of the file than that."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.infra.errors import InputError
from assay.infra.reasons import reason_of
from assay.infra.regular_files import require_regular_url
from assay.tasks.ingest.broken_text import in_utf8
from assay.tasks.ingest.rows import Rows


@contextlib.contextmanager
def parquet_file(url: str, name: str) -> Iterator[pq.ParquetFile]:
    """An open Parquet file; a truncated or damaged one is refused by name."""
    import fsspec

    require_regular_url(url, name)
    try:
        with fsspec.open(url, "rb") as file:
            yield _open(file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = reason_of(error)
        raise InputError(f"{name} is not a whole Parquet file ({reason}); write or copy it again.") from error


def _open(file: BinaryIO) -> pq.ParquetFile:
    return pq.ParquetFile(file)


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
        groups, first = _row_groups(parquet, start, stop)
        for batch in parquet.iter_batches(batch_size=batch_rows, row_groups=groups, columns=columns):
            low, high = max(start - first, 0), min(stop - first, len(batch))
            if low < high:
                tables.append(_in_types(pa.Table.from_batches([batch.slice(low, high - low)]), schema, name, votes))
            first += len(batch)
            if first >= stop:
                break
    table = _whole(tables) if tables else schema.empty_table()
    return in_utf8(Rows(name, table, np.arange(start + 1, start + 1 + table.num_rows, dtype=np.int64)))


def _row_groups(parquet: pq.ParquetFile, start: int, stop: int) -> tuple[list[int], int]:
    """The row groups that hold rows `start` to `stop`, and the number of the first row in them."""
    sizes = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    groups = [i for i in range(len(sizes)) if begins[i] < stop and begins[i + 1] > start]
    return groups, int(begins[groups[0]]) if groups else 0


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
                f"{name} has {column.type} in column {field.name!r} where the first file has {field.type}, and a value "
                f"does not convert ({error})."
            ) from error
    return pa.table(arrays, names=schema.names)
