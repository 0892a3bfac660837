"""VGG (Simonyan and Zisserman, 2015): the trunk of stacked 3×3 convolutions, and VGG19 with its published head."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from assay.tasks.subjects.networks.pooling import pool_to

SMALLEST = 32
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
        _initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        for stage in self.stages:
            images = nn.functional.max_pool2d(stage(images), 2)
        return self.classifier(pool_to(images, self.extent).flatten(1))


def _initialise(network: nn.Module) -> None:
    """By He et al. throughout: the published N(0, 0.01) of the linear layers lets nothing through at small widths."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
