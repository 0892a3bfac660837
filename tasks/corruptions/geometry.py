"""Geometry: images moved, turned, tilted, sheared and scaled about their centre. Beyond the border an image goes on as
its own mirror image: black corners would be an artefact that no camera makes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import grid_sample

Matrix = npt.NDArray[np.float64]  # [3, 3], of homogeneous coordinates (x, y, 1) counted from the image's centre


def translated(images: Tensor, pixels: int) -> Tensor:
    """The images [n, c, h, w] moved to the right by whole pixels: nothing is interpolated, so nothing is blurred.

    >>> translated(torch.tensor([[[[1, 2, 3, 4]]]]), 2).flatten().tolist()
    [2, 1, 1, 2]
    >>> translated(torch.tensor([[[[1, 2, 3, 4]]]]), -1).flatten().tolist()
    [2, 3, 4, 4]
    """
    if pixels >= 0:
        return torch.cat([images[..., :pixels].flip(-1), images[..., : images.shape[-1] - pixels]], dim=-1)
    return torch.cat([images[..., -pixels:], images[..., pixels:].flip(-1)], dim=-1)


def rotation(degrees: float) -> Matrix:
    """Turns about the centre, counter-clockwise as one sees it."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1.0]])


def shearing(degrees: float) -> Matrix:
    """Moves rows sideways, the more the farther they are from the middle one."""
    return np.array([[1, math.tan(math.radians(degrees)), 0], [0, 1, 0], [0, 0, 1.0]])


def scaling(factor: float) -> Matrix:
    """Makes everything larger (or, below 1, smaller)."""
    return np.diag([factor, factor, 1.0])


def tilting(degrees: float, diagonal: float) -> Matrix:
    """Turns the picture plane in space about both of its axes, seen from as far away as its diagonal is long.

    Hendrycks' code puts the plane one pixel behind its axes, so that its zero tilt shrinks the image by 0.3 %; here the
    axes lie in the plane, and zero tilt is the identity.
    """
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    about_x = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])
    about_y = np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])
    turned = about_x @ about_y[:, :2]  # where (x, y, 0) goes in space, [3, 2]
    plane = np.zeros((3, 3))
    plane[:2, :2] = turned[:2]
    plane[2] = [turned[2, 0] / diagonal, turned[2, 1] / diagonal, 1]
    return plane


def warped(images: Tensor, matrix: Matrix) -> Tensor:
    """The images [n, c, h, w] with every point moved by `matrix`, read bilinearly from where it came from.

    All images and channels share one grid, so the weights are computed once for all of them.
    """
    n, channels, height, width = images.shape
    grid = _grid(np.linalg.inv(matrix).astype(np.float64), height, width, images)
    stacked = images.reshape(1, n * channels, height, width)
    moved = grid_sample(stacked, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
    return moved.reshape(images.shape)


def zoomed(images: Tensor, factor: float) -> Tensor:
    """The images [n, c, h, w] enlarged about their centre."""
    return warped(images, scaling(factor))


def warping(perturbation: str, height: int, width: int) -> Callable[[float], Matrix]:
    """The matrix of a geometric perturbation as a function of its amount (degrees, or a share for `scale`)."""
    diagonal = math.hypot(height, width)
    return {
        "rotate": rotation,
        "shear": shearing,
        "scale": lambda amount: scaling(1 + amount),
        "tilt": lambda degrees: tilting(degrees, diagonal),
    }[perturbation]


def _grid(inverse: Matrix, height: int, width: int, images: Tensor) -> Tensor:
    """Where each pixel of the result lies in the image, in the units of grid_sample: -1 to 1 from edge to edge."""
    x = torch.arange(width, dtype=torch.float64, device=images.device) - (width - 1) / 2
    y = torch.arange(height, dtype=torch.float64, device=images.device).unsqueeze(1) - (height - 1) / 2
    across, down, depth = (x * float(row[0]) + (y * float(row[1]) + float(row[2])) for row in inverse)
    grid = images.new_empty(1, height, width, 2)
    grid[0, ..., 0] = across / depth * (2 / width)
    grid[0, ..., 1] = down / depth * (2 / height)
    return grid
