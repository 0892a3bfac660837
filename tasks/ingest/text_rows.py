"""Rows out of a range of bytes of a CSV or JSON Lines file, each with the line it stands in."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from numpy.typing import NDArray

from assay.infra.errors import InputError
from assay.tasks.ingest.casting import shown
from assay.tasks.ingest.rows import Reject, Rows
from assay.tasks.ingest.scan import records_in
from assay.tasks.ingest.text_bounds import MOST_DEPTH, depth_of, is_readable_object, is_too_deep, require_no_nul


def require_text(data: bytes, file: str, line: int) -> None:
    """Nothing, or the sentence that names the first line that is not UTF-8, or has a byte that no text has."""
    require_no_nul(data, file, line)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        raise InputError(
            f"{file} is not UTF-8 text (byte 0x{data[error.start]:02X} in line {at}); convert it, for example with "
            f"`iconv -f WINDOWS-1252 -t UTF-8`."
        ) from error


def csv_rows(
    data: bytes, names: tuple[str, ...], delimiter: str, file: str, line: int, wanted: tuple[str, ...] | None = None
) -> Rows:
    """The rows of a record-aligned piece of CSV as text columns; rows with too many or too few cells are rejected."""
    require_text(data, file, line)
    _, lines = records_in(data, delimiter, line)
    ragged: list[tuple[int, int]] = []

    def note(row: pyarrow.csv.InvalidRow) -> str:
        ragged.append((int(row.number) - 1, int(row.actual_columns)))
        return "skip"

    keep = list(names if wanted is None else wanted)
    if not len(lines):
        return Rows(file, pa.table({name: pa.array([], pa.string()) for name in keep}), lines)
    table = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(use_threads=False, column_names=list(names), block_size=len(data) + 64),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note, ignore_empty_lines=True
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, include_columns=keep, strings_can_be_null=False
        ),
    )
    good = np.ones(len(lines), dtype=bool)
    good[[number for number, _ in ragged]] = False
    if int(good.sum()) != table.num_rows:
        raise InputError(
            f"{file} cannot be cut into rows near line {line}: {table.num_rows} rows were read where {int(good.sum())} "
            f"were counted; look for stray quotes there."
        )
    rejects = tuple(
        Reject(file, int(lines[number]), f"{cells} cells where the header has {len(names)}") for number, cells in ragged
    )
    return Rows(file, table.combine_chunks(), lines[good], rejects)


def json_rows(data: bytes, schema: pa.Schema, file: str, line: int, ignore_others: bool) -> Rows:
    """The rows of a line-aligned piece of JSON Lines in the types of `schema`.

    Fields that `schema` does not know reject their line, unless `ignore_others`.
    """
    require_text(data, file, line)
    starts, lines = records_in(data, None, line)
    if not len(lines):
        return Rows(file, schema.empty_table(), lines)
    if not all(map(is_readable_object, lines_between(data, starts))):
        return _json_line_by_line(data, schema, file, line, ignore_others)
    table = _read_json(data, schema, ignore_others)
    if table is not None and table.num_rows == len(lines):
        return Rows(file, table, lines)
    return _json_line_by_line(data, schema, file, line, ignore_others)


def _read_json(data: bytes, schema: pa.Schema, ignore_others: bool) -> pa.Table | None:
    options = pyarrow.json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="ignore" if ignore_others else "error"
    )
    read = pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 64)
    try:
        return pyarrow.json.read_json(pa.BufferReader(data), read_options=read, parse_options=options).combine_chunks()
    except pa.ArrowInvalid:
        return None


def lines_between(data: bytes, starts: NDArray[np.int64]) -> Iterator[bytes]:
    """The bytes of each record, from its start to that of the next one."""
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(data)], strict=True):
        yield data[start:end]


def _json_line_by_line(data: bytes, schema: pa.Schema, file: str, line: int, ignore_others: bool) -> Rows:
    starts, lines = records_in(data, None, line)
    tables, kept, rejects = [], [], []
    for text, number in zip(lines_between(data, starts), lines.tolist(), strict=True):
        reason, column = _json_fault(text, schema, ignore_others)
        table = _read_json(text, schema, ignore_others) if reason is None else None
        if table is not None and table.num_rows == 1:
            tables.append(table)
            kept.append(number)
        else:
            column = column or (_misfit(text, schema) if reason is None else None)
            rejects.append(Reject(file, number, reason or _misfit_reason(text, schema, column), column))
    rows = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
    return Rows(file, rows, np.asarray(kept, dtype=np.int64), tuple(rejects))


def _json_fault(text: bytes, schema: pa.Schema, ignore_others: bool) -> tuple[str | None, str | None]:
    if is_too_deep(text):
        return f"objects and lists stand {depth_of(text):,} deep in each other, and at most {MOST_DEPTH} are read", None
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"not JSON: {error}", None
    if not isinstance(value, dict):
        return f"{shown(value)} where an object was expected", None
    others = [name for name in value if name not in schema.names]
    if others and not ignore_others:
        return f"field {others[0]!r} is not known from the first rows; declare it in `columns`", others[0]
    return None, None


def _misfit(text: bytes, schema: pa.Schema) -> str | None:
    """The field whose value keeps a line from being read in the schema's types."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    for name in schema.names:
        if isinstance(value, dict) and name in value:
            alone = json.dumps({name: value[name]}).encode()
            if _read_json(alone, pa.schema([schema.field(name)]), ignore_others=True) is None:
                return str(name)
    return None


def _misfit_reason(text: bytes, schema: pa.Schema, column: str | None) -> str:
    if column is None:
        return "the line cannot be read as one object"
    return f"{shown(json.loads(text)[column])} where {schema.field(column).type} was expected"
