"""ResNet-50, -101 and -152 (He et al., 2016), with the stride in the 3×3 convolution as everybody trains them today."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SMALLEST = 32
DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}  # blocks per stage
_STAGES = (64, 128, 256, 512)  # the inner channels of a stage's blocks; four times as many come out
_EXPANSION = 4


class _Bottleneck(nn.Module):  # type: ignore[misc]
    """1×1, 3×3 and 1×1 convolutions beside a shortcut."""

    def __init__(self, before: int, inner: int, stride: int) -> None:
        super().__init__()
        after = inner * _EXPANSION
        self.conv1, self.bn1 = nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, features: Tensor) -> Tensor:
        inner = torch.relu(self.bn1(self.conv1(features)))
        inner = torch.relu(self.bn2(self.conv2(inner)))
        return torch.relu(self.bn3(self.conv3(inner)) + self.shortcut(features))


class ResNet(nn.Module):  # type: ignore[misc]
    """A ResNet of bottleneck blocks; `depth` is its number of layers: 50, 101 or 152."""

    def __init__(self, depth: int, *, classes: int, channels: int, size: int, width: float) -> None:  # noqa: ARG002
        super().__init__()
        inner = [max(1, round(count * width)) for count in _STAGES]
        self.conv1 = nn.Conv2d(channels, inner[0], 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(inner[0])
        self.stages, before = nn.ModuleList(), inner[0]
        for at, (blocks, count) in enumerate(zip(DEPTHS[depth], inner, strict=True)):
            layers = []
            for block in range(blocks):
                layers.append(_Bottleneck(before, count, stride=2 if at and not block else 1))
                before = count * _EXPANSION
            self.stages.append(nn.Sequential(*layers))
        self.head = nn.Linear(before, classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(layer, _Bottleneck):
                nn.init.zeros_(
                    layer.bn3.weight
                )  # a block begins as its shortcut, so that 152 layers can start to learn

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        features = torch.relu(self.bn1(self.conv1(images)))
        features = nn.functional.max_pool2d(features, 3, stride=2, padding=1)
        for stage in self.stages:
            features = stage(features)
        return self.head(features.mean(dim=(2, 3)))
