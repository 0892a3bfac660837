"""Readers of DICOM files and NIfTI volumes: a row for each slice, windowed and upright as a radiologist would see
it; patients are pseudonyms, and no tag that names anybody is handed on.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import importlib
import io
import logging
import posixpath
import re
import struct
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.storage.folders import require_regular_url
from assay.tasks.ingest.image_pixels import LONGEST_SIDE, MOST_PIXELS, UnfitError
from assay.tasks.ingest.reader_choice import (
    FileIndex,
    Places,
    ReaderChoice,
    SourceFile,
    Span,
    files_at,
    hash_of_file,
    size_of,
)
from assay.tasks.ingest.rows import Reject, Rows
from assay.tasks.ingest.settings import Scan, Source

if TYPE_CHECKING:
    from assay.tasks.ingest.layout import Layout, Reading
    from assay.tasks.ingest.table_formats import Head


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


def names_of_scans(urls: Sequence[str]) -> list[str]:
    """Scans by the beginning of their content's sha256 (`sha256sum` finds them): their file names may name patients."""
    return [hash_of_file(url)[:16] for url in urls]


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
    parts = [part.casefold() for one in identifiers for part in re.split(r"[\^\s=,]+", one)]
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


COLUMNS = {
    "modality": "Modality",
    "body_part": "BodyPartExamined",
    "view": "ViewPosition",
    "laterality": "ImageLaterality",
    "sex": "PatientSex",
}
"""The columns, each a tag whose values are codes (VR CS): the only tags whose values leave this module."""

_NAMING = ("PatientID", "PatientName", "OtherPatientIDs", "OtherPatientNames", "AccessionNumber", "PatientBirthName")
_CODE = re.compile(r"[A-Z0-9 _]{1,16}")
_DICOM_FAULTS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)
"""What pydicom and its decoders raise on files that are damaged, or packed in a way that is not known here."""


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Within the block pydicom says nothing: its warnings quote the values of tags."""
    logger = require_library("pydicom", "dicom").config.logger
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except _DICOM_FAULTS as error:
        raise UnfitError(f"the file is damaged, or packed in a way that is not read ({type(error).__name__})") from None
    finally:
        logger.setLevel(level)


def open_dicom(content: bytes, url: str, scan: Scan, pictures: bool) -> Opened:
    """A DICOM file's frames; of those that nobody looks at only the header is read."""
    if not is_dicom(content):
        raise UnfitError("the bytes are no DICOM file")
    with _quietly():
        pydicom = require_library("pydicom", "dicom")
        header = pydicom.dcmread(io.BytesIO(content), stop_before_pixels=not pictures)
        _require_a_picture(header)
        slices = slices_of(int(header.get("NumberOfFrames") or 1), scan.slices)
        identifier = str(header.get("PatientID") or "").strip()
        issuer = str(header.get("IssuerOfPatientID") or "").strip()
        naming = [str(value) for tag in _NAMING if (value := header.get(tag))]
        columns = {column: _code(header.get(tag)) for column, tag in COLUMNS.items()}
    patient = pseudonym(f"{issuer}\n{identifier}") if identifier else None
    frame = functools.partial(_frame, header, scan)
    return Opened(slices, frame, patient, columns, names_somebody(folder_of_scan(url), naming))


def is_dicom(content: bytes) -> bool:
    """Whether the bytes are those of a DICOM file."""
    return content[128:132] == b"DICM"


def dicom_picture(content: bytes) -> Shown:
    """The picture of a DICOM file that a table names, by its own window, [c, h, w]."""
    opened = open_dicom(content, "", Scan(), True)
    if len(opened.slices) != 1:
        raise UnfitError(f"the file holds {len(opened.slices)} frames; give such files as `dicom`")
    return np.ascontiguousarray(np.moveaxis(opened.picture(0), -1, 0))


def _code(value: object) -> str | None:
    """A tag's code; what is no code is left out: somebody may have written a name there."""
    text = str(value or "").strip()
    return text if _CODE.fullmatch(text) else None


def _require_a_picture(header: Any) -> None:
    """Nothing, or why the pixels cannot be taken: none, too many, or such that may show a name."""
    rows, columns = int(header.get("Rows") or 0), int(header.get("Columns") or 0)
    if not rows or not columns:
        raise UnfitError("the DICOM file has no image")
    if max(rows, columns) > LONGEST_SIDE or rows * columns > MOST_PIXELS:
        raise UnfitError(f"the image has more than {MOST_PIXELS} pixels, or a side of more than {LONGEST_SIDE}")
    if str(header.get("BurnedInAnnotation") or "").strip().upper() == "YES":
        raise UnfitError("its pixels have annotations burned in, which may name the patient; black them out first")


def _frame(header: Any, scan: Scan, at: int) -> Shown:
    """A frame as a picture of 8 bits."""
    with _quietly():
        from pydicom.pixels import apply_modality_lut, pixel_array

        values = pixel_array(header, index=at)
        if values.ndim == 3:
            return _upright(values if values.dtype == np.uint8 else between(values, 0, int(values.max())), header)
        shown = _shown(apply_modality_lut(values, header), header, scan)
        if str(header.get("PhotometricInterpretation")) == "MONOCHROME1":
            shown = 255 - shown
        return _upright(shown[:, :, None], header)


def _shown(values: npt.NDArray[Any], header: Any, scan: Scan) -> npt.NDArray[np.uint8]:
    """Grey values by the window that was asked for, else by the file's own table or window, else all of them."""
    from pydicom.pixels import apply_voi_lut

    if scan.window is not None:
        return windowed(values, *scan.window)
    if header.get("VOILUTSequence"):
        looked_up = apply_voi_lut(values, header)
        return between(looked_up, 0, 2 ** int(header.VOILUTSequence[0].LUTDescriptor[2]) - 1)
    centre, width = (_first(header.get(tag)) for tag in ("WindowCenter", "WindowWidth"))
    if centre is not None and width is not None and width > 1:
        return windowed(values, centre, width, _curve(header))
    return between(values, float(values.min()), float(values.max()))


def _curve(header: Any) -> Curve:
    function = str(header.get("VOILUTFunction") or "LINEAR")
    return "SIGMOID" if function == "SIGMOID" else "LINEAR_EXACT" if function == "LINEAR_EXACT" else "LINEAR"


def _first(value: Any) -> float | None:
    if value is None:
        return None
    return float(value if isinstance(value, int | float | str) or not hasattr(value, "__getitem__") else value[0])


def _upright(picture: npt.NDArray[Any], header: Any) -> Shown:
    directions = header.get("ImageOrientationPatient")
    turned = upright(picture, [float(one) for one in directions]) if directions and len(directions) == 6 else picture
    return np.ascontiguousarray(turned)


DICOM = ScanFormat("dicom", "pydicom", tuple(COLUMNS), (".dcm", ".dicom", ".ima"), open_dicom)


_NIFTI_FAULTS = (ArithmeticError, EOFError, LookupError, OSError, TypeError, ValueError, zlib.error)


def open_nifti(content: bytes, url: str, scan: Scan, _pictures: bool) -> Opened:
    """A volume's slices; each volume is a group of its own where no folder (`sub-07`) says whose it is."""
    volume = _volume(content)
    slices = slices_of(volume.shape[PLANES[scan.plane]], scan.slices)
    subject = subject_of(url)
    patient = pseudonym(subject or hashlib.sha256(content).hexdigest())
    telling = subject is not None and names_somebody(folder_of_scan(url), [f"sub-{subject}"])
    values = functools.cache(lambda: _values(volume))

    def picture(at: int) -> Shown:
        loaded, low, high = values()
        cut = cut_volume(loaded, scan.plane, at)
        shown = between(cut, low, high) if scan.window is None else windowed(cut, *scan.window)
        return np.ascontiguousarray(shown[:, :, None])

    return Opened(slices, picture, patient, {}, telling)


def _volume(content: bytes) -> Any:
    """The volume, its axes leading to the patient's right, front and head."""
    nibabel: Any = require_library("nibabel", "nifti")
    faults = (*_NIFTI_FAULTS, nibabel.filebasedimages.ImageFileError, nibabel.spatialimages.HeaderDataError)
    try:
        plain = _unpacked(content) if content[:2] == b"\x1f\x8b" else content
        sizes = (int.from_bytes(plain[:4], "little"), int.from_bytes(plain[:4], "big"))
        volume = (nibabel.Nifti2Image if 540 in sizes else nibabel.Nifti1Image).from_bytes(plain)
        _require_grey_values(volume.shape, volume.get_data_dtype())
        return nibabel.as_closest_canonical(volume)
    except faults as error:
        raise UnfitError(f"the bytes are no whole NIfTI volume ({type(error).__name__})") from None


def _require_grey_values(shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
    if kind.fields is not None or len(shape) != 3:
        raise UnfitError(f"it has the shape {list(shape)}, and a volume of grey values in three directions is read")
    if max(shape) > LONGEST_SIDE or np.prod(shape, dtype=float) * 8 > 4 * MOST_BYTES:
        raise UnfitError("the volume has more values than are read")


def _unpacked(content: bytes) -> bytes:
    with gzip.open(io.BytesIO(content)) as packed:
        plain = packed.read(MOST_BYTES + 1)
    if len(plain) > MOST_BYTES:
        raise UnfitError(f"unpacked it has more than {MOST_BYTES >> 20} MiB")
    return plain


def _values(volume: Any) -> tuple[npt.NDArray[Any], float, float]:
    """All values, and the 1st and the 99th percentile of those that are numbers."""
    try:
        values = np.asanyarray(volume.dataobj)
    except _NIFTI_FAULTS as error:
        raise UnfitError(f"the bytes are no whole NIfTI volume ({type(error).__name__})") from None
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, [1, 99]) if finite.size else (0.0, 0.0)
    return values, float(low), float(high)


NIFTI = ScanFormat("nifti", "nibabel", (), (".nii", ".nii.gz"), open_nifti)
