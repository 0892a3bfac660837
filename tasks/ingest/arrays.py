"""Images given as numbers: nested or flat lists of a column, and the raw pixels of our own image tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.tasks.ingest.pixels import Picture, UnfitError, require_bounds


def is_array(given: pa.DataType) -> bool:
    """Whether a column of this type can hold images as numbers: lists (of lists) of whole numbers or floats."""
    if not _is_list(given):
        return False
    while _is_list(given):
        given = given.value_type
    return bool(pa.types.is_integer(given) or pa.types.is_floating(given))


def _is_list(given: pa.DataType) -> bool:
    return bool(pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given))


def array_picture(cell: pa.Scalar, shape: tuple[int, ...] | None) -> Picture:
    """The pixels of one cell, [c, h, w]: whole numbers as uint8, others as float32; channels may be last or first.

    >>> array_picture(pa.scalar([[0, 255], [7, 8]]), None).tolist()
    [[[0, 255], [7, 8]]]
    """
    values, extents = _flat(cell)
    if len(extents) == 1:
        extents = _square(extents[0]) if shape is None else list(shape)
    elif shape is not None and math.prod(shape) != len(values):
        raise UnfitError(f"the array is {_times(extents)} where `shape` is {_times(shape)}")
    if math.prod(extents) != len(values):
        raise UnfitError(
            f"the array has {len(values)} numbers where `shape` {list(shape or ())} has {math.prod(extents)}"
        )
    return _channels_first(_typed(values).reshape(extents))


def _times(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def _flat(cell: pa.Scalar) -> tuple[pa.Array, list[int]]:
    """All numbers of a cell and the extent of each level, which must be the same everywhere."""
    values, extents = cell.values, []
    extents.append(len(values))
    while _is_list(values.type):
        if values.null_count:
            raise UnfitError("a row of the array is missing")
        lengths = _lengths(values)
        if len(np.unique(lengths)) > 1:
            raise UnfitError(
                f"the rows of the array have {lengths.min()} to {lengths.max()} numbers; an image has no gaps"
            )
        extents.append(int(lengths[0]) if len(lengths) else 0)
        values = values.flatten()
    if values.null_count:
        raise UnfitError("a pixel is missing")
    return values, extents


def _lengths(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    import pyarrow.compute as pc

    lengths: np.ndarray[tuple[int], np.dtype[np.int64]] = pc.list_value_length(values).to_numpy(zero_copy_only=False)
    return lengths


def _square(numbers: int) -> list[int]:
    """The shape of a flat list: a square grey image, or a square one with three channels last."""
    for channels in (1, 3):
        side = math.isqrt(numbers // channels)
        if side and side * side * channels == numbers:
            return [side, side, channels]
    raise UnfitError(f"a flat list of {numbers} numbers is no square image; say `pixels: {{shape: [height, width]}}`")


def _typed(values: pa.Array) -> Picture:
    array = values.to_numpy(zero_copy_only=False)
    if not len(array):
        raise UnfitError("the array is empty")
    whole = array.dtype.kind in "iu"
    if whole:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high > 255:
            raise UnfitError(f"pixels lie in {low} to {high}, and whole numbers should lie in 0 to 255")
    else:
        require_bounds(array)
    result: Picture = array.astype(np.uint8 if whole else np.float32)
    return result


def _channels_first(array: Picture) -> Picture:
    if array.ndim == 2:
        return array[None]
    if array.ndim == 3 and array.shape[2] in (1, 3):
        return np.ascontiguousarray(np.moveaxis(array, -1, 0))
    if array.ndim == 3 and array.shape[0] in (1, 3):
        return array
    extents = " x ".join(map(str, array.shape))
    raise UnfitError(f"an array of {extents} is no image; height x width, with 1 or 3 channels last or first, is")


def raw_picture(content: bytes, channels: int, height: int, width: int) -> Picture:
    """The pixels that a blob of our own image tables holds: one byte a value, or float32."""
    extents = (channels, height, width)
    if channels in (1, 3) and len(content) == math.prod(extents):
        return np.frombuffer(content, np.uint8).reshape(extents)
    if channels not in (1, 3) or len(content) != 4 * math.prod(extents):
        raise UnfitError(f"{len(content)} bytes are no image of {channels} x {height} x {width}")
    values = np.frombuffer(content, np.float32).reshape(extents)
    require_bounds(values)
    return values
