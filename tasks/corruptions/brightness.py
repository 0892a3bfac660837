"""Brightness: the value of HSV raised or lowered, hue and saturation as they were."""

from __future__ import annotations

import torch
from torch import Tensor


def brightened(images: Tensor, amount: float) -> Tensor:
    """The images [n, c, h, w] with `amount` added to V, the largest channel of each pixel, within [0, 1].

    Hue and saturation stay when all channels are multiplied by V′/V; black becomes grey.

    >>> brightened(torch.tensor([0.2, 0.4, 0.0]).reshape(1, 3, 1, 1), 0.2).flatten().tolist()
    [0.30000001192092896, 0.6000000238418579, 0.0]
    """
    value = images.amax(dim=1, keepdim=True)
    brighter = (value + amount).clamp_(0, 1)
    if images.shape[1] == 1:
        return brighter
    lit = value > 0
    return torch.where(lit, images * (brighter / torch.where(lit, value, 1.0)), brighter).clamp_(0, 1)
