"""Simple measures of a picture as it is, each between 0 and 1: what a first rule on pictures can look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import Pixels
from assay.tasks.labeling.frames import InBatches, pixels
from assay.tasks.labeling.written import Measure

Values = npt.NDArray[np.float64]  # [n]


def brightness(pictures: Pixels) -> Values:
    """The mean of all values, [n].

    >>> brightness(np.full((1, 3, 2, 2), 0.25, np.float32)).tolist()
    [0.25]
    """
    means: Values = pictures.mean(axis=(1, 2, 3), dtype=np.float64)
    return means


def contrast(pictures: Pixels) -> Values:
    """Twice the standard deviation of the grey values, [n]: 1 where half is black and half is white.

    >>> contrast(np.array([[[[0, 1], [1, 0]]]], np.float32)).tolist()
    [1.0]
    """
    spread: Values = 2 * pictures.mean(axis=1, dtype=np.float64).std(axis=(1, 2))
    return spread


def colourfulness(pictures: Pixels) -> Values:
    """How far the highest and the lowest channel of a pixel lie apart, on average, [n]; 0 of grey pictures.

    >>> colourfulness(np.ones((1, 1, 2, 2), np.float32)).tolist()
    [0.0]
    """
    apart: Values = (pictures.max(axis=1) - pictures.min(axis=1)).mean(axis=(1, 2), dtype=np.float64)
    return apart


def edges(pictures: Pixels) -> Values:
    """How much neighbouring pixels differ, down and across, on average, [n].

    >>> edges(np.array([[[[0, 1], [1, 0]]]], np.float32)).tolist()
    [1.0]
    """
    grey = pictures.mean(axis=1, dtype=np.float64)
    steps = [np.abs(np.diff(grey, axis=axis)) for axis in (1, 2)]
    total = sum((step.sum(axis=(1, 2)) for step in steps), start=np.zeros(len(grey)))
    values: Values = total / max(sum(step[0].size for step in steps if len(step)), 1)
    return values


MEASURES: Mapping[Measure, Callable[[Pixels], Values]] = {
    "brightness": brightness,
    "contrast": contrast,
    "colourfulness": colourfulness,
    "edges": edges,
}


def measured(table: pa.Table) -> dict[Measure, Values]:
    """Every measure of every picture of a table of samples."""
    pictures = pixels(table)
    return {name: measure(pictures) for name, measure in MEASURES.items()}


measures_of_pictures = InBatches(measured)
"""The frame of rules on these measures: pictures are decoded once for all of them, a batch at a time."""
