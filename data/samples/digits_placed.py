"""1797 handwritten digits of 8 × 8 pixels, as scikit-learn ships them, each put somewhere on a canvas of 32 × 32."""

import numpy as np
import pyarrow as pa

from assay.data.samples.image_table import image_table, stratified_split

CANVAS, REACH = 32, 4
_INK, _TEST, _FRESH = 16, 900, 297


def digits_placed(seed: int = 0) -> pa.Table:
    """The digits 0 to 9 as grey images, in parts `train` (600), `test` (900) and `fresh` (297), each stratified.

    A digit lies up to 4 pixels off the middle of its canvas in each direction, every place as likely as any other, and
    none beyond these. So a window of 20 pixels that moves by 2 still shows all of it, and where the digit stands says
    nothing about which it is. But moved digits are as likely as the originals only away from the edge: from 56 of the
    81 places (69 %) some shift by 2 leads out of them. A subject that learned from still windows never saw a digit out
    there: if it errs on such moves, it is rejected though it is honest, on the fresh samples as on any others. Learning
    from moved windows (`augment: [window]`) prevents it, and the fresh samples show where it does not.

    >>> table = digits_placed()
    >>> [table["split"].to_pylist().count(part) for part in ("train", "test", "fresh")]
    [600, 900, 297]
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    levels = ((bunch.images.astype(np.int64) * 255 + _INK // 2) // _INK).astype(np.uint8)
    gold = bunch.target.astype(np.int64)
    generator = np.random.default_rng([seed, len(gold)])
    side = levels.shape[1]
    corners = (CANVAS - side) // 2 + generator.integers(-REACH, REACH + 1, (len(gold), 2))
    pixels = np.zeros((len(gold), 1, CANVAS, CANVAS), np.uint8)
    for canvas, digit, (top, left) in zip(pixels, levels, corners.tolist(), strict=True):
        canvas[0, top : top + side, left : left + side] = digit
    split = np.array(stratified_split(gold, _TEST + _FRESH, generator))
    rest = np.flatnonzero(split == "test")
    split[rest] = np.where(np.array(stratified_split(gold[rest], _FRESH, generator)) == "test", "fresh", "test")
    return image_table("placed", pixels, split.tolist(), [str(digit) for digit in range(10)], gold)
