"""From the values of a scan to a picture as a radiologist would see it: which values, which slices, which way up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
