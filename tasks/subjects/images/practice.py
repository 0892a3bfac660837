"""A small network whose weights never change, and images for it: what attacks and defences are tried on."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.tasks.subjects.images.model import ImageModel

SIDE = 16


def practice_model(classes: int = 3, *, multilabel: bool = False, block: int = 4) -> ImageModel:
    """A convolutional network for colour images of `SIDE` pixels, whose answers vary from image to image."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 8, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * (SIDE // 4) ** 2, classes),
        )
    network.eval().requires_grad_(False)
    return ImageModel(network, classes, multilabel, (0.5,) * 3, (0.25,) * 3, block=block, name="the practice network")


def practice_images(n: int, height: int = SIDE, width: int = SIDE, channels: int = 3) -> Tensor:
    """Smooth blobs within [0, 1], both bounds among their values, [n, channels, height, width]."""
    coarse = torch.rand(n, channels, 4, 4, generator=torch.Generator().manual_seed(1))
    smooth = torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear")
    return ((smooth - 0.5) * 1.6 + 0.5).clamp(0, 1)


def answers(model: ImageModel, images: Tensor) -> Tensor:
    """What the model says of images: class codes [n], or labels of 0 and 1 [n, k]."""
    with torch.no_grad():
        logits = model.logits(images)
    return (logits >= 0).long() if model.multilabel else logits.argmax(dim=1)
