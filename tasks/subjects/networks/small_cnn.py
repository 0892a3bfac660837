"""A small convolutional network for images of 8 to 64 pixels: three strided convolutions and a hidden layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from assay.tasks.subjects.networks.pooling import pool_to

SMALLEST = 8


class SmallCNN(nn.Module):  # type: ignore[misc]
    """Convolutions of 16, 32 and 64 channels (times `width`) with stride 2, then 64 hidden units, then the logits."""

    def __init__(self, *, classes: int, channels: int, size: int, width: float) -> None:
        super().__init__()
        wide = [max(1, round(count * width)) for count in (16, 32, 64, 64)]
        self.extent = min(4, max(1, size // 8))
        inputs = [channels, *wide[:2]]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1) for before, after in zip(inputs, wide[:3], strict=True)
        )
        self.hidden = nn.Linear(wide[2] * self.extent**2, wide[3])
        self.head = nn.Linear(wide[3], classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        for convolution in self.convolutions:
            images = torch.relu(convolution(images))
        return self.head(torch.relu(self.hidden(pool_to(images, self.extent).flatten(1))))
