"""Readers of CSV and JSON Lines files: types as the first rows suggest them, and rows that know their line."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from numpy.typing import NDArray

from assay.infra.errors import InputError
from assay.tasks.ingest.reader_choice import (
    Columns,
    FileIndex,
    Head,
    Layout,
    ReaderChoice,
    Reading,
    Span,
    require_same_columns,
    unknown_column,
    with_folder_columns,
)
from assay.tasks.ingest.record_scanner import (
    MOST_DEPTH,
    RecordScanner,
    depth_of,
    index_records,
    is_readable_object,
    is_too_deep,
    may_be_too_wide,
    records_in,
    require_columns,
    require_header,
    require_no_nul,
    require_record,
)
from assay.tasks.ingest.rows import (
    NEARLY_NUMBERS,
    TYPES,
    Reject,
    Rows,
    infer_type,
    is_blank,
    nearly_numbers,
    plain_type,
    shown,
)
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import SourceFile, opened, packed


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
    readable = all(map(is_readable_object, lines_between(data, starts)))
    table = _read_json(data, schema, ignore_others) if readable else None
    if table is not None and table.num_rows == len(lines):
        return Rows(file, table, lines)
    tables, kept, rejects = [], [], []
    for text, number in zip(lines_between(data, starts), lines.tolist(), strict=True):
        row = _json_row(text, schema, ignore_others)
        if isinstance(row, pa.Table):
            tables.append(row)
            kept.append(number)
        else:
            rejects.append(Reject(file, number, *row))
    rows = pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()
    return Rows(file, rows, np.asarray(kept, dtype=np.int64), tuple(rejects))


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


def _json_row(text: bytes, schema: pa.Schema, ignore_others: bool) -> pa.Table | tuple[str, str | None]:
    """The row that a line is, or why it is none and the field that keeps it from being one."""
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
    table = _read_json(text, schema, ignore_others)
    if table is not None and table.num_rows == 1:
        return table
    for field in (field for field in schema if field.name in value):
        alone = json.dumps({field.name: value[field.name]}).encode()
        if _read_json(alone, pa.schema([field]), ignore_others=True) is None:
            return f"{shown(value[field.name])} where {field.type} was expected", str(field.name)
    return "the line cannot be read as one object", None


LOOKED_AT = 10_000
"""So many rows of the first file suggest the types of the columns that nobody declared."""

_BOM = b"\xef\xbb\xbf"


def text_start(file: SourceFile) -> Head:
    """The beginning of a text file, after a byte-order mark if there is one."""
    with opened(file.url, file.name) as content:
        start = content.read(3)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{file.name} is UTF-16 text, not UTF-8; convert it with `iconv -f UTF-16 -t UTF-8`.")
    return Head(3 if start == _BOM else 0, 1)


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
        cells = next(csv.reader(io.StringIO(header.decode().strip("\r\n"), newline=""), delimiter=delimiter))
    except csv.Error as fault:  # one name of more than 128 KiB
        raise InputError(
            f"{file.name} has a header in line {begin.line} that names no columns ({fault}): is {delimiter!r} its "
            "`delimiter`?"
        ) from fault
    names = [cell.strip() or f"column_{number}" for number, cell in enumerate(cells, start=1)]
    if len(starts) == 1 and any("\n" in name for name in names):
        raise InputError(
            f"{file.name} has a quoted cell that opens in its header, line {int(lines[0])}, and never closes; add the "
            "closing quote."
        )
    require_columns(names, file.name)
    return Head(begin.start + end, line, tuple(names))


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
    nothing = f"{file.name} has no line that is a JSON object with fields (line {int(lines[0])} is first)."
    if data.lstrip().startswith(b"["):
        nothing = f"{file.name} is a list: write one object a line (pandas: to_json(…, orient='records', lines=True))."
    data = b"".join(record for record in islice(lines_between(data, starts), LOOKED_AT) if is_readable_object(record))
    if not data:
        raise InputError(nothing)
    starts = records_in(data, None, head.line)[0]
    if may_be_too_wide(data):
        fields: dict[str, None] = {}
        for schema in _line_schemas(data, starts):  # Arrow would make a column of each field, for each line
            fields |= dict.fromkeys(schema.names)
            require_columns(list(fields), file.name)
    try:
        schema = pyarrow.json.read_json(
            pa.BufferReader(data), read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 64)
        ).schema
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        schema = _widest(_line_schemas(data, starts))
    if not len(schema):
        mixed = _mixed_field(next(lines_between(data, starts)))
        raise InputError(nothing if mixed is None else f"{file.name} has values of several types in field {mixed!r}.")
    require_columns(schema.names, file.name)
    declared = {name: TYPES[kind] for name, kind in (settings.columns or {}).items()}
    kinds = [pa.string() if pa.types.is_timestamp(field.type) else plain_type(field.type) for field in schema]
    types = dict(zip(schema.names, kinds, strict=True))
    return pa.schema(list({**types, **declared}.items()))


def _line_schemas(data: bytes, starts: NDArray[np.int64]) -> Iterator[pa.Schema]:
    """The schema of each line that is an object; the others are rejected when they are read."""
    for line in lines_between(data, starts):
        with contextlib.suppress(pa.ArrowInvalid):
            yield pyarrow.json.read_json(pa.BufferReader(line)).schema


def _mixed_field(line: bytes) -> str | None:
    """The first field of an object that no column can hold: a list of values of several types; None of half an object.

    >>> _mixed_field(b'{"id": 1, "seen": {"at": [1, "two"]}}'), _mixed_field(b'{"id": 1,')
    ('seen', None)
    """
    with contextlib.suppress(ValueError):
        alone = ((name, json.dumps({name: value}).encode()) for name, value in json.loads(line).items())
        return next((name for name, field in alone if not list(_line_schemas(field, np.array([0])))), None)
    return None


def _widest(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The fields of all; where they differ the first one's type stays, unless it was null or a whole number."""
    fields: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        old = fields.get(field.name)
        widens = old is not None and pa.types.is_integer(old.type) and pa.types.is_floating(field.type)
        if old is None or pa.types.is_null(old.type) or widens:
            fields[field.name] = field
    return pa.schema(list(fields.values()))


def csv_columns(files: Sequence[SourceFile], settings: Source) -> Columns:
    """As the headers name them, and the first rows of the first file suggest."""
    heads = {file.name: csv_head(file, settings.delimiter) for file in files}
    require_same_columns(files, {name: head.columns for name, head in heads.items()}, settings)
    return csv_types(files[0], heads[files[0].name], settings), heads


def read_csv(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Text columns: their cells are cast as they enter."""
    layout = reading.layout
    columns = layout.heads[span.name].columns
    return csv_rows(bytes_of(span, reading), columns, layout.delimiter, span.name, span.first, needed)


def json_columns(files: Sequence[SourceFile], settings: Source) -> Columns:
    """As the first rows of the first file suggest."""
    heads = {file.name: text_start(file) for file in files}
    return json_types(files[0], heads[files[0].name], settings), heads


def read_json(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Typed columns; lines that are no such objects are rejected."""
    layout = reading.layout
    rows = json_rows(bytes_of(span, reading), layout.types, span.name, span.first, layout.closed)
    return Rows(rows.file, rows.table.select(list(needed)), rows.positions, rows.rejects)


def index_text(file: SourceFile, layout: Layout) -> FileIndex:
    """The index of a text file, which is read once for it; of JSON Lines every line is a record."""
    head, delimiter = layout.heads[file.name], layout.delimiter if file.format == "csv" else None
    with opened(file.url, file.name) as content:
        content.seek(head.start)
        text = index_records(content, delimiter, start=head.start, line=head.line, file_name=file.name)
    return FileIndex(file.name, file.format, text.records, text.size - head.start, text)


def bytes_of(span: Span, reading: Reading) -> bytes:
    """The bytes of a span of a text file."""
    with opened(reading.urls[span.name], span.name) as file:
        file.seek(span.start)
        return file.read(span.stop - span.start)


CSV = with_folder_columns(ReaderChoice("csv", csv_columns, index_text, read_csv, endings=packed(".csv", ".tsv")))
JSONL = with_folder_columns(
    ReaderChoice("jsonl", json_columns, index_text, read_json, endings=packed(".jsonl", ".ndjson", ".json"))
)
