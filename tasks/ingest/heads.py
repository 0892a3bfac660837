"""The columns and types that files say they have: headers, first rows, footers."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from assay.infra.errors import InputError, SettingError
from assay.infra.suggestions import nearest
from assay.tasks.ingest.casting import NEARLY_NUMBERS, TYPES, infer_type, is_blank, nearly_numbers, plain_type
from assay.tasks.ingest.files import SourceFile, opened
from assay.tasks.ingest.iob_rows import begins_with_a_document
from assay.tasks.ingest.parquet_rows import parquet_file
from assay.tasks.ingest.scan import RecordScanner, records_in
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.text_bounds import (
    is_readable_object,
    may_be_too_wide,
    require_columns,
    require_header,
    require_record,
)
from assay.tasks.ingest.text_rows import csv_rows, lines_between, require_text

LOOKED_AT = 10_000
"""So many rows of the first file suggest the types of the columns that nobody declared."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Head:
    """Where a text file's first record begins (byte and line), and the columns its header names, if it has one."""

    start: int
    line: int
    columns: tuple[str, ...] = ()


def unknown_column(column: str, setting: str, names: Sequence[str], file: str) -> SettingError:
    """The sentence for a setting that names a column which is not there."""
    close = nearest(column, names)
    hint = f" Did you mean {close}?" if close else ""
    listed = ", ".join(name[:60] for name in names[:20]) + (", ..." if len(names) > 20 else "")
    message = f"{file} has no column {column!r}, which `{setting}` names; it has {listed}.{hint}"
    return SettingError(message, setting, column)


def require_same_columns(files: Sequence[SourceFile], columns: dict[str, tuple[str, ...]]) -> None:
    """Nothing, or the sentence for the first file that has other columns than the first one."""
    expected = columns[files[0].name]
    for file in files[1:]:
        missing = sorted(set(expected) - set(columns[file.name]))
        more = sorted(set(columns[file.name]) - set(expected))
        if missing or more:
            what = f"no column {missing[0]!r}, which" if missing else f"a column {more[0]!r}, which"
            has = "has" if missing else "has not"
            raise InputError(f"{file.name} has {what} {files[0].name} {has}; the files of a source share one header.")


def text_start(file: SourceFile) -> Head:
    """The beginning of a text file, after a byte-order mark if there is one."""
    with opened(file.url, file.name) as content:
        start = content.read(3)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{file.name} is UTF-16 text, not UTF-8; convert it with `iconv -f UTF-16 -t UTF-8`.")
    return Head(3 if start == _BOM else 0, 1)


def has_documents(file: SourceFile, head: Head) -> bool:
    """Whether an IOB file says where its documents begin."""
    with opened(file.url, file.name) as content:
        content.seek(head.start)
        return begins_with_a_document(content.read(4096))


def csv_head(file: SourceFile, delimiter: str) -> Head:
    """Where the first record after the header begins, in which line, and the names in the header."""
    begin = text_start(file)
    data = _first_records(file, begin, 2, delimiter)
    starts, lines = records_in(data, delimiter, begin.line)
    if not len(starts):
        raise InputError(f"{file.name} has no header line; the first line of a CSV file names its columns.")
    end, line = (int(starts[1]), int(lines[1])) if len(starts) > 1 else (len(data), int(lines[0]) + 1)
    header = data[int(starts[0]) : end]
    require_header(header, file.name, begin.line)
    require_text(header, file.name, begin.line)
    try:
        names = _header_cells(header, delimiter)
    except csv.Error as fault:  # one name of more than 128 KiB
        raise InputError(
            f"{file.name} has a header in line {begin.line} that names no columns ({fault}): is {delimiter!r} its "
            "`delimiter`?"
        ) from fault
    if len(starts) == 1 and any("\n" in name for name in names):
        raise InputError(
            f"{file.name} has a quoted cell that opens in its header, line {int(lines[0])}, and never closes; add the "
            "closing quote."
        )
    require_columns(names, file.name)
    return Head(begin.start + end, line, tuple(names))


def _header_cells(header: bytes, delimiter: str) -> list[str]:
    cells = next(csv.reader(io.StringIO(header.decode().strip("\r\n"), newline=""), delimiter=delimiter))
    return [cell.strip() or f"column_{number}" for number, cell in enumerate(cells, start=1)]


def _first_records(file: SourceFile, begin: Head, count: int, delimiter: str | None) -> bytes:
    """At least the first `count` records that are not blank, whole, if the file has as many."""
    scanner, parts, starts, line = RecordScanner(delimiter, line=begin.line), [], [0], begin.line
    with opened(file.url, file.name) as content:
        content.seek(begin.start)
        while chunk := content.read(1 << 20):
            parts.append(chunk)
            chunk_starts, lines = scanner.feed(chunk)
            starts.extend(chunk_starts.tolist())
            line = int(lines[-1]) if len(lines) else line
            require_record(scanner.offset - starts[-1], file.name, line)
            if len(starts) > count and len(records_in(b"".join(parts), delimiter)[0]) > count:
                return b"".join(parts)[: starts[-1]]
    return b"".join(parts)


def csv_types(file: SourceFile, head: Head, settings: Source) -> pa.Schema:
    """Declared types, and for the other columns the ones that the first rows suggest; the id column is text."""
    names = head.columns
    declared = settings.columns or {}
    for column in declared:
        if column not in names:
            raise unknown_column(column, "columns", names, file.name)
    data = _first_records(file, head, LOOKED_AT, settings.delimiter)
    rows = csv_rows(data, names, settings.delimiter, file.name, head.line).table.slice(0, LOOKED_AT)
    types = []
    for name in names:
        if name in (settings.id, settings.image) or settings.labels == (name,):
            types.append((name, pa.string()))
        elif name in declared:
            types.append((name, TYPES[declared[name]]))
        elif name == settings.score:
            types.append((name, pa.float64()))
        else:
            cells = rows.column(name).combine_chunks()
            marks = settings.votes is not None or name in (settings.labels or ())
            silent = marks and name != settings.label and is_blank(cells)
            dtype = pa.int64() if silent else infer_type(cells)
            slips = pa.types.is_string(dtype) and name != settings.label and nearly_numbers(cells)
            types.append(pa.field(name, dtype, metadata={NEARLY_NUMBERS: b""} if slips else None))
    return pa.schema(types)


def json_types(file: SourceFile, head: Head, settings: Source) -> pa.Schema:
    """Declared types, and for the other fields those of the first rows."""
    data = _first_records(file, head, LOOKED_AT, None)
    require_text(data, file.name, head.line)
    starts, lines = records_in(data, None, head.line)
    if not len(starts):
        raise InputError(f"{file.name} has no rows; every line of a JSON Lines file is one object.")
    data = b"".join(record for record in islice(lines_between(data, starts), LOOKED_AT) if is_readable_object(record))
    starts = records_in(data, None, head.line)[0]
    if may_be_too_wide(data):
        _require_few_fields(data, starts, file.name)
    try:
        schema = pyarrow.json.read_json(
            pa.BufferReader(data), read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 64)
        ).schema
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        schema = _widest(_line_schemas(data, starts))
    if not len(schema):
        raise InputError(f"{file.name} has no line that is a JSON object with fields (line {int(lines[0])} is first).")
    require_columns(schema.names, file.name)
    declared = {name: TYPES[kind] for name, kind in (settings.columns or {}).items()}
    types = {field.name: declared.get(field.name, _json_type(field.type)) for field in schema}
    types.update({name: kind for name, kind in declared.items() if name not in types})
    return pa.schema(list(types.items()))


def _require_few_fields(data: bytes, starts: NDArray[np.int64], file: str) -> None:
    """Nothing, or the sentence for lines that have ever more fields; Arrow would make a column of each, for each."""
    names: dict[str, None] = {}
    for schema in _line_schemas(data, starts):
        names |= dict.fromkeys(schema.names)
        require_columns(list(names), file)


def _line_schemas(data: bytes, starts: NDArray[np.int64]) -> Iterator[pa.Schema]:
    """The schema of each line that is an object; the others are rejected when they are read."""
    for line in lines_between(data, starts):
        with contextlib.suppress(pa.ArrowInvalid):
            yield pyarrow.json.read_json(pa.BufferReader(line)).schema


def _widest(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The fields of all; where they differ the first one's type stays, unless it was null or a whole number."""
    fields: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        old = fields.get(field.name)
        widens = old is not None and pa.types.is_integer(old.type) and pa.types.is_floating(field.type)
        if old is None or pa.types.is_null(old.type) or widens:
            fields[field.name] = field
    return pa.schema(list(fields.values()))


def _json_type(dtype: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_timestamp(dtype) else plain_type(dtype)


def parquet_types(files: Sequence[SourceFile]) -> pa.Schema:
    """The plain types of the first file; an index that pandas stored without a name is left out."""
    schemas = {}
    for file in files:
        with parquet_file(file.url, file.name) as parquet:
            stored = parquet.schema_arrow
        require_columns(stored.names, file.name)
        schemas[file.name] = pa.schema(
            [(field.name, plain_type(field.type)) for field in stored if not field.name.startswith("__index_level_")]
        )
    require_same_columns(files, {name: tuple(schema.names) for name, schema in schemas.items()})
    return schemas[files[0].name]
