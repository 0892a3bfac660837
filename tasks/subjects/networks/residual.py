"""Image networks with shortcuts and branches: ResNet, Wide ResNet, DenseNet-121 (CheXNet) and Inception-v3.

He et al. (2016), with the stride in the 3×3 convolution; Zagoruyko and Komodakis (2016); Huang et al. (2017) and
Rajpurkar et al. (2017); Szegedy et al. (2016) without the auxiliary head.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from assay.tasks.subjects.networks.convolutional import initialise

DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}  # blocks per stage
_RESNET_STAGES = (64, 128, 256, 512)  # the inner channels of a stage's blocks; four times as many come out
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
        inner = [max(1, round(count * width)) for count in _RESNET_STAGES]
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
        initialise(self)
        for block in (block for stage in self.stages for block in stage):
            nn.init.zeros_(block.bn3.weight)  # a block begins as its shortcut, so that 152 layers can start to learn

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        features = torch.relu(self.bn1(self.conv1(images)))
        features = nn.functional.max_pool2d(features, 3, stride=2, padding=1)
        for stage in self.stages:
            features = stage(features)
        return self.head(features.mean(dim=(2, 3)))


_WIDE_BLOCKS = 4  # per stage: 28 layers in all
_WIDE_STEM, _WIDE_STAGES = 16, (160, 320, 640)


class _WideBlock(nn.Module):  # type: ignore[misc]
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
        wide = [max(1, round(count * width)) for count in _WIDE_STAGES]
        self.stem = nn.Conv2d(channels, _WIDE_STEM, 3, padding=1, bias=False)
        blocks, before = [], _WIDE_STEM
        for stage, after in enumerate(wide):
            for block in range(_WIDE_BLOCKS):
                blocks.append(_WideBlock(before, after, 2 if stage and not block else 1))
                before = after
        self.blocks, self.norm, self.head = nn.Sequential(*blocks), nn.BatchNorm2d(before), nn.Linear(before, classes)
        initialise(self)
        nn.init.zeros_(self.head.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        return self.head(torch.relu(self.norm(self.blocks(self.stem(images)))).mean(dim=(2, 3)))


_DENSE_BLOCKS = (6, 12, 24, 16)
_GROWTH, _DENSE_STEM, _BOTTLENECK = 32, 64, 4


class _DenseLayer(nn.Module):  # type: ignore[misc]
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
        growth, before = max(1, round(_GROWTH * width)), max(1, round(_DENSE_STEM * width))
        self.conv0 = nn.Conv2d(channels, before, 7, stride=2, padding=3, bias=False)
        self.norm0 = nn.BatchNorm2d(before)
        self.blocks = nn.ModuleList()
        for at, depth in enumerate(_DENSE_BLOCKS):
            layers: list[nn.Module] = []
            if at:
                layers.append(_Transition(before, before // 2))
                before //= 2
            for _ in range(depth):
                layers.append(_DenseLayer(before, growth))
                before += growth
            self.blocks.append(nn.Sequential(*layers))
        self.norm = nn.BatchNorm2d(before)
        self.head = nn.Linear(before, classes)
        initialise(self, mode="fan_in")
        nn.init.zeros_(self.head.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        features = torch.relu(self.norm0(self.conv0(images)))
        features = nn.functional.max_pool2d(features, 3, stride=2, padding=1)
        for block in self.blocks:
            features = block(features)
        return self.head(torch.relu(self.norm(features)).mean(dim=(2, 3)))


_STRIDE_FROM = 75  # pixels: with fewer, the five halvings of the published network leave nothing

_Wide = Callable[[int], int]  # from a published number of channels to that of this width


class _Conv(nn.Module):  # type: ignore[misc]
    """A convolution that keeps the extent unless it strides, batch normalisation, ReLU."""

    def __init__(self, before: int, after: int, *kernel: int, stride: int = 1, padded: bool = True) -> None:
        super().__init__()
        extent = kernel if len(kernel) == 2 else kernel * 2
        padding = tuple(side // 2 for side in extent) if padded and stride == 1 else 0
        self.conv = nn.Conv2d(before, after, extent, stride=stride, padding=padding, bias=False)
        self.norm = nn.BatchNorm2d(after, eps=0.001)
        self.channels = after

    def forward(self, features: Tensor) -> Tensor:
        return torch.relu(self.norm(self.conv(features)))


class _Branches(nn.Module):  # type: ignore[misc]
    """Branches side by side after a shared `trunk`, their channels joined."""

    def __init__(self, *branches: nn.Module, trunk: nn.Module | None = None) -> None:
        super().__init__()
        self.trunk = trunk or nn.Sequential()
        self.branches = nn.ModuleList(branches)
        self.channels = sum(_channels(branch) for branch in branches)

    def forward(self, features: Tensor) -> Tensor:
        features = self.trunk(features)
        return torch.cat([branch(features) for branch in self.branches], dim=1)


class Inception(nn.Module):  # type: ignore[misc]
    """The stem, then modules A (3), B, C (4), D and E (2), global average, dropout, the logits."""

    def __init__(self, *, classes: int, channels: int, size: int, width: float) -> None:
        super().__init__()

        def wide(published: int) -> int:
            return max(1, round(published * width))

        blocks: list[nn.Module] = [_stem(channels, wide, stride=2 if size >= _STRIDE_FROM else 1)]
        makers: list[Callable[[int], nn.Module]] = [
            *(lambda before, pooled=pooled: _a(before, pooled, wide) for pooled in (32, 64, 64)),
            lambda before: _b(before, wide),
            *(lambda before, inner=inner: _c(before, inner, wide) for inner in (128, 160, 160, 192)),
            lambda before: _d(before, wide),
            lambda before: _e(before, wide),
            lambda before: _e(before, wide),
        ]
        for make in makers:
            blocks.append(make(_channels(blocks[-1])))
        self.features = nn.Sequential(*blocks)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(_channels(blocks[-1]), classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(layer.weight, 0.0, 0.1, -2.0, 2.0)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        return self.head(self.dropout(self.features(images).mean(dim=(2, 3))))


def _channels(block: nn.Module) -> int:
    """How many channels come out of a block."""
    return int(block.channels if hasattr(block, "channels") else _channels(block[-1]))


def _averaged(before: int, after: int) -> nn.Module:
    return nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), _Conv(before, after, 1))


def _stem(channels: int, wide: _Wide, stride: int) -> nn.Module:
    first, second, third, fourth = wide(32), wide(64), wide(80), wide(192)
    return nn.Sequential(
        nn.Sequential(_Conv(channels, first, 3, stride=stride, padded=False), _Conv(first, first, 3, padded=False)),
        _Conv(first, second, 3),
        nn.MaxPool2d(3, stride=2),
        _Conv(second, third, 1),
        _Conv(third, fourth, 3, padded=False),
        _Pool(fourth),
    )


class _Pool(nn.MaxPool2d):  # type: ignore[misc]
    """The maximum over 3×3 with stride 2; the channels stay."""

    def __init__(self, channels: int) -> None:
        super().__init__(3, stride=2)
        self.channels = channels


def _a(before: int, pooled: int, wide: _Wide) -> nn.Module:
    return _Branches(
        _Conv(before, wide(64), 1),
        nn.Sequential(_Conv(before, wide(48), 1), _Conv(wide(48), wide(64), 5)),
        nn.Sequential(_Conv(before, wide(64), 1), _Conv(wide(64), wide(96), 3), _Conv(wide(96), wide(96), 3)),
        _averaged(before, wide(pooled)),
    )


def _b(before: int, wide: _Wide) -> nn.Module:
    return _Branches(
        _Conv(before, wide(384), 3, stride=2),
        nn.Sequential(_Conv(before, wide(64), 1), _Conv(wide(64), wide(96), 3), _Conv(wide(96), wide(96), 3, stride=2)),
        _Pool(before),
    )


def _c(before: int, inner: int, wide: _Wide) -> nn.Module:
    inside, after = wide(inner), wide(192)
    return _Branches(
        _Conv(before, after, 1),
        nn.Sequential(_Conv(before, inside, 1), _Conv(inside, inside, 1, 7), _Conv(inside, after, 7, 1)),
        nn.Sequential(
            _Conv(before, inside, 1),
            _Conv(inside, inside, 7, 1),
            _Conv(inside, inside, 1, 7),
            _Conv(inside, inside, 7, 1),
            _Conv(inside, after, 1, 7),
        ),
        _averaged(before, after),
    )


def _d(before: int, wide: _Wide) -> nn.Module:
    after = wide(192)
    return _Branches(
        nn.Sequential(_Conv(before, after, 1), _Conv(after, wide(320), 3, stride=2)),
        nn.Sequential(
            _Conv(before, after, 1),
            _Conv(after, after, 1, 7),
            _Conv(after, after, 7, 1),
            _Conv(after, after, 3, stride=2),
        ),
        _Pool(before),
    )


def _e(before: int, wide: _Wide) -> nn.Module:
    inside, narrow = wide(384), wide(448)

    def fork(trunk: nn.Module) -> nn.Module:
        return _Branches(_Conv(inside, inside, 1, 3), _Conv(inside, inside, 3, 1), trunk=trunk)

    return _Branches(
        _Conv(before, wide(320), 1),
        fork(_Conv(before, inside, 1)),
        fork(nn.Sequential(_Conv(before, narrow, 1), _Conv(narrow, inside, 3))),
        _averaged(before, wide(192)),
    )
