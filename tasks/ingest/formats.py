"""Each format of files: the columns they have, what planning needs of a file, and the rows of a span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from assay.data.biomedical_schemas import WORDS
from assay.infra.errors import InputError
from assay.tasks.ingest.files import SourceFile, opened
from assay.tasks.ingest.heads import (
    Head,
    csv_head,
    csv_types,
    has_documents,
    json_types,
    parquet_types,
    require_same_columns,
    text_start,
)
from assay.tasks.ingest.iob_rows import DOCUMENT_COLUMN, SPLIT, TAGS, TOKENS, have_parts, index_sentences, iob_rows
from assay.tasks.ingest.parquet_rows import parquet_file, parquet_rows
from assay.tasks.ingest.rows import Rows
from assay.tasks.ingest.scan import index_records
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.spans import FileIndex, Span
from assay.tasks.ingest.text_rows import csv_rows, json_rows

if TYPE_CHECKING:
    from assay.tasks.ingest.layout import Layout
    from assay.tasks.ingest.pieces import Reading

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
