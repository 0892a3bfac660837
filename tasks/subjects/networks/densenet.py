"""DenseNet-121 (Huang et al., 2017); with one logit per finding it is CheXNet (Rajpurkar et al., 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SMALLEST = 32
_BLOCKS = (6, 12, 24, 16)
_GROWTH, _STEM, _BOTTLENECK = 32, 64, 4


class _Layer(nn.Module):  # type: ignore[misc]
    """Adds `growth` channels made from all that came before."""

    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        inner = _BOTTLENECK * growth
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, inner, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(inner), nn.Conv2d(inner, growth, 3, padding=1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        inner = self.conv1(torch.relu(self.norm1(features)))
        return torch.cat([features, self.conv2(torch.relu(self.norm2(inner)))], dim=1)


class _Transition(nn.Module):  # type: ignore[misc]
    """Halves the channels and the extent between two blocks."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(before), nn.Conv2d(before, after, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.avg_pool2d(self.conv(torch.relu(self.norm(features))), 2)


class DenseNet(nn.Module):  # type: ignore[misc]
    """Four dense blocks of 6, 12, 24 and 16 layers, each layer adding 32 channels (times `width`)."""

    def __init__(self, *, classes: int, channels: int, size: int, width: float) -> None:  # noqa: ARG002 - any size fits
        super().__init__()
        growth, before = max(1, round(_GROWTH * width)), max(1, round(_STEM * width))
        self.conv0 = nn.Conv2d(channels, before, 7, stride=2, padding=3, bias=False)
        self.norm0 = nn.BatchNorm2d(before)
        self.blocks = nn.ModuleList()
        for at, depth in enumerate(_BLOCKS):
            layers: list[nn.Module] = []
            if at:
                layers.append(_Transition(before, before // 2))
                before //= 2
            for _ in range(depth):
                layers.append(_Layer(before, growth))
                before += growth
            self.blocks.append(nn.Sequential(*layers))
        self.norm = nn.BatchNorm2d(before)
        self.head = nn.Linear(before, classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight)
            elif isinstance(layer, nn.Linear):
                nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        features = torch.relu(self.norm0(self.conv0(images)))
        features = nn.functional.max_pool2d(features, 3, stride=2, padding=1)
        for block in self.blocks:
            features = block(features)
        return self.head(torch.relu(self.norm(features)).mean(dim=(2, 3)))
