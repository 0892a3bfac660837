"""Reader of DICOM files: frames as pictures, coded tags as columns; no tag that names anybody is handed on."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.infra.terminal import quietened
from assay.tasks.ingest.image_pixels import LONGEST_SIDE, MOST_PIXELS, UnfitError
from assay.tasks.ingest.medical_scans import (
    Curve,
    Opened,
    ScanFormat,
    Shown,
    between,
    folder_of_scan,
    names_somebody,
    pseudonym,
    read_as,
    scan_reader,
    slices_of,
    upright,
    windowed,
)
from assay.tasks.ingest.settings import Scan

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


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Within the block pydicom says nothing: its warnings quote the values of tags."""
    damaged = "the file is damaged, or packed in a way that is not read"
    with quietened("pydicom"), warnings.catch_warnings(action="ignore"), read_as(damaged):
        yield


def open_dicom(content: bytes, url: str, scan: Scan, pictures: bool) -> Opened:
    """A DICOM file's frames; of those that nobody looks at only the header is read."""
    if not is_dicom(content):
        raise UnfitError("the bytes are no DICOM file")
    with _quietly():
        import pydicom

        header = pydicom.dcmread(io.BytesIO(content), stop_before_pixels=not pictures)
        _require_a_picture(header)
        slices = slices_of(_frames(header, len(content)), scan.slices)
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


def _frames(header: Any, size: int) -> int:
    """How many frames there are, which the file can hold; a packed one has no fewer than the 16 bytes of its item."""
    frames, packed = int(header.get("NumberOfFrames") or 1), header.file_meta.TransferSyntaxUID.is_compressed
    least = 16 if packed else int(header.Rows) * int(header.Columns) * int(header.get("BitsAllocated") or 8) // 8
    if frames < 1 or frames * least > size:
        raise UnfitError(f"it claims {frames:,} frames, which its {size:,} bytes cannot hold")
    return frames


def _frame(header: Any, scan: Scan, at: int) -> Shown:
    """A frame as a picture of 8 bits."""
    with _quietly():
        from pydicom.pixels import apply_color_lut, apply_modality_lut, pixel_array

        values, most = pixel_array(header, index=at), 2 ** int(header.BitsStored) - 1
        if str(header.get("PhotometricInterpretation")) == "PALETTE COLOR":
            values = apply_color_lut(values, header)
            most = np.iinfo(values.dtype).max
        if values.ndim == 3:
            return _upright(between(values, 0, most), header)
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
    return None if value is None else float(np.ravel(value)[0])


def _upright(picture: npt.NDArray[Any], header: Any) -> Shown:
    directions = header.get("ImageOrientationPatient")
    turned = upright(picture, list(map(float, directions))) if directions and len(directions) == 6 else picture
    return np.ascontiguousarray(turned)


DICOM = scan_reader(ScanFormat("dicom", "pydicom", tuple(COLUMNS), (".dcm", ".dicom", ".ima"), open_dicom))
