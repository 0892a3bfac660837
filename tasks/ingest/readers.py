"""The readers of files, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.user_code.choices import NamedChoices
from assay.tasks.ingest import table_formats
from assay.tasks.ingest.label_studio import export_rows, export_table, export_types
from assay.tasks.ingest.medical_scans import DICOM, NIFTI, scan_reader
from assay.tasks.ingest.reader_choice import (
    FILES,
    GROUP,
    FileIndex,
    Places,
    ReaderChoice,
    SourceFile,
    Span,
    packed,
    with_folder_columns,
)
from assay.tasks.ingest.rows import Rows, plain_type
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sql import DATABASES, index_sql, read_sql, sql_columns
from assay.tasks.ingest.table_formats import require_same_columns

if TYPE_CHECKING:
    from assay.tasks.ingest.layout import Layout, Reading

_ROW = 1024  # bytes that a row of a format of one's own is taken to have, where pieces are planned


def table_reader(
    word: str,
    *,
    types: Callable[[str], pa.Schema],
    rows: Callable[[str], int],
    read: Callable[[str, int, int], pa.Table],
) -> ReaderChoice:
    """A reader of files that are tables, of three functions of a file's address: the types of its columns, how many
    rows it has, and its rows from one number to before another, with those columns.
    """

    def columns(files: Sequence[SourceFile], _: Source) -> table_formats.Columns:
        schemas = {file.name: types(file.url) for file in files}
        require_same_columns(files, {name: tuple(schema.names) for name, schema in schemas.items()})
        first = schemas[files[0].name]
        return pa.schema([(field.name, plain_type(field.type)) for field in first]), {}

    def index(file: SourceFile, _: Layout) -> FileIndex:
        count = rows(file.url)
        return FileIndex(file.name, file.format, count, count * _ROW)

    def read_rows(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
        table = read(reading.urls[span.name], span.start, span.stop)
        if table.num_rows != span.stop - span.start:
            raise InputError(
                f"The reader {word} gave {table.num_rows} rows of {span.name}, and was asked for rows {span.start} to "
                f"{span.stop}."
            )
        schema = pa.schema([reading.layout.types.field(name) for name in needed])
        table = table.select(list(needed)).cast(schema).combine_chunks()
        return Rows(span.name, table, np.arange(span.start + 1, span.stop + 1))

    return ReaderChoice(word, columns, index, read_rows)


READERS: NamedChoices[ReaderChoice] = NamedChoices(
    "reader",
    GROUP,
    ReaderChoice,
    (
        with_folder_columns(
            ReaderChoice(
                "parquet",
                table_formats.parquet_columns,
                table_formats.index_parquet,
                table_formats.read_parquet,
                endings=(".parquet", ".pq"),
            )
        ),
        with_folder_columns(
            ReaderChoice(
                "csv",
                table_formats.csv_columns,
                table_formats.index_csv,
                table_formats.read_csv,
                endings=packed(".csv", ".tsv"),
            )
        ),
        with_folder_columns(
            ReaderChoice(
                "jsonl",
                table_formats.json_columns,
                table_formats.index_json,
                table_formats.read_json,
                endings=packed(".jsonl", ".ndjson", ".json"),
            )
        ),
        ReaderChoice("iob", table_formats.iob_columns, table_formats.index_iob, table_formats.read_iob),
        ReaderChoice("sql", sql_columns, index_sql, read_sql, places=DATABASES),
        scan_reader(DICOM),
        scan_reader(NIFTI),
        table_reader("label_studio", types=export_types, rows=export_rows, read=export_table),
    ),
)

_NO_READERS = ("image", "votes")
"""What is read as files without a reader of its own."""


def places_of(word: str, settings: Source) -> Places:
    """Where the addresses lead that this reader reads."""
    return FILES if word in _NO_READERS else READERS.named(word, settings).places


def found_by(files: Sequence[SourceFile], settings: Source) -> str:
    """What was found, in a few words; nothing of a data set, which has a name."""
    return places_of(files[0].format, settings).summary(files, settings) if files else ""


def endings_of(word: str, settings: Source) -> tuple[str, ...]:
    """How the files end that a folder stands for."""
    return () if word in _NO_READERS else READERS.named(word, settings).endings
