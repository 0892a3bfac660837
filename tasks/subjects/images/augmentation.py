"""Training images varied at random: windows, flips, shifts, turns and crops, a whole batch at a time."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import torch
from torch import Tensor

SHIFT = 0.1  # of the extent, in either direction
DEGREES = 15.0
CROP = 0.8  # the shortest side that a crop leaves, as a share of the extent


def augment(images: Tensor, how: Collection[str], generator: np.random.Generator, window: int | None = None) -> Tensor:
    """The images [n, c, h, w], each varied by its own draws; what falls outside repeats the border.

    Shift, turn and crop are one bilinear resampling. Asked for a window, images come back cut to so many pixels, none
    of them resampled. The same generator gives the same images, on any device.
    """
    n = len(images)
    if "window" in how and window is not None:
        images = _windows(images, window, generator)
    for name, axis in (("flip-horizontal", 3), ("flip-vertical", 2)):
        if name in how:
            flipped = torch.from_numpy(generator.random(n) < 0.5).to(images.device)
            images = torch.where(flipped[:, None, None, None], images.flip(axis), images)
    if not {"shift", "rotate", "crop"} & set(how):
        return images
    grid = torch.nn.functional.affine_grid(_maps(n, images, how, generator), list(images.shape), align_corners=False)
    sampled = torch.nn.functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return sampled.clamp(0, 1)


def _windows(images: Tensor, side: int, generator: np.random.Generator) -> Tensor:
    """A square of each image [n, c, side, side], every place in it as likely as any other."""
    corners = (generator.integers(0, extent - side + 1, len(images)) for extent in images.shape[2:])
    tops, lefts = (torch.from_numpy(corner).to(images.device)[:, None] for corner in corners)
    places = torch.arange(side, device=images.device)
    rows, columns = (tops + places)[:, :, None], (lefts + places)[:, None, :]
    which = torch.arange(len(images), device=images.device)[:, None, None]
    return images.movedim(1, -1)[which, rows, columns].movedim(-1, 1).contiguous()


def _maps(n: int, images: Tensor, how: Collection[str], generator: np.random.Generator) -> Tensor:
    """Per image the affine map [2, 3] from places in the new image to places in the old one, in units of ±1."""
    height, width = images.shape[-2:]
    angle, scale, offset = np.zeros(n), np.ones(n), np.zeros((n, 2))
    if "rotate" in how:
        angle = np.deg2rad(generator.uniform(-DEGREES, DEGREES, n))
    if "crop" in how:
        scale = generator.uniform(CROP, 1.0, n)
        offset += generator.uniform(-1.0, 1.0, (n, 2)) * (1 - scale)[:, None]
    if "shift" in how:
        offset += generator.uniform(-2 * SHIFT, 2 * SHIFT, (n, 2))
    maps = np.empty((n, 2, 3), np.float32)
    maps[:, 0, 0] = maps[:, 1, 1] = scale * np.cos(angle)
    maps[:, 0, 1] = -scale * np.sin(angle) * height / width
    maps[:, 1, 0] = scale * np.sin(angle) * width / height
    maps[:, :, 2] = offset
    return torch.from_numpy(maps).to(images.device)
