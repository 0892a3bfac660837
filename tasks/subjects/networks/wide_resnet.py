"""Wide residual network WRN-28-10 (Zagoruyko and Komodakis, 2016), for images of 16 to 64 pixels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SMALLEST = 8
_BLOCKS = 4  # per stage: 28 layers in all
_STEM, _STAGES = 16, (160, 320, 640)


class _Block(nn.Module):  # type: ignore[misc]
    """Two 3×3 convolutions, each after its normalisation, beside a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(after), nn.Conv2d(after, after, 3, padding=1, bias=False)
        changes = stride != 1 or before != after
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False) if changes else None

    def forward(self, features: Tensor) -> Tensor:
        active = torch.relu(self.norm1(features))
        beside = features if self.shortcut is None else self.shortcut(active)
        return self.conv2(torch.relu(self.norm2(self.conv1(active)))) + beside


class WideResNet(nn.Module):  # type: ignore[misc]
    """Three stages of four blocks, the mean over all places, one linear layer; `width` 0.1 is WRN-28-1."""

    def __init__(self, *, classes: int, channels: int, size: int, width: float) -> None:  # noqa: ARG002
        super().__init__()
        wide = [max(1, round(count * width)) for count in _STAGES]
        self.stem = nn.Conv2d(channels, _STEM, 3, padding=1, bias=False)
        blocks, before = [], _STEM
        for stage, after in enumerate(wide):
            for block in range(_BLOCKS):
                blocks.append(_Block(before, after, 2 if stage and not block else 1))
                before = after
        self.blocks, self.norm, self.head = nn.Sequential(*blocks), nn.BatchNorm2d(before), nn.Linear(before, classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(self.head.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        features = torch.relu(self.norm(self.blocks(self.stem(images))))
        return self.head(features.mean(dim=(2, 3)))
