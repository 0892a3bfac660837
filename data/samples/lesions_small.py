"""Simulated dermoscopy for a whole audit in a minute: 1520 pictures of 32 × 32, painted as `sample/lesions` are.

Two in five are malignant, more than any clinic sees: a test part of 240 then holds enough of both classes to tell a
network from one that says benign to everything. Benign ones stay milder, so that the classes overlap less than there.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from assay.data.samples.image_table import image_table, stratified_split
from assay.data.samples.lesions import CLASSES, SIZE, painted
from assay.data.samples.painting import in_blocks

_IMAGES, _MALIGNANT, _TEST, _FRESH, _MILD_BELOW = 1520, 608, 240, 80, 0.42


def lesions_small(seed: int = 0) -> pa.Table:
    """1520 lesions as RGB images of 32 × 32: `train` (1200), `test` (240) and `fresh` (80), each stratified."""
    generator = np.random.default_rng([seed, _IMAGES])
    gold = generator.permutation((np.arange(_IMAGES) < _MALIGNANT).astype(np.int64))
    levels = in_blocks(partial(painted, mild_below=_MILD_BELOW), gold, seed).astype(np.int64)
    four = levels.reshape(_IMAGES, -1, SIZE // 2, 2, SIZE // 2, 2).sum(axis=(3, 5))
    split = np.array(stratified_split(gold, _TEST + _FRESH, generator))
    rest = np.flatnonzero(split == "test")
    split[rest] = np.where(np.array(stratified_split(gold[rest], _FRESH, generator)) == "test", "fresh", "test")
    return image_table("lesion", ((four + 2) // 4).astype(np.uint8), split.tolist(), CLASSES, gold)
