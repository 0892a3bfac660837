"""Reader of NIfTI volumes: slices as pictures, upright by the header's directions; its free texts are not read."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.tasks.ingest.image_pixels import LONGEST_SIDE, UnfitError
from assay.tasks.ingest.medical_scans import (
    MOST_BYTES,
    PLANES,
    Opened,
    ScanFormat,
    Shown,
    between,
    cut_volume,
    folder_of_scan,
    names_somebody,
    pseudonym,
    read_as,
    scan_reader,
    slices_of,
    subject_of,
    windowed,
)
from assay.tasks.ingest.settings import Scan

_HEADER = 4096
"""Of a file so much is read for its header, which is smaller."""


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


_DAMAGED = "the bytes are no whole NIfTI volume"


def _volume(content: bytes) -> Any:
    """The volume, its axes leading to the patient's right, front and head."""
    import nibabel

    logging.getLogger("nibabel.global").setLevel(logging.CRITICAL)  # a volume that does not fit is told with its name
    with read_as(_DAMAGED):
        with gzip.open(io.BytesIO(content)) if content[:2] == b"\x1f\x8b" else io.BytesIO(content) as file:
            start = file.read(_HEADER)
            sizes = (int.from_bytes(start[:4], "little"), int.from_bytes(start[:4], "big"))
            kind = nibabel.Nifti2Image if 540 in sizes else nibabel.Nifti1Image
            header = kind.header_class.from_fileobj(io.BytesIO(start))
            shape, dtype = header.get_data_shape(), header.get_data_dtype()
            if dtype.fields is not None or len(shape) != 3:
                expected = "a volume of grey values in three directions is read"
                raise UnfitError(f"it has the shape {list(shape)}, and {expected}")
            if max(shape) > LONGEST_SIDE or np.prod(shape, dtype=float) * 8 > 4 * MOST_BYTES:
                raise UnfitError("the volume has more values than are read")
            claimed = int(header["vox_offset"]) + int(np.prod(shape, dtype=float)) * dtype.itemsize
            if claimed > MOST_BYTES:
                raise UnfitError(f"the volume has more than {MOST_BYTES >> 20} MiB")
            plain = start + file.read(max(claimed - len(start), 0))  # what comes after its values is not unpacked
        return nibabel.as_closest_canonical(kind.from_bytes(plain))


def _values(volume: Any) -> tuple[npt.NDArray[Any], float, float]:
    """All values, and the 1st and the 99th percentile of those that are numbers."""
    with read_as(_DAMAGED):
        values = np.asanyarray(volume.dataobj)
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, [1, 99]) if finite.size else (0.0, 0.0)
    return values, float(low), float(high)


NIFTI = scan_reader(ScanFormat("nifti", "nibabel", (), (".nii", ".nii.gz"), open_nifti))
