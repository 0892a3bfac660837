"""Corruptions of ImageNet-C (Hendrycks and Dietterich 2019) that are none of Xu et al., with the authors' constants for
32 pixels (CIFAR-C) and 224 (ImageNet-C): impulse noise, contrast, pixelate and JPEG.

Of the latter three each makes the whole corruption of an image; its frames go there from the image by blending, so that
the last one is the published corruption, value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.tasks.corruptions.choice import Constants, Corruption, Maker, each, single

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

    from assay.tasks.corruptions.camera import Draws

Floats = npt.NDArray[np.float64]
Whole = Callable[["Constants", "Tensor", "Draws"], "Tensor"]
"""The images [n, c, h, w] under the whole corruption at a severity's constants."""


def blended(whole: Whole) -> Maker:
    """Frames from the image to the whole corruption of it: (1 − share)·x + share·x′."""

    def frames(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
        corrupted = whole(at, images, draws).clamp(0, 1)
        return each(images, shares, lambda share: images.lerp(corrupted, share))

    return frames


def impulses(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of salt and pepper: a value becomes 0 or 1, each with half of the probability `amount`."""
    from scipy.stats import norm

    far = float(norm.isf(at["amount"] / 2))
    frames, normals = images.repeat(len(shares), 1, 1, 1, 1), draws.noise(len(shares) - 1, tuple(images.shape[1:]))
    frames[1:] = (normals > 0).to(images.dtype).where(normals.abs() > far, frames[1:])
    return frames


def flattened(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images with every channel nearer to its mean: less contrast."""
    means = images.mean(dim=(2, 3), keepdim=True)
    return (images - means) * at["share"] + means


def pixelated(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images made smaller, and large again with pixels that one can see."""
    from PIL.Image import Resampling

    size = images.shape[-1], images.shape[-2]
    fewer = max(1, int(size[0] * at["share"])), max(1, int(size[1] * at["share"]))
    return edited(images, lambda picture: picture.resize(fewer, Resampling.BOX).resize(size, Resampling.BOX))


def compressed(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images as JPEG keeps them."""
    from PIL import Image

    def saved(picture: Image.Image) -> Image.Image:
        file = BytesIO()
        picture.save(file, "JPEG", quality=round(at["quality"]))
        return Image.open(file)

    return edited(images, saved)


def edited(images: Tensor, edit: Callable[[Image], Image]) -> Tensor:
    """The images edited as pictures of 8 bits; of 1, 2, 4 and more channels, each channel is a picture."""
    import torch
    from PIL.Image import fromarray

    colour = images.shape[1] == 3
    planes = images.mul(255).round().to(torch.uint8)
    planes = planes.permute(0, 2, 3, 1) if colour else planes.flatten(0, 1)
    made = torch.from_numpy(np.stack([np.asarray(edit(fromarray(plane))) for plane in planes.cpu().numpy()]))
    pictures = made.to(images).div_(255)
    return pictures.permute(0, 3, 1, 2).contiguous() if colour else pictures.reshape(images.shape)


OF_IMAGENET_C = (
    Corruption(
        "impulse-noise",
        "noise",
        impulses,
        single("amount", (0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27)),
    ),
    Corruption(
        "contrast", "ramp", blended(flattened), single("share", (0.75, 0.5, 0.4, 0.3, 0.15), (0.4, 0.3, 0.2, 0.1, 0.05))
    ),
    Corruption(
        "pixelate",
        "ramp",
        blended(pixelated),
        single("share", (0.95, 0.9, 0.85, 0.75, 0.65), (0.6, 0.5, 0.4, 0.3, 0.25)),
    ),
    Corruption("jpeg", "ramp", blended(compressed), single("quality", (80, 65, 58, 50, 40), (25, 18, 15, 10, 7))),
)
