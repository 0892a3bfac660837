"""Corruptions of ImageNet-C (Hendrycks and Dietterich 2019) that are none of Xu et al., with the authors' constants for
32 pixels (CIFAR-C) and 224 (ImageNet-C), and `IMAGENET_C`: those of its mean corruption error, without frost.

Frost lays photographs of frost over the image; they are not ours to ship, and frost of our own making would be another
corruption under that name. But for impulse noise and brightness, each makes the whole corruption of an image, and its
frames go there from the image by blending: the last one is the published corruption, from the draws of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from assay.data.arrays import Floats
from assay.tasks.corruptions.choice import LEVELS, Constants, Corruption, Levels, each

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

    from assay.tasks.corruptions.camera import Draws

Whole = Callable[["Constants", "Tensor", "Draws"], "Tensor"]
"""The images [n, c, h, w] under the whole corruption at a severity's constants."""


def ramp(word: str, whole: Whole, levels: Levels | None = None) -> Corruption:
    """A perturbation whose frames go from the image to the whole corruption of it: (1 − share)·x + share·x′; with the
    levels of its name where none are given."""

    def frames(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
        corrupted = whole(at, images, draws).clamp(0, 1)
        return each(images, shares, lambda share: images.lerp(corrupted, share))

    return Corruption(word, "ramp", frames, levels or LEVELS[word])


def impulses(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of salt and pepper: a value becomes 0 or 1, each with half of the probability `amount`."""
    from scipy.special import ndtri

    far = float(-ndtri(at["amount"] / 2))
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


def defocused(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The images out of focus: every point is a disc."""
    import torch
    from torch.nn.functional import conv2d, pad

    kernel = torch.from_numpy(disc(at["radius"], at["alias"])).to(images)[None, None]
    border = (kernel.shape[-1] // 2,) * 4
    # One image at a time: how a convolution rounds may depend on how many there are.
    return torch.cat([conv2d(pad(image[:, None], border, mode="reflect"), kernel) for image in images]).view_as(images)


def disc(radius: float, alias: float) -> Floats:
    """The weights of a disc whose edge is blurred by a Gaussian of `alias` pixels, [k, k]."""
    from scipy.ndimage import correlate1d

    half, reach = (8, 1) if radius <= 8 else (math.ceil(radius), 2)
    squares = np.arange(-half, half + 1) ** 2
    inside = squares + squares[:, None] <= radius**2
    weights: Floats = inside / inside.sum()
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) / alias) ** 2)
    for axis in (0, 1):
        weights = correlate1d(weights, taps / taps.sum(), axis, mode="mirror")
    empty = max(0, half - math.ceil(radius) - reach)
    return weights[empty : 2 * half + 1 - empty, empty : 2 * half + 1 - empty]


def behind_glass(at: Constants, images: Tensor, draws: Draws) -> Tensor:
    """The images behind frosted glass: blurred, every pixel taken from near by, and blurred once more."""
    import torch

    from assay.tasks.corruptions.camera import gaussian_blur

    blurred = gaussian_blur(images, at["sigma"]).mul(255).floor().div(255)  # the authors' has 8 bits there
    size, reach, rounds = tuple(images.shape[-2:]), max(1, round(at["reach"])), round(at["rounds"])
    places = [torch.from_numpy(taken_from(drawn, size, reach, rounds)) for drawn in draws.generators("glass")]
    pixels = [image.flatten(1)[:, place.to(image.device)] for image, place in zip(blurred, places, strict=True)]
    return gaussian_blur(torch.stack(pixels).view_as(images), at["sigma"])


def taken_from(generator: Generator, size: tuple[int, ...], reach: int, rounds: int) -> npt.NDArray[np.int64]:
    """Which pixel each shows, [h·w]: one after another, from the last to the first, takes what a neighbour at most
    `reach` away shows by then. (The authors mean to swap the two, and their assignment of views copies.)"""
    rows, columns = (np.arange(side - reach, reach, -1) for side in size)
    visited = np.tile((rows[:, None] * size[1] + columns).ravel(), rounds)
    right, down = generator.integers(-reach, reach, (len(visited), 2)).T
    shown = list(range(size[0] * size[1]))
    for place, neighbour in zip(visited.tolist(), (visited + down * size[1] + right).tolist(), strict=True):
        shown[place] = shown[neighbour]
    return np.array(shown)


def in_fog(at: Constants, images: Tensor, draws: Draws) -> Tensor:
    """The images behind banks of fog, darkened so that the brightest pixel stays what it was."""
    import torch

    height, width = images.shape[-2:]
    side = 1 << (max(height, width) - 1).bit_length()
    banks = [plasma(generator, side, at["decay"])[:height, :width] for generator in draws.generators("fog")]
    fog = at["amount"] * torch.from_numpy(np.stack(banks)).to(images)[:, None]
    brightest = images.amax(dim=(1, 2, 3), keepdim=True)
    return (images + fog) * (brightest / (brightest + at["amount"]))


def plasma(generator: Generator, side: int, decay: float) -> Floats:
    """A fractal between 0 and 1 by the diamond-square algorithm, [side, side], `side` a power of two: midpoints are the
    mean of four neighbours and a draw, whose range shrinks by `decay` (twice) from each scale to the next."""
    heights: Floats = np.zeros((side, side))
    step, wobble = side, 100.0

    def between(four: Floats) -> Floats:
        return four / 4 + wobble * generator.uniform(-wobble, wobble, four.shape)

    while step >= 2:
        half = step // 2
        corners, centres = heights[::step, ::step], heights[half::step, half::step]
        below = corners + np.roll(corners, -1, axis=0)
        centres[:] = between(below + np.roll(below, -1, axis=1))
        for axis, edges in ((0, heights[::step, half::step]), (1, heights[half::step, ::step])):
            edges[:] = between(centres + np.roll(centres, 1, axis) + corners + np.roll(corners, -1, 1 - axis))
        step, wobble = half, wobble / decay
    heights -= heights.min()
    return np.asarray(heights / heights.max())


def zoomed_by_steps(at: Constants, images: Tensor, _: Draws) -> Tensor:
    """The mean of the images and of the images enlarged by every step from 1 to below `stop`."""
    from torch.nn.functional import interpolate

    factors, total, size = np.arange(1, at["stop"], at["step"]), images.clone(), images.shape[-2:]
    for factor in factors.tolist():
        seen = [math.ceil(side / factor) for side in size]
        top, left = ((side - part) // 2 for side, part in zip(size, seen, strict=True))
        middle = images[..., top : top + seen[0], left : left + seen[1]]
        larger = interpolate(middle, [round(part * factor) for part in seen], mode="bilinear", align_corners=True)
        top, left = ((there - side) // 2 for there, side in zip(larger.shape[-2:], size, strict=True))
        total += larger[..., top : top + size[0], left : left + size[1]]
    return total / (len(factors) + 1)


def stretched(at: Constants, images: Tensor, draws: Draws) -> Tensor:
    """The images moved by an affine map drawn around the identity, and then every pixel by smooth draws."""
    import torch

    height, width = images.shape[-2:]
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    across, down = smoothing(width, at["sigma"]), smoothing(height, at["sigma"])
    third, made = min(height, width) // 3, []
    corners = np.array([width // 2, height // 2]) + third * np.array([[1, 1], [1, -1], [-1, -1]])
    for image, generator in zip(images, draws.generators("elastic"), strict=True):
        moved = corners + generator.uniform(-at["corner"], at["corner"], (3, 2))
        back = np.linalg.solve(np.column_stack([moved, np.ones(3)]), corners)
        affine = np.stack([x, y, np.ones_like(x)], axis=-1) @ back
        shifts = [at["amount"] * (down @ generator.uniform(-1, 1, (height, width)) @ across.T) for _ in range(2)]
        elastic = np.stack([x + shifts[0], y + shifts[1]], axis=-1)
        made.append(read_at(read_at(image[None], affine, mirrored="pixels"), elastic, mirrored="edges"))
    return torch.cat(made)


@lru_cache(maxsize=32)
def smoothing(side: int, sigma: float) -> Floats:
    """The matrix that blurs `side` values by a Gaussian, which is cut off at three sigmas and mirrored at the ends."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(np.eye(side), max(sigma, 0.01), axis=0, mode="reflect", truncate=3))


def read_at(images: Tensor, places: Floats, mirrored: Literal["pixels", "edges"]) -> Tensor:
    """The images [n, c, h, w] read bilinearly at places (x, y), [h, w, 2]; outside they go on mirrored at the middle of
    their outermost pixels, or at the edges of these."""
    import torch
    from torch.nn.functional import grid_sample

    sides, edges = np.array(images.shape[:-3:-1]), mirrored == "edges"
    units = (2 * places + 1) / sides - 1 if edges else 2 * places / (sides - 1) - 1
    grid = torch.from_numpy(units).to(images).expand(len(images), -1, -1, -1)
    return grid_sample(images, grid, mode="bilinear", padding_mode="reflection", align_corners=not edges)


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
    Corruption("impulse-noise", "noise", impulses, LEVELS["impulse-noise"]),
    ramp("contrast", flattened),
    ramp("pixelate", pixelated),
    ramp("jpeg", compressed),
    ramp("defocus-blur", defocused),
    ramp("glass-blur", behind_glass),
    ramp("zoom-blur-steps", zoomed_by_steps),
    ramp("fog", in_fog),
    ramp("elastic", stretched),
)
IMAGENET_C = (
    *("gaussian-noise", "shot-noise", "impulse-noise"),
    *("defocus-blur", "glass-blur", "motion-blur", "zoom-blur-steps"),
    *("snow", "fog", "brightness-up", "contrast", "elastic", "pixelate", "jpeg"),
)
"""Fourteen of the fifteen whose errors make up mCE; frost is not among them."""
