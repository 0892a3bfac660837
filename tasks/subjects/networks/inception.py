"""Inception-v3 (Szegedy et al., 2016) without its auxiliary head; below 75 pixels its first stride is left out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

SMALLEST = 40
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


class _Pool(nn.Module):  # type: ignore[misc]
    """The maximum over 3×3 with stride 2; the channels stay."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.max_pool2d(features, 3, stride=2)


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
