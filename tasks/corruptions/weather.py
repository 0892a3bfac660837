"""Weather: snow that falls before the image, and what splashes on the lens, water or mud.

As Hendrycks' code makes them from its published constants, batched. What differs: layers are not rounded to 8 bits on
the way; flakes are enlarged by one bilinear step straight to the size of the image; drops have their outline from the
threshold itself instead of Canny's detector (which finds that very step), and exact distances to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from assay.tasks.corruptions.camera import gaussian_blur, motion_blur

WATER, MUD = (175 / 255, 238 / 255, 238 / 255), (63 / 255, 42 / 255, 20 / 255)
_LUMA = (0.299, 0.587, 0.114)
_FAR = 20  # pixels from a drop's outline, beyond which the inside of a drop looks the same


def snow_layer(normals: Tensor, angles: Sequence[float], at: Mapping[str, float]) -> Tensor:
    """Flakes [n, 1, h, w]: normal draws [n, h, w], enlarged, cut off below a threshold, smeared along the fall."""
    flakes = _enlarged(normals * at["sd"] + at["mean"], max(1.0, at["zoom"]))
    flakes = torch.where(flakes < at["threshold"], 0.0, flakes).clamp_(0, 1).unsqueeze(1)
    falling = motion_blur(flakes, angles, at["radius"], [at["sigma"]])[0]
    return falling + falling.flip(-1, -2)


def snowing(images: Tensor, layer: Tensor, keep: float) -> Callable[[float], Tensor]:
    """The images [n, c, h, w] bleached and snowed upon, as a function of how much: 1 is all of it."""
    bleached = torch.maximum(images, grey(images) * 1.5 + 0.5)
    whole = torch.lerp(bleached, images, keep).add_(layer)
    return lambda share: torch.lerp(images, whole, share).clamp_(0, 1)


def spatter_layer(normals: Tensor, at: Mapping[str, float]) -> Tensor:
    """How thick water or mud lies on each pixel, [n, 1, h, w], from normal draws [n, h, w]."""
    liquid = gaussian_blur((normals * at["sd"] + at["mean"]).unsqueeze(1), at["sigma"])
    liquid = torch.where(liquid < at["threshold"], 0.0, liquid)
    if is_mud(at):
        thick = gaussian_blur((liquid > at["threshold"]).to(liquid.dtype), at["strength"])
        return torch.where(thick < 0.8, 0.0, thick)
    relief = liquid * _relief(liquid.squeeze(1) > 0).unsqueeze(1)
    highest = relief.amax(dim=(-2, -1), keepdim=True)
    return relief * (at["strength"] / torch.where(highest > 0, highest, 1.0))


def spattered(images: Tensor, layer: Tensor, mud: bool, strength: float) -> Tensor:
    """The images [n, c, h, w] behind water, which adds light, or mud, which hides; `strength` 1 is all of it."""
    thick = layer * strength
    colour = _coloured(MUD if mud else WATER, images)
    if mud:
        return (images * (1 - thick)).addcmul_(thick.expand_as(images), colour).clamp_(0, 1)
    return torch.addcmul(images, thick, colour).clamp_(0, 1)


def is_mud(at: Mapping[str, float]) -> bool:
    """Whether the constants of spatter are those of mud; the published tables agree on which severities are."""
    return at["mud"] > 0.5


def grey(images: Tensor) -> Tensor:
    """The luminance [n, 1, h, w] of RGB images, the mean of the channels of any other."""
    if images.shape[1] != 3:
        return images.mean(dim=1, keepdim=True)
    red, green, blue = (images[:, channel : channel + 1] * weight for channel, weight in enumerate(_LUMA))
    return red + green + blue


def _coloured(colour: tuple[float, float, float], images: Tensor) -> Tensor:
    """The colour as [1, c, 1, 1]: as it is for RGB, its luminance for any other number of channels."""
    luminance = math.fsum(part * weight for part, weight in zip(colour, _LUMA, strict=True))
    channels = images.shape[1]
    return images.new_tensor(colour if channels == 3 else (luminance,) * channels).reshape(1, -1, 1, 1)


def _enlarged(layers: Tensor, zoom: float) -> Tensor:
    """The middle of each layer [n, h, w], enlarged to its whole size."""
    height, width = layers.shape[-2:]
    rows, columns = max(2, math.ceil(height / zoom)), max(2, math.ceil(width / zoom))
    if (rows, columns) == (height, width):
        return layers
    top, left = (height - rows) // 2, (width - columns) // 2
    middle = layers[:, None, top : top + rows, left : left + columns]
    return interpolate(middle, size=(height, width), mode="bilinear", align_corners=True).squeeze(1)


def _relief(drops: Tensor) -> Tensor:
    """Light on the drops [n, h, w], 0 to 255: distance from their outlines, equalised, then lit from one side."""
    even = _equalised(_mean_of_nine(outline_distance(drops)).floor_())
    lit = _weighted(even, ((-2, -1, 0), (-1, 1, 1), (0, 1, 2))).clamp_(0, 255)
    return _mean_of_nine(lit).round_()


def outline_distance(drops: Tensor) -> Tensor:
    """The Euclidean distance of each pixel from the outline of the drops [n, h, w], at most 20."""
    from scipy.ndimage import binary_erosion, distance_transform_edt

    distances = torch.full(drops.shape, float(_FAR))
    for row, drop in enumerate(drops.cpu().numpy()):
        outline = drop & ~binary_erosion(drop, border_value=1)
        if outline.any():
            distances[row] = torch.from_numpy(distance_transform_edt(~outline))
    return distances.to(drops.device).clamp_(max=_FAR)


def _equalised(levels: Tensor) -> Tensor:
    """Whole levels 0 … 20 [n, h, w] spread over 0 … 255, so that each covers as much of the scale as of the image."""
    counts = torch.stack([(levels == level).flatten(1).sum(dim=1) for level in range(_FAR + 1)], dim=1)
    total = levels.shape[1:].numel()
    first = counts.gather(1, (counts > 0).to(torch.int8).argmax(dim=1, keepdim=True))
    spread = 255.0 / (total - first).clamp(min=1)
    table = ((counts.cumsum(dim=1) - first) * spread).round().clamp(0, 255)
    return table.gather(1, levels.flatten(1).long()).reshape(levels.shape)


def _mean_of_nine(values: Tensor) -> Tensor:
    return _weighted(values, ((1, 1, 1),) * 3) / 9


def _weighted(values: Tensor, weights: Sequence[Sequence[int]]) -> Tensor:
    """The sum of each pixel's neighbours under whole weights; whole values stay exact in float32."""
    height, width = values.shape[-2:]
    framed = pad(values.unsqueeze(1), (1, 1, 1, 1), mode="reflect").squeeze(1)
    total = torch.zeros_like(values)
    for down, row in enumerate(weights):
        for right, weight in enumerate(row):
            if weight:
                total.add_(framed[:, down : down + height, right : right + width], alpha=weight)
    return total
