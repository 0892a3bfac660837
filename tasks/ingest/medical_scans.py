"""Medical scans as rows, whatever their format: a row for each slice, windowed and upright as a radiologist would see
it; patients and files go by pseudonyms.
"""

from __future__ import annotations

import functools
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import AssayError, require_library
from assay.tasks.ingest.image_pixels import UnfitError, bytes_at
from assay.tasks.ingest.reader_choice import Columns, FileIndex, Layout, ReaderChoice, Reading, Span
from assay.tasks.ingest.rows import Reject, Rows
from assay.tasks.ingest.settings import Scan, Source
from assay.tasks.ingest.source_files import FILES, SourceFile, hash_of_file, size_of

Values = npt.NDArray[np.float64]  # [h, w]
Shown = npt.NDArray[np.uint8]  # [h, w, c]
Curve = Literal["LINEAR", "LINEAR_EXACT", "SIGMOID"]

PICTURES = pa.list_(pa.list_(pa.list_(pa.uint8())))
"""The type of a column of pictures: height, width, channels."""


def windowed(values: npt.NDArray[Any], centre: float, width: float, curve: Curve = "LINEAR") -> npt.NDArray[np.uint8]:
    """The values within a window, from black to white (DICOM PS3.3, C.11.2.1.2 and C.11.2.1.3).

    >>> windowed(np.array([-1000.0, 40.0, 1000.0]), 40, 400).tolist()
    [0, 128, 255]
    """
    x = np.asarray(values, np.float64)
    if curve == "SIGMOID":
        share = 1 / (1 + np.exp(-4 * (x - centre) / width))
    elif curve == "LINEAR_EXACT":
        share = (x - centre) / width + 0.5
    else:
        share = (x - (centre - 0.5)) / (width - 1) + 0.5
    return _bytes_of(share)


def between(values: npt.NDArray[Any], low: float, high: float) -> npt.NDArray[np.uint8]:
    """The values from `low` (black) to `high` (white); what is no number is black.

    >>> between(np.array([0.0, 5.0, 10.0, np.nan]), 0, 10).tolist()
    [0, 128, 255, 0]
    """
    x = np.asarray(values, np.float64)
    return _bytes_of((x - low) / (high - low) if high > low else np.zeros_like(x))


def _bytes_of(share: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    return np.floor(np.clip(np.nan_to_num(share, nan=0.0), 0, 1) * 255 + 0.5).astype(np.uint8)


def slices_of(total: int, wanted: int | None) -> list[int]:
    """Which slices are taken: all, or so many in equal steps, each from the middle of its step.

    >>> slices_of(100, 4), slices_of(3, None), slices_of(2, 5)
    ([12, 37, 62, 87], [0, 1, 2], [0, 1])
    """
    count = total if wanted is None else min(wanted, total)
    return [(2 * at + 1) * total // (2 * count) for at in range(count)]


def upright(picture: npt.NDArray[Any], directions: Sequence[float]) -> npt.NDArray[Any]:
    """The picture with the patient's right (or front) at its left, and the front (or head) at its top.

    `directions` are the six cosines of ImageOrientationPatient: where columns and where rows lead, towards the
    patient's left, back and head.

    >>> upright(np.array([[1, 2], [3, 4]]), [-1, 0, 0, 0, 1, 0]).tolist()
    [[2, 1], [4, 3]]
    """
    across, down = np.asarray(directions[:3], float), np.asarray(directions[3:], float)
    wrong_way = across[np.abs(across).argmax()] < 0
    axis = int(np.abs(down).argmax())
    upside_down = down[axis] < 0 if axis < 2 else down[axis] > 0  # the head, at the end of the third axis, is on top
    turned = picture[:, ::-1] if wrong_way else picture
    return turned[::-1] if upside_down else turned


def cut_volume(volume: npt.NDArray[Any], plane: str, at: int) -> npt.NDArray[Any]:
    """A slice of a volume whose axes lead to the patient's right, front and head, upright as `upright` has it.

    >>> volume = np.arange(8).reshape(2, 2, 2)
    >>> cut_volume(volume, "axial", 0).tolist(), cut_volume(volume, "coronal", 0).tolist()
    ([[6, 2], [4, 0]], [[5, 1], [4, 0]])
    """
    if plane == "axial":
        return volume[::-1, ::-1, at].T
    return volume[::-1, at, ::-1].T if plane == "coronal" else volume[at, ::-1, ::-1].T


PLANES = {"axial": 2, "coronal": 1, "sagittal": 0}
"""Which axis of such a volume a plane's slices lie along."""


def picture_column(pictures: Sequence[Shown]) -> pa.Array:
    """Pictures as a column of nested lists.

    >>> picture_column([np.zeros((1, 2, 1), np.uint8)]).to_pylist()
    [[[[0], [0]]]]
    """
    flat = np.concatenate([picture.ravel() for picture in pictures]) if pictures else np.empty(0, np.uint8)
    heights = [len(picture) for picture in pictures]
    widths = np.repeat([picture.shape[1] for picture in pictures], heights)
    channels = np.repeat([picture.shape[2] for picture in pictures], [p.shape[0] * p.shape[1] for p in pictures])
    cells = pa.ListArray.from_arrays(_offsets(channels), pa.array(flat))
    rows = pa.ListArray.from_arrays(_offsets(widths), cells)
    return pa.ListArray.from_arrays(_offsets(heights), rows).cast(PICTURES)


def _offsets(lengths: npt.ArrayLike) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))


_SALT = b"assay patient"
_SHORTEST = 3


@functools.lru_cache(maxsize=1 << 16)
def pseudonym(identifier: str) -> str:
    """What stands for a patient's identifier: slow to make, so that nobody tries all numbers there are in a minute.

    >>> pseudonym("12345"), pseudonym("12345") == pseudonym("12346")
    ('patient-e2b86be29311', False)
    """
    digest = hashlib.scrypt(identifier.strip().encode(), salt=_SALT, n=1 << 12, r=8, p=1, dklen=6)
    return f"patient-{digest.hex()}"


def subject_of(url: str) -> str | None:
    """The subject that a path of the BIDS standard names.

    >>> subject_of("/study/sub-07/anat/sub-07_T1w.nii.gz"), subject_of("/study/scan.nii")
    ('07', None)
    """
    match = re.search(r"(?:^|/)sub-([A-Za-z0-9]+)(?=[_/])", url)
    return match[1] if match else None


def folder_of_scan(url: str) -> str:
    """The folder that a scan lies in."""
    return posixpath.basename(posixpath.dirname(url))


def names_somebody(folder: str, identifiers: Iterable[str]) -> bool:
    """Whether a folder's name has one of the identifiers in it, or a part of one.

    >>> names_somebody("doe_1", ["DOE^JOHN", "4711"]), names_somebody("sick", ["DOE^JOHN", "4711"])
    (True, False)
    """
    parts = [part.casefold() for identifier in identifiers for part in re.split(r"[\^\s=,]+", identifier)]
    name = folder.casefold()
    return any(part == name or (len(part) >= _SHORTEST and part in name) for part in parts)


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


@contextmanager
def read_as(what: str) -> Iterator[None]:
    """Within the block, whatever a library raises on somebody's bytes is `what` is wrong with them; its own words,
    which may quote the values of tags, are left out."""
    try:
        yield
    except (AssayError, UnfitError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever the library stands on may raise
        raise UnfitError(f"{what} ({type(error).__name__})") from None


def scan_reader(kind: ScanFormat) -> ReaderChoice:
    """The reader of a format of scans."""

    def columns(_: Sequence[SourceFile], settings: Source) -> Columns:
        require_library(kind.library, f"`{kind.word}` is read by {kind.library}, which", "medical")
        named = (settings.label, *(settings.features or ()))
        more = [FOLDER] if FOLDER in named else []  # a folder may bear a name: it is read for who asks for it
        return pa.schema([*_ALWAYS, *((name, pa.string()) for name in (*kind.columns, *more))]), {}

    def index(file: SourceFile, layout: Layout) -> FileIndex:
        try:
            rows = len(kind.open(bytes_at(file.url, MOST_BYTES), file.url, _scan(layout), False).slices)
        except UnfitError:
            rows = 1  # it is rejected when it is read
        return FileIndex(file.name, file.format, rows, size_of(file.url))

    def read(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
        url, types = reading.urls[span.name], reading.layout.types
        rows: dict[int, dict[str, Any]] = {}
        faults: dict[int, str] = {}
        try:
            opened = kind.open(bytes_at(url, MOST_BYTES), url, _scan(reading.layout), IMAGE in needed)
            if FOLDER in needed and opened.in_telling_folder:
                raise UnfitError("its folder has the name or the number of its patient in it, and would become a class")
            for at in range(span.start, span.stop):
                try:
                    rows[at + 1] = _cells(opened, opened.slices[at], span.name, url, IMAGE in needed)
                except UnfitError as reason:
                    faults[at + 1] = str(reason)
        except UnfitError as reason:
            faults = dict.fromkeys(range(span.start + 1, span.stop + 1), str(reason))
        rejects = tuple(Reject(span.name, row, reason) for row, reason in faults.items())
        columns = {}
        for name in needed:
            cells, dtype = [row[name] for row in rows.values()], types.field(name).type
            columns[name] = picture_column(cells) if dtype == PICTURES else pa.array(cells, dtype)
        return Rows(span.name, pa.table(columns), np.fromiter(rows, np.int64), rejects)

    places = replace(
        FILES,
        called=lambda urls: [hash_of_file(url)[:16] for url in urls],  # as `sha256sum` begins: names may name patients
        summary=lambda files, _: f"{len(files)} files",
    )
    return ReaderChoice(kind.word, columns, index, read, places=places, endings=kind.endings)


def _scan(layout: Layout) -> Scan:
    return (layout.source.scan if layout.source is not None else None) or Scan()


def _cells(opened: Opened, number: int, name: str, url: str, pictures: bool) -> dict[str, Any]:
    """The row of a slice, by column."""
    known = {SCAN: f"{name}:{number}", PATIENT: opened.patient, SLICE: number, FOLDER: folder_of_scan(url)}
    return known | {IMAGE: opened.picture(number) if pictures else None} | opened.columns
