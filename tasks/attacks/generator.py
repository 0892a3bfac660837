"""The U-Net that makes perturbations: strided convolutions down, transposed ones up, and a skip at every size."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

DEPTH = 6
WIDTHS = (1, 2, 4, 8, 8, 8)  # of the first layer's channels: 64-128-256-512-512-512
_SMALLEST = 3.5  # pixels at the bottom: 224 is halved six times, 32 three times


def depth_for(size: int) -> int:
    """How often an image is halved: six times as in the paper from 224 pixels on, less often where it is smaller.

    >>> [depth_for(size) for size in (224, 128, 64, 32, 28, 8)]
    [6, 5, 4, 3, 3, 1]
    """
    return max(1, min(DEPTH, math.floor(math.log2(size / _SMALLEST))))


class PerturbationUNet(nn.Module):  # type: ignore[misc]
    """Images [n, c, h, w] in, perturbations [n, c, h, w] within (−1, 1) out; what scales them comes after."""

    def __init__(self, channels: int, depth: int, width: int = 64) -> None:
        super().__init__()
        wide = [channels, *(width * times for times in WIDTHS[:depth])]
        bottom = depth - 1
        self.down = nn.ModuleList(
            nn.Conv2d(before, after, 3 if at == bottom and depth == DEPTH else 4, stride=2, padding=1)
            for at, (before, after) in enumerate(pairwise(wide))
        )
        # No normalisation on the way into the first layer and at the bottom, as in pix2pix, whose U-Net this is.
        self.down_norms = nn.ModuleList(
            nn.BatchNorm2d(after) if 0 < at < bottom else nn.Identity() for at, after in enumerate(wide[1:])
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(after * (1 if at == bottom else 2), before, self.down[at].kernel_size, 2, 1)
            for at, (before, after) in enumerate(pairwise(wide))
        )
        self.up_norms = nn.ModuleList(
            nn.BatchNorm2d(before) if at > 0 else nn.Identity() for at, before in enumerate(wide[:-1])
        )
        self.dropout = nn.Dropout(0.5)

    def forward(self, images: Tensor) -> Tensor:
        """Perturbations within (−1, 1)."""
        passed, kept = images, [images]
        for at, (layer, norm) in enumerate(zip(self.down, self.down_norms, strict=True)):
            passed = norm(layer(passed if at == 0 else nn.functional.leaky_relu(passed, 0.2)))
            kept.append(passed)
        for at in reversed(range(len(self.up))):
            below = kept[at]
            grown = self.up_norms[at](self.up[at](torch.relu(passed), output_size=below.shape[-2:]))
            if at == 0:
                return torch.tanh(grown)
            passed = torch.cat([self.dropout(grown) if at == len(self.up) - 2 else grown, below], dim=1)
        raise AssertionError("a U-Net has at least one layer")


def untrained_generator(channels: int, size: int, width: int) -> PerturbationUNet:
    """A generator for images of `size` pixels (the shorter side), whose weights are still to be filled in."""
    with torch.random.fork_rng(devices=[]):  # Torch draws weights whether they are wanted or not
        return PerturbationUNet(channels, depth_for(size), width)


def seeded_generator(channels: int, size: int, width: int, seed: int) -> PerturbationUNet:
    """A generator for images of `size` pixels (the shorter side), its weights drawn from N(0, .02)."""
    drawn = torch.Generator().manual_seed(seed)
    network = untrained_generator(channels, size, width)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(module.weight, 0.0, 0.02, generator=drawn)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02, generator=drawn)
            nn.init.zeros_(module.bias)
    return network
