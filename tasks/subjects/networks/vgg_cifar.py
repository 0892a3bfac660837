"""VGG16 as it is used for CIFAR-10: batch normalisation, and one linear layer instead of three."""

from __future__ import annotations

from torch import Tensor, nn

from assay.tasks.subjects.networks.pooling import halved
from assay.tasks.subjects.networks.vgg import VGG16, trunk

SMALLEST = 8


class VGGCifar(nn.Module):  # type: ignore[misc]
    """Five stages of 3×3 convolutions, the mean over all places, one linear layer.

    A maximum over 2×2 places follows every stage for as long as there are as many: from 32 pixels on that is the
    published network, and smaller images (windows of an image) are pooled less often.
    """

    def __init__(self, *, classes: int, channels: int, size: int, width: float) -> None:  # noqa: ARG002
        super().__init__()
        self.stages, wide = trunk(VGG16, channels=channels, width=width, normalized=True)
        self.head = nn.Linear(wide[-1], classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        for stage in self.stages:
            images = halved(stage(images))
        return self.head(images.mean(dim=(2, 3)))
