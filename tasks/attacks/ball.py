"""The ε ball around an image, within the bounds of pixels: as float32 numbers that no rounding lets out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Ball:
    """All images x' with |x' - x| ≤ ε and 0 ≤ x' ≤ 1, as the smallest and the largest value of every pixel."""

    lower: Tensor
    upper: Tensor

    def clip(self, images: Tensor) -> Tensor:
        """The projection: every pixel into its range (the Clip of Xu et al., Eq. 2)."""
        return images.clamp(self.lower, self.upper)

    def of(self, rows: Tensor | slice) -> Ball:
        """The ball of some of the samples."""
        return Ball(self.lower[rows], self.upper[rows])


def ball_around(images: Tensor, eps: float) -> Ball:
    """The ball of radius ε around float32 images [n, c, h, w] within [0, 1].

    x + ε rounds to the nearest float32, which may lie a hair outside: |x' - x| would exceed ε. So ε is rounded down to
    a float32, and a bound that lies outside moves to the next number inside. Then the distance is at most ε in exact
    arithmetic, and in float32 as well, since rounding keeps the order of numbers.

    >>> x = torch.tensor([[[[0.7]]]])
    >>> float((ball_around(x, 4 / 255).upper - x).max()) <= 4 / 255
    True
    """
    radius = _rounded_down(eps)
    exact = images.double()
    upper, lower = (exact + radius).clamp(max=1.0).float(), (exact - radius).clamp(min=0.0).float()
    upper = torch.where(upper.double() - exact > radius, torch.nextafter(upper, images), upper)
    lower = torch.where(exact - lower.double() > radius, torch.nextafter(lower, images), lower)
    return Ball(lower, upper)


def _rounded_down(value: float) -> float:
    nearest = torch.tensor(value, dtype=torch.float32)
    return float(nearest if float(nearest) <= value else torch.nextafter(nearest, torch.tensor(0.0)))
