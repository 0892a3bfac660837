"""Images drawn to another size as Pillow draws them, by two matrices: gradients pass through, and add up in one order.

Torch's own resampling has no deterministic gradient on a GPU. Pillow rounds to whole levels on the way; this does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Curve = npt.NDArray[np.floating[Any]]


def _triangle(at: Curve) -> Curve:
    return np.asarray(np.maximum(0, 1 - np.abs(at)))


def _cubic(at: Curve) -> Curve:
    """Keys's kernel with a = -1/2."""
    x = np.abs(at)
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(at: Curve) -> Curve:
    return np.where(np.abs(at) < 3, np.sinc(at) * np.sinc(at / 3), 0)


FILTERS: dict[int, tuple[str, float, Callable[[Curve], Curve]]] = {
    1: ("lanczos", 3.0, _lanczos),
    2: ("bilinear", 1.0, _triangle),
    3: ("bicubic", 2.0, _cubic),
}
"""Pillow's filters by their number: the name, how far each reaches, and its curve."""


def resampling_matrix(before: int, after: int, resample: int) -> npt.NDArray[np.float64]:
    """What each pixel of a side is of those that were there, [after, before]; its rows add up to one.

    >>> resampling_matrix(4, 2, 2).round(3).tolist()
    [[0.429, 0.429, 0.143, 0.0], [0.0, 0.143, 0.429, 0.429]]
    """
    scale = before / after
    weights = np.zeros((after, before))
    _, reach, curve = FILTERS[resample]
    stretched = max(scale, 1.0)
    for pixel in range(after):
        centre = (pixel + 0.5) * scale
        first = max(0, math.floor(centre - reach * stretched + 0.5))
        last = min(before, math.floor(centre + reach * stretched + 0.5))
        taken = curve((np.arange(first, last) - centre + 0.5) / stretched)
        weights[pixel, first:last] = taken / taken.sum()
    return weights


def resampled(images: Tensor, height: int, width: int, resample: int) -> Tensor:
    """Images [n, c, h, w] of that size, within [0, 1] as Pillow keeps them."""
    if tuple(images.shape[-2:]) == (height, width):
        return images
    down = _matrix(images.shape[-2], height, resample, str(images.device))
    across = _matrix(images.shape[-1], width, resample, str(images.device))
    return (down @ (images @ across.T)).clamp(0, 1)


@lru_cache(maxsize=32)
def _matrix(before: int, after: int, resample: int, device: str) -> Tensor:
    with torch.inference_mode(False):  # kept for later calls, some of which ask for gradients
        return torch.from_numpy(resampling_matrix(before, after, resample)).to(torch.float32).to(device)
