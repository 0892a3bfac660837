"""The lattice of shifts around an image, looked at only where the density asks for it.

The chosen shift q needs its neighbours, within ε, and where these might go, within 2ε: shifts of up to 3ε, (6ε + 1)²
in all (appendix B.1). But only one box of (4ε + 1)² of them is ever asked for: the one around q. It holds the box of
(2ε + 1)² that finds q, so an image costs (2ε + 1)² looks where no shift makes it wrong, and (4ε + 1)² otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.overfitting.settings import Generator
from assay.tasks.overfitting.translations import (
    RANDOM,
    Excess,
    Whole,
    Wrong,
    chosen,
    expected,
    landing,
    probability,
    right_around,
    shifts,
)

Look = Callable[[Whole, Whole, Whole], tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]]
"""What the classifier says of images (by row) moved by dy and dx: l_exc, and whether it is wrong; [k] each."""


@dataclass(frozen=True)
class Shifted:
    """What shifting n images did to a classifier, under one generator."""

    wrong: npt.NDArray[np.bool_]
    """L(f, x): whether the image is misclassified where it is [n]."""
    attackable: npt.NDArray[np.bool_]
    """Whether it is right where it is, and wrong after some shift [n]."""
    adversarial: npt.NDArray[np.float64]
    """L(f, g(x)), under a random generator its mean [n]."""
    weighted: npt.NDArray[np.float64]
    """L(f, g(x)) h(g(x)), under a random generator its mean [n]."""

    @property
    def difference(self) -> npt.NDArray[np.float64]:
        """T = L(f, g(x)) h(g(x)) − L(f, x) [n]."""
        return self.weighted - self.wrong


class Lattice:
    """The lattices of n images, filled in as they are asked for; nothing is looked at twice."""

    def __init__(self, n: int, eps: int, look: Look) -> None:
        self.eps = eps
        side = 6 * eps + 1
        self._look = look
        self._excess, self._wrong = np.zeros((n, side, side)), np.zeros((n, side, side), bool)
        self._known = np.zeros((n, side, side), bool)
        everybody = np.arange(n)
        self._evaluate(everybody, np.zeros((n, 2), np.int64), eps)
        _, self.near_wrong = self._box(everybody, np.zeros((n, 2), np.int64), eps)
        self.wrong = self.near_wrong[:, eps, eps]
        self.attackable = self.near_wrong.any(axis=(1, 2)) & ~self.wrong

    @property
    def looks(self) -> Whole:
        """How often the classifier was asked about each image [n]."""
        return np.asarray(self._known.sum(axis=(1, 2)))

    def under(self, generator: Generator) -> Shifted:
        """What the generator does to the images, and with which density."""
        weighted, adversarial = self.wrong.astype(float), (self.wrong | self.attackable).astype(float)
        if generator in RANDOM:
            likely, lost = probability(self.eps, generator), np.flatnonzero(self.attackable)
            weighted[self.wrong] = 1 / (1 + likely * right_around(self.near_wrong[self.wrong], self.eps).ravel())
            _, around = self._fields(lost, np.zeros((len(lost), 2), np.int64))
            adversarial[lost], weighted[lost] = expected(around, self.eps, generator)
        else:
            rows = np.flatnonzero(self.wrong | self.attackable)
            excess, wrong = self._box(rows, np.zeros((len(rows), 2), np.int64), self.eps)
            goals = shifts(self.eps)[chosen(excess, wrong, self.eps, generator).ravel()]
            weighted[rows] = 1 / (1 + landing(*self._fields(rows, goals), self.eps, generator))
        return Shifted(self.wrong, self.attackable, adversarial, weighted)

    def _fields(self, rows: Whole, centres: Whole) -> tuple[Excess, Wrong]:
        """The fields of 4ε + 1 places each way around these centres, looked at where they were not yet."""
        self._evaluate(rows, centres, 2 * self.eps)
        return self._box(rows, centres, 2 * self.eps)

    def _evaluate(self, rows: Whole, centres: Whole, reach: int) -> None:
        where, down, right = (places.ravel() for places in self._places(rows, centres, reach))
        new = ~self._known[where, down, right]
        where, down, right = where[new], down[new], right[new]
        if len(where) == 0:
            return
        excess, wrong = self._look(where, down - 3 * self.eps, right - 3 * self.eps)
        self._excess[where, down, right], self._wrong[where, down, right] = excess, wrong
        self._known[where, down, right] = True

    def _box(self, rows: Whole, centres: Whole, reach: int) -> tuple[Excess, Wrong]:
        places = self._places(rows, centres, reach)
        return self._excess[places], self._wrong[places]

    def _places(self, rows: Whole, centres: Whole, reach: int) -> tuple[Whole, Whole, Whole]:
        """Rows, and places down and right in the lattice, of the boxes around these centres [k, 2r + 1, 2r + 1]."""
        steps = np.arange(-reach, reach + 1) + 3 * self.eps
        down, right = (centres[:, at, None] + steps for at in (0, 1))
        shape = (len(rows), len(steps), len(steps))
        return (
            np.broadcast_to(rows[:, None, None], shape),
            np.broadcast_to(down[:, :, None], shape),
            np.broadcast_to(right[:, None, :], shape),
        )


def shift(n: int, eps: int, generators: Sequence[Generator], look: Look) -> tuple[Lattice, dict[Generator, Shifted]]:
    """The lattices of n images, and what each generator does to them."""
    lattice = Lattice(n, eps, look)
    return lattice, {generator: lattice.under(generator) for generator in generators}
