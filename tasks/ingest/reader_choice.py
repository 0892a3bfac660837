"""What a reader of files is, what it is handed (the layout of a source, a span of rows), and what it gives: the columns
of files and of the folders they lie in, an index of each file, and the rows of a span.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from assay.infra.errors import AssayError, InputError, SettingError, first_named, nearest, reason_of
from assay.infra.storage.network import is_transient
from assay.infra.user_code.choices import Named, origin_of, plugin_title
from assay.tasks.ingest.image_pixels import Form, UnfitError
from assay.tasks.ingest.record_scanner import TextIndex
from assay.tasks.ingest.rows import TYPES, Rows, cast_text, infer_type, plain_type
from assay.tasks.ingest.settings import Pixels, Source
from assay.tasks.ingest.source_files import FILES, Places, SourceFile, partition_values


@dataclass(frozen=True)
class Shape:
    """What all sentences of a file have in common: how many columns, and whether documents can be told apart.

    Where they can, a piece begins with a document, so that no cut shows in what documents are called.
    """

    width: int = 0
    documents: bool = False


@dataclass(frozen=True)
class Span:
    """A run of rows of one file: bytes `start` to `stop` of a text file, rows of a Parquet file or a given table.

    `first` is the line (text) or the row number (others) of the first one, counted from 1. A span knows its file by
    name only: where the file lies is said when it is read, so that a written plan outlives a moved folder.
    """

    name: str
    format: str
    start: int
    stop: int
    first: int


@dataclass(frozen=True)
class FileIndex:
    """What planning needs of a file: how many rows and bytes, and for text files where the records begin."""

    name: str
    format: str
    rows: int
    bytes: int
    text: TextIndex | None = None
    begins: tuple[int, int] = (0, 0)
    """In IOB files, how many entities begin with B- and with I-, where one or the other convention has it."""
    shape: Shape = field(default_factory=Shape)
    """In IOB files, what all sentences have in common."""

    @property
    def filled(self) -> int:
        """How many of the rows are no blank lines."""
        return self.rows - (self.text.blank if self.text is not None else 0)

    def span(self, start: int, stop: int) -> Span | None:
        """Rows `start` to `stop`, moved to the marks that a text file's index holds; none if nothing is left."""
        if self.text is None:
            return Span(self.name, self.format, start, stop, start + 1)
        _, begin, line = self.text.mark_at(start)
        end = self.text.size if stop >= self.rows else self.text.mark_at(stop)[1]
        return Span(self.name, self.format, begin, end, line) if begin < end else None


@dataclass(frozen=True)
class LabelColumns:
    """Where a sample's labels stand: a column per class, one column of names, or one column of marks per class."""

    names: tuple[str, ...]
    kind: Literal["columns", "names", "marks"]


@dataclass(frozen=True)
class Head:
    """Where a text file's first record begins (byte and line), and the columns its header names, if it has one."""

    start: int
    line: int
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageColumn:
    """Which column holds the images and as what; `form` is settled once the first image has been looked at."""

    name: str
    kind: Literal["path", "bytes", "array", "raw"]
    pixels: Pixels | None = None
    form: Form | None = None


@dataclass(frozen=True)
class Layout:
    """Which columns are read, as which types, and which of them are id, gold label, features and votes."""

    types: pa.Schema
    """The columns that are read, in the order of the samples, with the types they enter in."""
    id: str | None
    label: str | None
    features: tuple[str, ...]
    votes: tuple[str, ...]
    """The columns of `features` that are labelling functions' votes."""
    required: tuple[str, ...] = ()
    split: str | None = None
    group: str | None = None
    """The column of what is independent."""
    gold_in: tuple[str, ...] | None = None
    delimiter: str = ","
    closed: bool = False
    """Whether fields that are not among `types` are left out on purpose (`features` says which to keep)."""
    heads: Mapping[str, Head] = field(default_factory=dict)
    """Where the records of each text file begin."""
    classes: tuple[str, ...] | None = None
    """The classes that the data set itself names, if it does."""
    image: ImageColumn | None = None
    """The column that becomes the image's pixels, if there is one."""
    labels: LabelColumns | None = None
    """The columns that become `labels`, where a sample may bear several classes."""
    iob_columns: tuple[int, int] = (1, -1)
    """Where a line of an IOB file has its word and its tag."""
    tagged: tuple[str, str] | None = None
    """The columns with the words and the tags of sentences, where samples are tables of them."""
    score: str | None = None
    """The column with the number that samples bear."""
    other_truth: bool = False
    """Whether what is true of a sample is tags or a number, so that there are no classes."""
    nearly_numbers: tuple[str, ...] = ()
    """The columns that are text because a few cells of the first rows are no numbers."""
    source: Source | None = None
    """The source's settings, which know of readers that plug-ins bring."""


@dataclass(frozen=True)
class Reading:
    """What every piece of a source needs to be read: the layout, where the files lie, the table if it is given."""

    layout: Layout
    urls: Mapping[str, str] = field(default_factory=dict)
    table: pa.Table | None = None
    convention: str = "IOB2"
    """How the tags of IOB files are written."""
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """What the sentences of each IOB file have in common."""
    folder: str = ""
    """Where the names of a listing of images are to be found."""


Columns = tuple[pa.Schema, dict[str, Head]]
"""The columns that all files share with the types of the first file, and where each text file's records begin."""


def with_folder_columns(reader: ReaderChoice) -> ReaderChoice:
    """The reader, its rows with the columns that the folders say; a file's own column of that name is not read."""

    def columns(files: Sequence[SourceFile], settings: Source) -> Columns:
        by_column = _folder_values(files)
        declared = settings.columns or {}
        inside = {name: kind for name, kind in declared.items() if name not in by_column}
        types, heads = reader.columns(files, settings.model_copy(update={"columns": inside or None}))
        own = [field for field in types if field.name not in by_column]
        return pa.schema([*own, *((name, _type(name, values, declared)) for name, values in by_column.items())]), heads

    def read(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
        partition = partition_values(reading.urls[span.name])
        types = reading.layout.types
        inside = [name for name in types.names if name not in partition]
        # Rows without a column are not counted: one is read though none is needed.
        asked = [name for name in needed if name not in partition] or inside[:1]
        rows = reader.read(span, reading, tuple(asked))
        table, count = rows.table, len(rows.positions)
        for name in (column for column in needed if column in partition):
            cell = cast_text(pa.array([partition[name]], pa.string()), types.field(name).type)[0][0]
            table = table.append_column(name, pa.repeat(cell, count))
        return replace(rows, table=table.select(list(needed)))

    return replace(reader, columns=columns, read=read)


def _folder_values(files: Sequence[SourceFile]) -> dict[str, list[str | None]]:
    """The values of all files, by column; the folders of all files have the same columns."""
    first, *others = [partition_values(file.url) for file in files]
    for file, partition in zip(files[1:], others, strict=True):
        if set(partition) != set(first):
            theirs, ours = (" and ".join(names) or "nothing" for names in (partition, first))
            raise InputError(
                f"{file.name} lies in folders that say {theirs}, and {files[0].name} in such that say {ours}; give "
                "files that are partitioned alike."
            )
    return {name: [values[name] for values in (first, *others)] for name in first}


def _type(name: str, values: Sequence[str | None], declared: Mapping[str, str]) -> pa.DataType:
    """The type that was declared, where every folder's value is of it, else the one that the values suggest."""
    if name not in declared:
        return infer_type(pa.array([value or "" for value in values], pa.string()))
    target = TYPES[declared[name]]
    bad = cast_text(pa.array(values, pa.string()), target)[1]
    if len(bad):
        raise InputError(
            f"A folder says {name}={values[bad[0]]}, and `columns` says that {name} is {declared[name]}; correct one "
            "of them."
        )
    return target


GROUP = "assay.readers"
"""Where installed packages offer readers of files."""


@dataclass(frozen=True)
class ReaderChoice(Named):
    """A reader of one format; `table_reader` makes one of three simple functions.

    `columns` gives the types of the first file's columns, and where the records of text files begin. `index` gives how
    many rows and bytes a file has. `read` gives the rows of a span with the columns that are needed, in that order;
    a row may not depend on how the file is cut into spans.
    """

    columns: Callable[[Sequence[SourceFile], Source], Columns]
    index: Callable[[SourceFile, Layout], FileIndex]
    read: Callable[[Span, Reading, tuple[str, ...]], Rows]
    places: Places = FILES
    """Where its addresses lead: to files, unless it says otherwise."""
    endings: tuple[str, ...] = ()
    """How the files end that a folder stands for; without any, a folder is refused."""


@contextmanager
def parsing(name: str, word: str, settings: Source | None = None) -> Iterator[None]:
    """Within the block, whatever a parser raises is the fault of the file: each library has errors of its own for what
    is damaged, or made to break it. Of a plug-in's parser nobody knows: both are named."""
    try:
        yield
    except (AssayError, UnfitError):
        raise
    except Exception as fault:
        if is_transient(fault):
            raise
        if settings is not None and (origin := origin_of(settings, word)) is not None:
            raised = origin.reference.raised(fault, bool(settings.masked))
            raise InputError(f"{plugin_title(origin)} raised {raised} while it read {name}.") from fault
        reason = f"{type(fault).__name__}: {reason_of(fault)[:200]}"
        raise InputError(f"{name} cannot be read as {word} ({reason}); write or copy it again.") from fault


def unknown_column(column: str, setting: str, names: Sequence[str], file: str) -> SettingError:
    """The sentence for a setting that names a column which is not there."""
    close = nearest(column, names)
    hint = f" Did you mean {close}?" if close else ""
    between = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if between is not None:
        hint = f" If that parts its cells, write `delimiter: {json.dumps(between)}`."
    listed = first_named([name[:60] for name in names], 20)
    message = f"{file} has no column {column!r}, which `{setting}` names; it has {listed}.{hint}"
    return SettingError(message, setting, column)


def require_same_columns(files: Sequence[SourceFile], columns: dict[str, tuple[str, ...]], settings: Source) -> None:
    """Nothing, or the sentence for the first file that has other columns than the first one; where the columns to keep
    are named, later files may have more."""
    expected = columns[files[0].name]
    for file in files[1:]:
        missing = sorted(set(expected) - set(columns[file.name]))
        more = [] if settings.keeps_only_named else sorted(set(columns[file.name]) - set(expected))
        if missing or more:
            what = f"no column {missing[0]!r}, which" if missing else f"a column {more[0]!r}, which"
            has = "has" if missing else "has not"
            raise InputError(f"{file.name} has {what} {files[0].name} {has}; the files of a source share one header.")


def typed_rows(span: Span, table: pa.Table, reading: Reading, needed: Sequence[str]) -> Rows:
    """The rows of a span, with the columns that are needed in the types that they enter in."""
    schema = pa.schema([reading.layout.types.field(name) for name in needed])
    table = table.select(list(needed)).cast(schema).combine_chunks()
    return Rows(span.name, table, np.arange(span.start + 1, span.stop + 1))


ROW_BYTES = 1024
"""So many bytes a row is taken to have where pieces are planned and only the number of rows is known."""


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

    def columns(files: Sequence[SourceFile], settings: Source) -> Columns:
        schemas = {file.name: types(file.url) for file in files}
        require_same_columns(files, {name: tuple(schema.names) for name, schema in schemas.items()}, settings)
        first = schemas[files[0].name]
        return pa.schema([(field.name, plain_type(field.type)) for field in first]), {}

    def index(file: SourceFile, _: Layout) -> FileIndex:
        count = rows(file.url)
        return FileIndex(file.name, file.format, count, count * ROW_BYTES)

    def read_rows(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
        table = read(reading.urls[span.name], span.start, span.stop)
        if table.num_rows != span.stop - span.start:
            raise InputError(
                f"The reader {word} gave {table.num_rows} rows of {span.name}, and was asked for rows {span.start} to "
                f"{span.stop}."
            )
        return typed_rows(span, table, reading, needed)

    return ReaderChoice(word, columns, index, read_rows)
