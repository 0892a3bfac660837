"""AttnMel (Yan et al., 2019): VGG16 with batch normalisation and two attention gates, for melanoma in dermoscopy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.tasks.subjects.networks.vgg import VGG16, trunk

SMALLEST = 32
_ATTENTION = 256


@dataclass(frozen=True)
class Attended:
    """What AttnMel sees: its logits, and where the two gates look [n, 1, h, w] (the finer map first)."""

    logits: Tensor
    fine: Tensor
    coarse: Tensor


class _Gate(nn.Module):  # type: ignore[misc]
    """Attention over local features l from global features g: c = φ(ReLU(W_l l + up(W_g g))), a = σ(c) or softmax."""

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
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_in", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
            elif isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, 0.0, 0.01)
                nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k]."""
        return self.attend(images).logits

    def attend(self, images: Tensor) -> Attended:
        """The logits together with both attention maps."""
        pooled = []
        for stage in self.stages:
            images = nn.functional.max_pool2d(stage(images), 2)
            pooled.append(images)
        fine, third = self.fine(pooled[2], pooled[4])
        coarse, fourth = self.coarse(pooled[3], pooled[4])
        whole = pooled[4].mean(dim=(2, 3))
        return Attended(self.head(torch.cat([whole, fourth, third], dim=1)), fine, coarse)
