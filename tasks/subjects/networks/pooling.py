"""Pooling whose way depends on the size of the images.

Averages over a fixed extent are matrix products: on a GPU their gradient is the same, bit for bit, every time.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def pool_to(images: Tensor, extent: int) -> Tensor:
    """Feature maps [n, c, h, w] averaged to [n, c, extent, extent], each cell over its share of rows and columns.

    What `adaptive_avg_pool2d` computes; smaller maps are repeated.
    """
    height, width = images.shape[-2:]
    if height == width == extent:
        return images
    return _shares(height, extent, images) @ images @ _shares(width, extent, images).T


def halved(images: Tensor) -> Tensor:
    """The maximum over 2×2 places, where there are as many."""
    return nn.functional.max_pool2d(images, 2) if min(images.shape[-2:]) > 1 else images


def _shares(extent: int, cells: int, like: Tensor) -> Tensor:
    """The matrix [cells, extent] whose rows average the pixels of each cell."""
    cell = torch.arange(cells).unsqueeze(1)
    first, beyond = cell * extent // cells, -((cell + 1) * -extent // cells)
    pixel = torch.arange(extent)
    inside = ((pixel >= first) & (pixel < beyond)).to(like.dtype)
    return (inside / inside.sum(dim=1, keepdim=True)).to(like.device)
