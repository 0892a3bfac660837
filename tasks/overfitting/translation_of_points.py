"""The adversarial examples of the synthetic problem, and their exact density (section 4).

A rightly classified point moves by ε against its label along the classifier's normal u = w / ‖w‖, unless that would
cross the true boundary: g(x) = x − ε y u if f(x) = y and sgn(x₁ − ε y u₁) = y, else x. Everything below needs three
numbers per point: its margin y (wᵀx + b), y x₁ and y uᵀx. So all ε together cost no more than one pass over the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.overfitting.half_spaces import MARGIN, SIGMA, Line, Points, Vector
from assay.tasks.overfitting.records import Answers

SPAN = 2.0
"""U: here h may come close to 1 at an adversarial point, so T_i lies anywhere in [−1, 1]."""


@dataclass(frozen=True)
class Projected:
    """What the adversarial examples of some points depend on."""

    margins: Vector
    """y (wᵀx + b)."""
    first: Vector
    """y x₁."""
    along: Vector
    """y uᵀx, u being the classifier's normal."""
    length: float
    """‖w‖."""
    u1: float
    """The first coordinate of u."""

    @property
    def errors(self) -> npt.NDArray[np.bool_]:
        """Which points are misclassified."""
        return self.margins <= 0

    def moved(self, eps: float) -> Projected:
        """All points moved by ε against their labels, whether they may or not."""
        return Projected(
            self.margins - eps * self.length, self.first - eps * self.u1, self.along - eps, self.length, self.u1
        )


def project(line: Line, points: Points) -> Projected:
    """What is to be known of points before a classifier."""
    length = float(np.linalg.norm(line.weights))
    margins = line.margins(points)
    return Projected(
        margins,
        points.y * points.x[:, 0],
        (margins - points.y * line.offset) / length,
        length,
        float(line.weights[0]) / length,
    )


def attack(points: Projected, eps: float) -> Answers:
    """Errors, adversarial errors, and h at the adversarial version of every point."""
    errors, there = points.errors, points.moved(eps)
    moves = ~errors & (there.first > 0)
    fooled = moves & there.errors
    densities = np.ones(len(errors))
    densities[errors] = density(points, eps)[errors]
    densities[fooled] = density(there, eps)[fooled]
    return Answers(errors, errors | fooled, densities)


def density(points: Projected, eps: float) -> Vector:
    """h(z) = ρ(z) / (ρ(z) + Σ ρ(p) over the p ≠ z with g(p) = z), for misclassified points z (Eq. 3).

    The only such p is z + ε y u, if it is classified rightly and on the true side; its density is
    ρ(z) exp(−(ε² + 2ε (y uᵀz − u₁)) / (2 σ²)), and none in the empty margin. z itself may lie in that margin: h = 0.
    """
    exponent = -(eps**2 + 2 * eps * (points.along - points.u1)) / (2 * SIGMA**2)
    comes = (points.margins + eps * points.length > 0) & (points.first + eps * points.u1 > MARGIN)
    with np.errstate(over="ignore"):  # an overflow is a pre-image that is infinitely more likely: h = 0
        weight = np.where(comes, np.exp(exponent), 0.0)
    return np.where(points.first > MARGIN, 1 / (1 + weight), 0.0)
