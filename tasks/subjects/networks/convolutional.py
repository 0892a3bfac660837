"""Image networks of convolutions one after the other: a small CNN, VGG, its form for CIFAR-10, and AttnMel.

VGG is by Simonyan and Zisserman (2015), AttnMel by Yan et al. (2019): VGG16 with two attention gates, for melanoma.
Averages over a fixed extent are matrix products: on a GPU their gradient is the same, bit for bit, every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

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


VGG16 = (2, 2, 3, 3, 3)  # convolutions per stage
VGG19 = (2, 2, 4, 4, 4)
STAGES = (64, 128, 256, 512, 512)  # channels per stage
_HIDDEN, _EXTENT = 4096, 7


def trunk(depths: Sequence[int], *, channels: int, width: float, normalized: bool) -> tuple[nn.ModuleList, list[int]]:
    """The five stages without their poolings (a 2×2 maximum follows each), and the channels each gives."""
    stages, before = nn.ModuleList(), channels
    wide = [max(1, round(count * width)) for count in STAGES]
    for depth, after in zip(depths, wide, strict=True):
        layers: list[nn.Module] = []
        for _ in range(depth):
            layers += [nn.Conv2d(before, after, 3, padding=1)]
            layers += [nn.BatchNorm2d(after)] if normalized else []
            layers += [nn.ReLU()]
            before = after
        stages.append(nn.Sequential(*layers))
    return stages, wide


class VGG(nn.Module):  # type: ignore[misc]
    """VGG19: five stages, 7×7 average pooling (less where images below 224 pixels leave less), two hidden layers.

    With batch normalisation (`normalized`) it learns from scratch like any other; the original, without, needs small
    steps (Adam at 2e-4) and more epochs: its authors started it from the weights of a shallower network.
    """

    def __init__(self, *, classes: int, channels: int, size: int, width: float, normalized: bool = False) -> None:
        super().__init__()
        self.stages, wide = trunk(VGG19, channels=channels, width=width, normalized=normalized)
        hidden, self.extent = max(1, round(_HIDDEN * width)), min(_EXTENT, max(1, size // 32))
        self.classifier = nn.Sequential(
            nn.Linear(wide[-1] * self.extent**2, hidden),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(hidden, classes),
        )
        initialise(self, linear=partial(nn.init.kaiming_normal_, nonlinearity="relu"))

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        for stage in self.stages:
            images = nn.functional.max_pool2d(stage(images), 2)
        return self.classifier(pool_to(images, self.extent).flatten(1))


def initialise(
    network: nn.Module,
    *,
    mode: Literal["fan_in", "fan_out"] = "fan_out",
    linear: Callable[[Tensor], object] | None = None,
) -> None:
    """Weights of convolutions by He et al., of linear layers as they are said to be, both with biases of 0.

    The published N(0, 0.01) of VGG's linear layers lets nothing through at small widths.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode=mode, nonlinearity="relu")
        elif isinstance(layer, nn.Linear) and linear is not None:
            linear(layer.weight)
        else:
            continue
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


class VGGCifar(nn.Module):  # type: ignore[misc]
    """Five stages of 3×3 convolutions, the mean over all places, one linear layer.

    A maximum over 2×2 places follows every stage for as long as there are as many: from 32 pixels on that is the
    published network, and smaller images (windows of an image) are pooled less often.
    """

    def __init__(self, *, classes: int, channels: int, size: int, width: float) -> None:  # noqa: ARG002
        super().__init__()
        self.stages, wide = trunk(VGG16, channels=channels, width=width, normalized=True)
        self.head = nn.Linear(wide[-1], classes)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        for stage in self.stages:
            images = halved(stage(images))
        return self.head(images.mean(dim=(2, 3)))


_ATTENTION = 256


class _Gate(nn.Module):  # type: ignore[misc]
    """Attention over local features l from global features g: c = φ(ReLU(W_l l + up(W_g g))), a = σ(c) or softmax.

    Gives where it looks, [n, 1, h, w], and what it sees there, [n, c].
    """

    def __init__(self, local: int, broad: int, inner: int, *, softmaxed: bool) -> None:
        super().__init__()
        self.local = nn.Conv2d(local, inner, 1, bias=False)
        self.broad = nn.Conv2d(broad, inner, 1, bias=False)
        self.phi = nn.Conv2d(inner, 1, 1)
        self.softmaxed = softmaxed

    def forward(self, local: Tensor, broad: Tensor) -> tuple[Tensor, Tensor]:
        extent = local.shape[-2:]
        up = nn.functional.interpolate(self.broad(broad), size=extent, mode="bilinear", align_corners=False)
        compatibility = self.phi(torch.relu(self.local(local) + up))
        if self.softmaxed:
            attention = compatibility.flatten(2).softmax(dim=2).unflatten(2, extent)
            return attention, (attention * local).sum(dim=(2, 3))
        attention = compatibility.sigmoid()
        return attention, (attention * local).mean(dim=(2, 3))


class AttnMel(nn.Module):  # type: ignore[misc]
    """Logits from the pooled last stage and from stages three and four as the gates let them through.

    `softmaxed` gates share out one unit of attention over the image; otherwise each place has its own σ.
    """

    def __init__(self, *, classes: int, channels: int, size: int, width: float, softmaxed: bool = False) -> None:  # noqa: ARG002
        super().__init__()
        self.stages, wide = trunk(VGG16, channels=channels, width=width, normalized=True)
        inner = max(1, round(_ATTENTION * width))
        self.fine = _Gate(wide[2], wide[4], inner, softmaxed=softmaxed)
        self.coarse = _Gate(wide[3], wide[4], inner, softmaxed=softmaxed)
        self.head = nn.Linear(wide[4] + wide[3] + wide[2], classes)
        initialise(self, mode="fan_in", linear=partial(nn.init.normal_, mean=0.0, std=0.01))

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        pooled = []
        for stage in self.stages:
            images = nn.functional.max_pool2d(stage(images), 2)
            pooled.append(images)
        _, third = self.fine(pooled[2], pooled[4])
        _, fourth = self.coarse(pooled[3], pooled[4])
        return self.head(torch.cat([pooled[4].mean(dim=(2, 3)), fourth, third], dim=1))
