"""Blurs: Gaussian, along a line (the camera moved), and towards the centre (the lens zoomed). Borders are repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from assay.tasks.corruptions.geometry import zoomed


def gaussian_blur(images: Tensor, sigma: float) -> Tensor:
    """The images [n, c, h, w] blurred by a Gaussian of `sigma` pixels, cut off at four sigmas."""
    radius = int(4 * sigma + 0.5)
    if radius == 0:
        return images.clone()
    weights = [math.exp(-0.5 * (offset / sigma) ** 2) for offset in range(radius + 1)]
    total = weights[0] + 2 * math.fsum(weights[1:])
    kernel = [weight / total for weight in weights]
    rows = _along(pad(images, (radius, radius, 0, 0), mode="replicate"), kernel, -1, images.shape[-1])
    return _along(pad(rows, (0, 0, radius, radius), mode="replicate"), kernel, -2, images.shape[-2])


def _along(padded: Tensor, kernel: Sequence[float], dim: int, size: int) -> Tensor:
    """A symmetric kernel's weighted sum of shifted images: the same bits however many images there are."""
    radius = len(kernel) - 1
    total = padded.narrow(dim, radius, size) * kernel[0]
    for offset in range(1, radius + 1):
        total.add_(padded.narrow(dim, radius - offset, size), alpha=kernel[offset])
        total.add_(padded.narrow(dim, radius + offset, size), alpha=kernel[offset])
    return total


def motion_blur(images: Tensor, angles: Sequence[float], radius: float, sigmas: Sequence[float]) -> Tensor:
    """Every image [n, c, h, w] smeared along its own angle (degrees), once per sigma, [sigmas, n, c, h, w].

    As in ImageMagick, the kernel is half a Gaussian, 2·radius + 1 pixels long, on the pixels nearest to a line. All
    sigmas share the shifted images, so that one matrix product per image makes all of its frames.
    """
    taps = 2 * round(radius) + 1
    weights = torch.tensor([_half_gaussian(taps, sigma) for sigma in sigmas], dtype=images.dtype, device=images.device)
    frames = images.new_empty(len(sigmas), *images.shape)
    for row, (image, angle) in enumerate(zip(images, angles, strict=True)):
        shifted = _shifted_along(image, angle, taps)
        frames[:, row] = (weights @ shifted.reshape(taps, -1)).reshape(len(sigmas), *image.shape)
    return frames


def _half_gaussian(taps: int, sigma: float) -> list[float]:
    if sigma <= 0:
        return [1.0] + [0.0] * (taps - 1)
    weights = [math.exp(-0.5 * (tap / sigma) ** 2) for tap in range(taps)]
    total = sum(weights)
    return [weight / total for weight in weights]


def _shifted_along(image: Tensor, angle: float, taps: int) -> Tensor:
    """The image [c, h, w] moved by 0, 1, 2 … pixels along the angle, [taps, c, h, w]."""
    down, right = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    height, width = image.shape[-2:]
    border = pad(image.unsqueeze(0), (taps, taps, taps, taps), mode="replicate").squeeze(0)
    shifted = image.new_empty(taps, *image.shape)
    for tap in range(taps):
        dy, dx = math.ceil(tap * down - 0.5), math.ceil(tap * right - 0.5)
        shifted[tap] = border[:, taps + dy : taps + dy + height, taps + dx : taps + dx + width]
    return shifted


def zoom_blurs(images: Tensor, zoom: float, frames: int) -> Tensor:
    """Frame k is the mean of the images zoomed by 1 … the k-th step towards `zoom`, [frames, n, c, h, w]."""
    blurred = images.new_empty(frames, *images.shape)
    total = blurred[0] = images
    for frame in range(1, frames):
        total = total + zoomed(images, 1 + (zoom - 1) * frame / (frames - 1))
        torch.div(total, frame + 1, out=blurred[frame])
    return blurred
