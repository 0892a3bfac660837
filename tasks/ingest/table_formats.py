"""Readers of CSV, JSON Lines, Parquet and IOB files: the columns and types of each, its index, and the rows of a
span with the line each stands in.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.data.biomedical_schemas import WORDS
from assay.infra.errors import InputError, SettingError, nearest, reason_of
from assay.infra.storage.folders import require_regular_url
from assay.tasks.ingest.iob import (
    DOCUMENT_COLUMN,
    SPLIT,
    TAGS,
    TOKENS,
    begins_with_a_document,
    have_parts,
    index_sentences,
    iob_rows,
)
from assay.tasks.ingest.reader_choice import FileIndex, SourceFile, Span, opened
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

if TYPE_CHECKING:
    from assay.tasks.ingest.layout import Layout, Reading


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
        return [at for at, value in enumerate(column.cast(pa.binary()).to_pylist()) if not _decodes(value)]
    return []


def _decodes(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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


Columns = tuple[pa.Schema, dict[str, Head]]
"""The columns that all files share with the types of the first file, and where each text file's records begin."""
_BATCH, _BATCH_OF_IMAGES = 65_536, 256


def parquet_columns(files: Sequence[SourceFile], _: Source) -> Columns:
    """As the footers say."""
    return parquet_types(files), {}


def index_parquet(file: SourceFile, _: Layout) -> FileIndex:
    """Of Parquet files only the footer is read."""
    with parquet_file(file.url, file.name) as parquet:
        metadata = parquet.metadata
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        return FileIndex(file.name, file.format, metadata.num_rows, size)


def read_parquet(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Typed columns."""
    layout = reading.layout
    batch = _BATCH if layout.image is None else _BATCH_OF_IMAGES
    url = reading.urls[span.name]
    return parquet_rows(url, span.name, span.start, span.stop, layout.types, needed, batch, layout.votes)


def csv_columns(files: Sequence[SourceFile], settings: Source) -> Columns:
    """As the headers name them, and the first rows of the first file suggest."""
    heads = {file.name: csv_head(file, settings.delimiter) for file in files}
    require_same_columns(files, {name: head.columns for name, head in heads.items()})
    return csv_types(files[0], heads[files[0].name], settings), heads


def index_csv(file: SourceFile, layout: Layout) -> FileIndex:
    """The file is read once for it."""
    return _index_text(file, layout, layout.delimiter)


def read_csv(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Text columns: their cells are cast as they enter."""
    layout = reading.layout
    columns = layout.heads[span.name].columns
    return csv_rows(_bytes_of(span, reading), columns, layout.delimiter, span.name, span.first, needed)


def json_columns(files: Sequence[SourceFile], settings: Source) -> Columns:
    """As the first rows of the first file suggest."""
    heads = {file.name: text_start(file) for file in files}
    return json_types(files[0], heads[files[0].name], settings), heads


def index_json(file: SourceFile, layout: Layout) -> FileIndex:
    """The file is read once for it."""
    return _index_text(file, layout, None)


def read_json(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Typed columns; lines that are no such objects are rejected."""
    layout = reading.layout
    rows = json_rows(_bytes_of(span, reading), layout.types, span.name, span.first, layout.closed)
    return Rows(rows.file, rows.table.select(list(needed)), rows.positions, rows.rejects)


def iob_columns(files: Sequence[SourceFile], _: Source) -> Columns:
    """Words and their tags, and the part and the document where the files tell."""
    heads = {file.name: text_start(file) for file in files}
    more = [SPLIT] if have_parts(file.name for file in files) else []
    more += [DOCUMENT_COLUMN] if any(has_documents(file, heads[file.name]) for file in files) else []
    return pa.schema([(TOKENS, WORDS), (TAGS, WORDS), *((name, pa.string()) for name in more)]), heads


def index_iob(file: SourceFile, layout: Layout) -> FileIndex:
    """The file is read once for it."""
    head = layout.heads[file.name]
    with opened(file.url, file.name) as content:
        content.seek(head.start)
        tagged = index_sentences(content, layout.iob_columns, head.start, file.name)
    size, rows = tagged.text.size - head.start, tagged.text.records
    return FileIndex(file.name, file.format, rows, size, tagged.text, tagged.begins, tagged.shape)


def read_iob(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Sentences."""
    shape, columns = reading.shapes[span.name], reading.layout.iob_columns
    return iob_rows(_bytes_of(span, reading), columns, reading.convention, shape, span.name, span.first, needed)


def unclosed_quote(name: str, line: int) -> InputError:
    """The sentence for a quoted cell that swallows the rest of its file."""
    return InputError(f"{name} has a quoted cell that opens in line {line} and never closes; add the closing quote.")


def _index_text(file: SourceFile, layout: Layout, delimiter: str | None) -> FileIndex:
    head = layout.heads[file.name]
    with opened(file.url, file.name) as content:

        def unclosed(line: int) -> InputError:
            return unclosed_quote(file.name, line)

        content.seek(head.start)
        text = index_records(
            content, delimiter, start=head.start, line=head.line, unclosed=unclosed, file_name=file.name
        )
    return FileIndex(file.name, file.format, text.records, text.size - head.start, text)


def _bytes_of(span: Span, reading: Reading) -> bytes:
    with opened(reading.urls[span.name], span.name) as file:
        file.seek(span.start)
        return file.read(span.stop - span.start)
