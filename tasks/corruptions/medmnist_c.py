"""MedMNIST-C (Di Salvo, Doerrich and Ledig 2024): by data set of MedMNIST, the corruptions of its modality with the
authors' constants for 224 pixels, as their package `medmnistc` 0.1.0 has them (`data/medmnist_c.tsv`); and what lies on
pictures of skin: a black corner, a ruler, hairs and bubbles.

Stain deposits lay photographs of ink over the image, and characters are written in a font of OpenCV: neither is ours to
ship, and of another making they would be other corruptions under those names. Rulers and hairs are of our own making.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from assay.tasks.corruptions.choice import LARGE, SMALL, Constants, Corruption, rows_of, single
from assay.tasks.corruptions.imagenet_c import ramp

if TYPE_CHECKING:
    from numpy.random import Generator
    from torch import Tensor

    from assay.tasks.corruptions.camera import Draws
    from assay.tasks.corruptions.choice import Five
    from assay.tasks.corruptions.imagenet_c import Whole


def kernel_blurred(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images blurred by a Gaussian that is cut off at so many pixels, with the deviation that torchvision takes."""
    from torch.nn.functional import pad

    from assay.tasks.corruptions.camera import along

    radius = max(1, round(at["pixels"]) // 2)
    weights = np.exp(-0.5 * (np.arange(radius + 1) / (0.3 * radius + 0.5)) ** 2)
    kernel = (weights / (2 * weights.sum() - 1)).tolist()
    rows = along(pad(images, (radius,) * 4, mode="reflect"), kernel, -1, images.shape[-1])
    return along(rows, kernel, -2, images.shape[-2])


def lit(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images times a factor."""
    return images * at["factor"]


def contrasted(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images farther from the grey that they are on average, or nearer to it."""
    from assay.tasks.corruptions.weather import grey

    middle = grey(images).mean(dim=(1, 2, 3), keepdim=True).mul(255).round() / 255
    return middle + (images - middle) * at["factor"]


def saturated(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images with more saturation; what has no hue becomes red, and of one channel only its light is left."""
    import torch

    from assay.tasks.corruptions.weather import grey

    colours = images if images.shape[1] == 3 else images.mean(dim=1, keepdim=True).expand(-1, 3, -1, -1)
    value = colours.amax(dim=1, keepdim=True)
    spread = value - colours.amin(dim=1, keepdim=True)
    red = torch.tensor([0.0, 1.0, 1.0]).to(images).reshape(1, 3, 1, 1)
    below = torch.where(spread > 0, (value - colours) / spread.clamp(min=1e-9), red)
    more = value * (1 - below * (spread / value.clamp(min=1e-9) + at["amount"]).clamp(max=1))
    return more if images.shape[1] == 3 else grey(more).expand_as(images)


def bent(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images to a power: the gamma of a screen."""
    import torch

    # One image at a time: how a power rounds may depend on how many there are.
    return torch.stack([image ** at["power"] for image in images])


def cornered(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images through a round tube, black outside: `radius` is in halves of the shorter side."""
    import torch

    down, across = (torch.arange(side, device=images.device) - side // 2 for side in images.shape[-2:])
    radius = int(min(images.shape[-2:]) // 2 * at["radius"])
    return images * (down[:, None] ** 2 + across**2 <= radius**2)


def ruled(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images with a ruler's marks at their lower edge, every fifth twice as long."""
    import torch

    height, width = images.shape[-2:]
    across, gap = torch.arange(width, device=images.device), max(2, round(at["gap"]))
    long = (across % gap == 0) * (1 + (across // gap % 5 == 0)) * max(1, round(at["long"]))
    return images * (torch.arange(height, 0, -1, device=images.device)[:, None] > long)


def drawn(draw: Callable[[Any, Constants, tuple[int, int], Generator], None], light: float) -> Whole:
    """Images on which something of a grey is drawn, as thick as the drawing says, from draws of each image's own."""

    def whole(at: Constants, images: Tensor, draws: Draws) -> Tensor:
        import torch
        from PIL import Image, ImageDraw

        size, layers = (images.shape[-1], images.shape[-2]), []
        for generator in draws.generators(draw.__name__):
            layer = Image.new("L", size)
            draw(ImageDraw.Draw(layer), at, size, generator)
            layers.append(np.asarray(layer))
        thick = torch.from_numpy(np.stack(layers)).to(images)[:, None] / 255
        return images.lerp(torch.full_like(images, light), thick.expand_as(images))

    return whole


def bubbles(drawing: Any, at: Constants, size: tuple[int, int], generator: Generator) -> None:
    """Bubbles of air, each with a rim."""
    for _ in range(int(generator.integers(7, round(at["most"]), endpoint=True))):
        radius = int(generator.integers(3, max(3, round(at["radius"])), endpoint=True))
        x, y = (int(generator.integers(radius, side - radius, endpoint=True)) for side in size)
        for reach, thick in ((radius + 2, 130), (radius, 100)):
            drawing.ellipse((x - reach, y - reach, x + reach, y + reach), fill=thick)


def hairs(drawing: Any, at: Constants, size: tuple[int, int], generator: Generator) -> None:
    """Dark hairs, each a bent line (a quadratic Bézier curve) from somewhere to somewhere."""
    t = np.linspace(0, 1, 17)[:, None]
    for _ in range(round(at["count"])):
        start, bend, end = generator.uniform(-0.2, 1.2, (3, 2)) * size
        curve = (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end
        drawing.line([tuple(point) for point in curve.tolist()], fill=220, width=max(1, round(at["width"])))


NOT_SET = (1.0,) * 5
UNLISTED = (
    ramp("kernel-blur", kernel_blurred, single("pixels", NOT_SET, NOT_SET, length=True)),
    ramp("lit", lit, single("factor", NOT_SET, NOT_SET)),
    ramp("contrasted", contrasted, single("factor", NOT_SET, NOT_SET)),
    ramp("saturated", saturated, single("amount", NOT_SET, NOT_SET)),
    ramp("gamma", bent, single("power", NOT_SET, NOT_SET)),
)
"""What is named with the constants of a data set alone."""
ON_SKIN = (
    ramp("black-corner", cornered),
    ramp("ruler", ruled),
    ramp("hair", drawn(hairs, 0.1)),
    ramp("bubbles", drawn(bubbles, 1.0)),
)


def of_medmnist(bases: Mapping[str, Corruption]) -> dict[str, tuple[Corruption, ...]]:
    """The corruptions of every data set, each made as one of the `bases` with constants of its own."""
    by_set: dict[str, tuple[Corruption, ...]] = {}
    for data_set, name, base, *cells in rows_of("medmnist_c.tsv"):
        made, given = bases[base], [[float(value) for value in cell.split(",")] for cell in cells]
        shrunk = [SMALL / LARGE if each in made.levels.lengths else 1.0 for each in made.levels.names]
        fewer = [[value * factor for value, factor in zip(row, shrunk, strict=True)] for row in given]
        small, large = (cast("Five", tuple(map(tuple, rows))) for rows in (fewer, given))
        levels = replace(made.levels, small=small, large=large)
        by_set[data_set] = (*by_set.get(data_set, ()), replace(made, word=f"{data_set}/{name}", levels=levels))
    return by_set


MISSING = dict.fromkeys(("pathmnist", "bloodmnist"), "stain deposits") | {"dermamnist": "characters"}
"""By data set the corruption that is not ours to ship."""
