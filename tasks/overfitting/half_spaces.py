"""The synthetic problem of section 4: two half-spaces of 500 dimensions, of which only the first says the class.

𝒳 = ℝ^500; a sample of class y = ±1 is drawn from N(y e₁, 500 I), cut off at y x₁ > 0.025; the true label is sgn x₁. All
constants are those of appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DIMENSIONS = 500
SIGMA = 500**0.5
MARGIN = 0.025

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Samples [n, 500] and their labels, −1 or 1."""

    x: Matrix
    y: Vector

    def take(self, chosen: npt.NDArray[np.int64] | slice) -> Points:
        """Some of the samples."""
        return Points(self.x[chosen], self.y[chosen])


def draw(n: int, generator: np.random.Generator) -> Points:
    """n independent samples of both classes."""
    y = np.where(generator.random(n) < 0.5, 1.0, -1.0)
    x = generator.standard_normal((n, DIMENSIONS))
    x *= SIGMA
    x[:, 0] = y * _first_coordinate(generator.random(n))
    return Points(x, y)


@dataclass(frozen=True)
class Line:
    """A linear classifier, sgn(wᵀx + b)."""

    weights: Vector
    offset: float

    def margins(self, points: Points) -> Vector:
        """y (wᵀx + b): above zero where the classifier is right."""
        margins: Vector = points.y * (points.x @ self.weights + self.offset)
        return margins

    def risk(self) -> float:
        """R, the probability that it errs, by integration over the first coordinate: the others are Gaussian.

        >>> first = np.eye(1, DIMENSIONS)[0]
        >>> Line(first, 0.0).risk(), round(Line(first[::-1].copy(), 0.0).risk(), 9)
        (0.0, 0.5)
        """
        from scipy.special import ndtr

        t = _first_coordinate((np.arange(20_000) + 0.5) / 20_000)
        spread = SIGMA * float(np.linalg.norm(self.weights[1:]))
        sides = [t * self.weights[0] + y * self.offset for y in (-1, 1)]  # y (w₁ x₁ + b), as y x₁ = t
        if spread == 0:
            return float(np.mean([side <= 0 for side in sides]))
        return float(np.mean([ndtr(-side / spread) for side in sides]))


def _first_coordinate(uniform: Vector) -> Vector:
    """y x₁, from N(1, 500) cut off below 0.025, by its distribution function."""
    from scipy.special import ndtr, ndtri

    below = ndtr((MARGIN - 1) / SIGMA)
    first: Vector = np.maximum(1 + SIGMA * ndtri(below + uniform * (1 - below)), np.nextafter(MARGIN, 1))
    return first
