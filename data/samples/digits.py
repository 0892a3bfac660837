"""1797 real handwritten digits, as scikit-learn ships them, brought from 8 × 8 to 32 × 32 pixels."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.samples.image_table import image_table, stratified_split

_TIMES, _INK, _TEST = 4, 16, 450


def digits(seed: int = 0) -> pa.Table:
    """The digits 0 to 9 as grey images with a stratified split of 1347 for training and 450 for the test.

    >>> table = digits()
    >>> table.num_rows, table["split"].to_pylist().count("test"), table["height"][0].as_py()
    (1797, 450, 32)
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    pixels = enlarged(bunch.images.astype(np.int64))[:, None]
    gold = bunch.target.astype(np.int64)
    split = stratified_split(gold, _TEST, np.random.default_rng([seed, len(gold)]))
    return image_table("digit", pixels, split, [str(digit) for digit in range(10)], gold)


def enlarged(ink: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Bilinear from [n, h, w] of 0..16 to [n, 4h, 4w] of 0..255, in whole numbers: the same bytes on every machine.

    >>> enlarged(np.full((1, 2, 2), 16)).min()
    np.uint8(255)
    """
    doubled = _along(_along(ink, 1), 2)  # each axis multiplies by 8, the weights being eighths
    scale = _INK * 64
    return ((doubled * 255 * 2 + scale) // (2 * scale)).astype(np.uint8)


def _along(values: npt.NDArray[np.int64], axis: int) -> npt.NDArray[np.int64]:
    """Four times as many values along an axis, pixel centres aligned as in any image library, each times 8."""
    extent = values.shape[axis]
    eighths = 2 * np.arange(extent * _TIMES) + 1 - _TIMES  # 8 · (i + ½) / 4 − 4: the place in the source, in eighths
    first = eighths // 8
    weight = eighths % 8
    shape = [1] * values.ndim
    shape[axis] = -1
    left = np.take(values, np.clip(first, 0, extent - 1), axis)
    right = np.take(values, np.clip(first + 1, 0, extent - 1), axis)
    result: npt.NDArray[np.int64] = left * (8 - weight).reshape(shape) + right * weight.reshape(shape)
    return result
