"""What every embedded image data set shares: the form of its table, and its split into train and test."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import image_columns

Levels = npt.NDArray[np.uint8]  # [n, c, h, w]
Whole = npt.NDArray[np.int64]
Generator = np.random.Generator


def image_table(
    prefix: str,
    pixels: Levels,
    split: Sequence[str],
    classes: Sequence[str],
    gold: Whole | None = None,
    labels: npt.NDArray[np.int8] | None = None,
) -> pa.Table:
    """A table of samples that says it holds images: `id`, `gold` (or `labels`, [n, k]), `split`, and the pixels.

    >>> table = image_table("x", np.zeros((2, 1, 4, 4), np.uint8), ["train", "test"], ["a", "b"], np.array([1, 0]))
    >>> table.column_names
    ['id', 'gold', 'split', 'image', 'height', 'width', 'channels']
    """
    n = len(pixels)
    columns: dict[str, pa.Array] = {"id": pa.array([f"{prefix}-{number:04d}" for number in range(n)], pa.string())}
    columns["gold"] = pa.nulls(n, pa.int16()) if gold is None else pa.array(gold, pa.int16())
    if labels is not None:
        columns["labels"] = pa.array(labels.tolist(), pa.list_(pa.int8()))
    columns["split"] = pa.array(list(split), pa.string())
    columns |= image_columns(pixels)
    return pa.table(columns).replace_schema_metadata({"classes": json.dumps(list(classes)), "images": "raw"})


def stratified_split(groups: Whole, test: int, generator: Generator) -> list[str]:
    """`train` or `test` for each sample: `test` of them in all, from every group in proportion (largest remainder).

    >>> parts = stratified_split(np.array([0] * 6 + [1] * 3), 3, np.random.default_rng(0))
    >>> parts[:6].count("test"), parts[6:].count("test")
    (2, 1)
    """
    names, counts = np.unique(groups, return_counts=True)
    taken = counts * test // len(groups)
    remainders = counts * test % len(groups)
    for at in np.argsort(-remainders, kind="stable")[: test - int(taken.sum())]:
        taken[at] += 1
    parts = np.full(len(groups), "train", dtype="<U5")
    for name, count in zip(names, taken.tolist(), strict=True):
        members = np.flatnonzero(groups == name)
        parts[generator.permutation(members)[:count]] = "test"
    return [str(part) for part in parts]
