"""Files of scans as rows, a row for each slice: what a format has to say of a file, and how it becomes a table."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.regular_files import require_regular_url
from assay.tasks.ingest.choice import ReaderChoice
from assay.tasks.ingest.files import SourceFile, hash_of_file, size_of
from assay.tasks.ingest.pixels import UnfitError
from assay.tasks.ingest.places import Places, files_at
from assay.tasks.ingest.pseudonyms import folder_of_scan, names_of_scans
from assay.tasks.ingest.rows import Reject, Rows
from assay.tasks.ingest.scan_settings import Scan
from assay.tasks.ingest.scans import PICTURES, Shown, picture_column
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.spans import FileIndex, Span

if TYPE_CHECKING:
    from assay.tasks.ingest.heads import Head
    from assay.tasks.ingest.layout import Layout
    from assay.tasks.ingest.pieces import Reading

MOST_BYTES = 2 << 30
"""A scan beyond this is refused unread."""

SCAN, IMAGE, PATIENT, FOLDER, SLICE = "scan", "image", "patient", "folder", "slice"
_ALWAYS = ((SCAN, pa.string()), (IMAGE, PICTURES), (PATIENT, pa.string()), (SLICE, pa.int64()))


@dataclass(frozen=True)
class Opened:
    """A scan that was opened: the slices that are taken, the picture of each, and what its header says.

    `columns` has those of the format; `patient` stands for the patient. Nothing in it names anybody.
    """

    slices: Sequence[int]
    picture: Callable[[int], Shown]
    patient: str | None
    columns: dict[str, str | None]
    in_telling_folder: bool = False
    """Whether the file's folder has the patient's name or number in it."""


@dataclass(frozen=True)
class ScanFormat:
    """A format of scans: its word, the library that reads it, the columns it tells, and how a file is opened.

    `open` gets the bytes, the file's address, the settings and whether pictures are wanted; what is no such scan raises
    `UnfitError`.
    """

    word: str
    library: str
    columns: tuple[str, ...]
    endings: tuple[str, ...]
    open: Callable[[bytes, str, Scan, bool], Opened]


def require_library(name: str, word: str) -> ModuleType:
    """The library, or the sentence that says with which extra it comes."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"`{word}` is read by {name}, which is not installed: pip install 'assay-audit[medical]'."
        ) from error


def scan_reader(kind: ScanFormat) -> ReaderChoice:
    """The reader of a format of scans."""

    def columns(_: Sequence[SourceFile], settings: Source) -> tuple[pa.Schema, dict[str, Head]]:
        require_library(kind.library, kind.word)
        named = (settings.label, *(settings.features or ()))
        more = [FOLDER] if FOLDER in named else []  # a folder may bear a name: it is read for who asks for it
        return pa.schema([*_ALWAYS, *((name, pa.string()) for name in (*kind.columns, *more))]), {}

    def index(file: SourceFile, layout: Layout) -> FileIndex:
        try:
            rows = len(kind.open(_content(file.url), file.url, _scan(layout), False).slices)
        except UnfitError:
            rows = 1  # it is rejected when it is read
        return FileIndex(file.name, file.format, rows, size_of(file.url))

    def read(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
        url, schema = reading.urls[span.name], reading.layout.types
        typed = pa.schema([schema.field(name) for name in needed])
        try:
            opened = kind.open(_content(url), url, _scan(reading.layout), IMAGE in needed)
            if FOLDER in needed and opened.in_telling_folder:
                raise UnfitError("its folder has the name or the number of its patient in it, and would become a class")
        except UnfitError as reason:
            return _rejected(span, typed, [(at, str(reason)) for at in range(span.start, span.stop)])
        cells = list(_cells(opened, span, url, needed))
        kept = [(at, row) for at, row in cells if isinstance(row, dict)]
        faults = [(at, str(row)) for at, row in cells if not isinstance(row, dict)]
        arrays = [_column([row[name] for _, row in kept], typed.field(name).type) for name in needed]
        positions = np.asarray([at + 1 for at, _ in kept], np.int64)
        return Rows(span.name, pa.table(arrays, schema=typed), positions, _rejected(span, typed, faults).rejects)

    places = Places(
        files_at,
        names_of_scans,
        lambda file, _: hash_of_file(file.url),
        lambda file, _: size_of(file.url),
        lambda files, _: f"{len(files)} files",
    )
    return ReaderChoice(kind.word, columns, index, read, places=places, endings=kind.endings)


def _scan(layout: Layout) -> Scan:
    return (layout.source.scan if layout.source is not None else None) or Scan()


def _content(url: str) -> bytes:
    import fsspec

    require_regular_url(url)
    with fsspec.open(url, "rb") as file:
        content: bytes = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UnfitError(f"the file has more than {MOST_BYTES >> 20} MiB")
    return content


def _cells(
    opened: Opened, span: Span, url: str, needed: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, Any] | UnfitError]]:
    """Each row of a span, by column, or why it has no picture."""
    for at in range(span.start, span.stop):
        number = opened.slices[at]
        row: dict[str, Any] = {SCAN: f"{span.name}:{number}", PATIENT: opened.patient, SLICE: number}
        try:
            picture = opened.picture(number) if IMAGE in needed else None
            yield at, row | {IMAGE: picture, FOLDER: folder_of_scan(url)} | opened.columns
        except UnfitError as reason:
            yield at, reason


def _column(cells: list[Any], kind: pa.DataType) -> pa.Array:
    return picture_column(cells) if kind == PICTURES else pa.array(cells, kind)


def _rejected(span: Span, schema: pa.Schema, faults: Sequence[tuple[int, str]]) -> Rows:
    rejects = tuple(Reject(span.name, at + 1, reason) for at, reason in faults)
    return Rows(span.name, schema.empty_table(), np.empty(0, np.int64), rejects)
