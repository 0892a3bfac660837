"""Half of the simulated dermoscopy at half its width: 600 pictures of 32 × 32, for a whole audit in a few minutes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.data.samples.image_table import image_table, stratified_split
from assay.data.samples.lesions import CLASSES, lesions

_IMAGES, _TEST, _FRESH = 600, 180, 80


def lesions_small(seed: int = 0) -> pa.Table:
    """The first 600 of the 1200 lesions, in parts `train` (340), `test` (180) and `fresh` (80), each stratified."""
    whole = lesions(seed).slice(0, _IMAGES)
    channels, height, width = (int(whole[name][0].as_py()) for name in ("channels", "height", "width"))
    levels = np.stack([np.frombuffer(blob.as_buffer(), np.uint8) for blob in whole["image"]]).astype(np.int64)
    four = levels.reshape(_IMAGES, channels, height // 2, 2, width // 2, 2).sum(axis=(3, 5))
    gold = whole["gold"].to_numpy().astype(np.int64)
    generator = np.random.default_rng([seed, _IMAGES])
    split = np.array(stratified_split(gold, _TEST + _FRESH, generator))
    rest = np.flatnonzero(split == "test")
    split[rest] = np.where(np.array(stratified_split(gold[rest], _FRESH, generator)) == "test", "fresh", "test")
    return image_table("lesion", ((four + 2) // 4).astype(np.uint8), split.tolist(), CLASSES, gold)
