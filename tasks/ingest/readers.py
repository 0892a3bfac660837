"""The readers of files, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.infra.choices import NamedChoices
from assay.infra.errors import InputError
from assay.tasks.ingest import formats
from assay.tasks.ingest.casting import plain_type
from assay.tasks.ingest.choice import GROUP, ReaderChoice
from assay.tasks.ingest.dicom import DICOM
from assay.tasks.ingest.files import SourceFile
from assay.tasks.ingest.folder_columns import with_folder_columns
from assay.tasks.ingest.heads import require_same_columns
from assay.tasks.ingest.label_studio import export_rows, export_table, export_types
from assay.tasks.ingest.nifti import NIFTI
from assay.tasks.ingest.places import FILES, Places, packed
from assay.tasks.ingest.rows import Rows
from assay.tasks.ingest.scan_rows import scan_reader
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.spans import FileIndex, Span
from assay.tasks.ingest.sql_rows import DATABASES, index_sql, read_sql, sql_columns

if TYPE_CHECKING:
    from assay.tasks.ingest.layout import Layout
    from assay.tasks.ingest.pieces import Reading

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

    def columns(files: Sequence[SourceFile], _: Source) -> formats.Columns:
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
                formats.parquet_columns,
                formats.index_parquet,
                formats.read_parquet,
                endings=(".parquet", ".pq"),
            )
        ),
        with_folder_columns(
            ReaderChoice(
                "csv", formats.csv_columns, formats.index_csv, formats.read_csv, endings=packed(".csv", ".tsv")
            )
        ),
        with_folder_columns(
            ReaderChoice(
                "jsonl",
                formats.json_columns,
                formats.index_json,
                formats.read_json,
                endings=packed(".jsonl", ".ndjson", ".json"),
            )
        ),
        ReaderChoice("iob", formats.iob_columns, formats.index_iob, formats.read_iob),
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
