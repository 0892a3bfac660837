"""Adversarial examples by translation, and their density (section 5.1): which shift is taken, and who else lands
there.

A field holds what a classifier says of one image at every shift: how far it exceeds the truth, l_exc = max over the
other classes of their logit less the logit of the true class, and whether it is wrong. The place p = (dy, dx) of a
field is the image moved down by dy and right by dx; V are the shifts by up to ε in both directions, without the one
that moves nothing.

The lattice of shifts is looked at only where the density asks for it. The chosen shift q needs its neighbours, within
ε, and where these might go, within 2ε: shifts of up to 3ε, (6ε + 1)² in all (appendix B.1). But only one box of (4ε +
1)² of them is ever asked for: the one around q. It holds the box of (2ε + 1)² that finds q, so an image costs (2ε +
1)² looks where no shift makes it wrong, and (4ε + 1)² otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from assay.tasks.overfitting.settings import Generator

Excess = npt.NDArray[np.float64]  # [n, h, w], l_exc
Wrong = npt.NDArray[np.bool_]  # [n, h, w]
Whole = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)

_BYTES = 2**26  # for the windows of one turn
_COPIES = 32  # bytes per place of a window: two arrays of float64, and some of truth values

RANDOM = ("random", "random2")


def span(generator: Generator) -> float:
    """U, how far apart the differences T_i can lie: 3/2 where the shift is chosen, 2 where it is random (section 5.1).

    A chosen shift that succeeds shares its goal with a sample that is wrong there already, so that h ≤ 1/2.
    """
    return 2.0 if generator in RANDOM else 1.5


def shifts(eps: int) -> Whole:
    """All shifts by up to ε, from top to bottom and from left to right [(2ε + 1)², 2]; the middle one moves nothing.

    >>> shifts(1)[[0, 1, 4]].tolist()
    [[-1, -1], [-1, 0], [0, 0]]
    """
    reach = np.arange(-eps, eps + 1)
    return np.stack(np.meshgrid(reach, reach, indexing="ij"), axis=-1).reshape(-1, 2)


def chosen(excess: Excess, wrong: Wrong, eps: int, generator: Generator) -> Whole:
    """The shift that `strongest` or `nearest` takes at every place of a field, as its row in `shifts` [n, h−2ε, w−2ε].

    The middle one where the place is wrong already, or no shift makes it wrong. Of equal ones the first in the order of
    `shifts` is taken: the paper's rule, top to bottom and left to right.
    """
    around = _windows(wrong, eps)
    middle = around.shape[-1] // 2
    if generator == "strongest":
        best = np.where(around, _windows(excess, eps), -np.inf).argmax(axis=-1)
    else:
        order = np.argsort((shifts(eps) ** 2).sum(axis=1), kind="stable")
        best = order[around[..., order].argmax(axis=-1)]
    moves = around.any(axis=-1) & ~around[..., middle]
    return np.asarray(np.where(moves, best, middle))


def landing(excess: Excess, wrong: Wrong, eps: int, generator: Generator) -> Whole:
    """n(z), from how many other places `strongest` or `nearest` goes to the middle one of each field [n].

    Fields have 4ε + 1 places each way: neighbours of the middle, and where these might go instead.
    """
    steps = shifts(eps)
    # The neighbour at p comes to the middle by the shift −p, as far from the end of the list as p from its start.
    home = np.arange(len(steps))[::-1]
    landings = np.zeros(len(excess), np.int64)
    for some in in_turn(len(excess), eps):
        taken = chosen(excess[some], wrong[some], eps, generator).reshape(-1, len(steps))
        landings[some] = ((taken == home) & (home != len(steps) // 2)).sum(axis=1)
    return landings


def in_turn(n: int, eps: int) -> Iterator[slice]:
    """The rows of n fields of 4ε + 1 places each way, as many at a time as fit into memory with all windows of each."""
    rows = max(1, _BYTES // (_COPIES * (2 * eps + 1) ** 4))
    yield from (slice(start, start + rows) for start in range(0, n, rows))


def right_around(wrong: Wrong, eps: int) -> Whole:
    """How many of the neighbours within ε are classified rightly, for every place [n, h−2ε, w−2ε]."""
    around = ~_windows(wrong, eps)
    middle = around.shape[-1] // 2
    return np.asarray(around.sum(axis=-1) - around[..., middle])


def _windows(field: npt.NDArray[T], eps: int) -> npt.NDArray[T]:
    """What lies within ε of every place, in the order of `shifts` [n, h−2ε, w−2ε, (2ε + 1)²]."""
    side = 2 * eps + 1
    windows = np.lib.stride_tricks.sliding_window_view(field, (side, side), axis=(1, 2))
    return windows.reshape(*windows.shape[:3], side * side)


def expected(wrong: Wrong, eps: int, generator: Generator) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """L(f, g(x)) and L(f, g(x)) h(g(x)) of the middle place under a random generator, the mean over its draws [n] each.

    For places that are right, in fields of 4ε + 1 places each way. `random` draws from V, `random2` from V and staying
    where one is; h(z) = 1/(1 + n(z)), where n(z) counts the right neighbours of z by the probability that they come to
    z (Eq. 10).
    """
    likely = probability(eps, generator)
    lost = wrong[:, eps : 3 * eps + 1, eps : 3 * eps + 1].reshape(len(wrong), (2 * eps + 1) ** 2)
    neighbours = np.zeros(lost.shape, np.int64)
    for some in in_turn(len(wrong), eps):
        neighbours[some] = right_around(wrong[some], eps).reshape(-1, lost.shape[1])
    return likely * lost.sum(axis=1), likely * (lost / (1 + likely * neighbours)).sum(axis=1)


def probability(eps: int, generator: Generator) -> float:
    """How likely a random generator takes a certain shift."""
    places = (2 * eps + 1) ** 2
    return 1 / (places - 1) if generator == "random" else 1 / places


def offsets_by_distance(eps: int) -> Sequence[Whole]:
    """The rows of `shifts` that move by 0, 1, … ε pixels in the direction in which they move furthest.

    >>> [len(ring) for ring in offsets_by_distance(2)]
    [1, 8, 16]
    """
    distance = np.abs(shifts(eps)).max(axis=1)
    return [np.flatnonzero(distance == step) for step in range(eps + 1)]


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


class Lattice:
    """The lattices of n images, filled in as they are asked for; nothing is looked at twice."""

    def __init__(self, n: int, eps: int, look: Look) -> None:
        self.eps = eps
        side = 6 * eps + 1
        self._look = look
        self._excess, self._wrong = np.zeros((n, side, side)), np.zeros((n, side, side), bool)
        self._known = np.zeros((n, side, side), bool)
        _, self.near_wrong = self._around(np.arange(n), np.zeros((n, 2), np.int64), eps)
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
            _, around = self._around(lost, np.zeros((len(lost), 2), np.int64), 2 * self.eps)
            adversarial[lost], weighted[lost] = expected(around, self.eps, generator)
        else:
            rows = np.flatnonzero(self.wrong | self.attackable)
            excess, wrong = self._around(rows, np.zeros((len(rows), 2), np.int64), self.eps)
            goals = shifts(self.eps)[chosen(excess, wrong, self.eps, generator).ravel()]
            weighted[rows] = 1 / (1 + landing(*self._around(rows, goals, 2 * self.eps), self.eps, generator))
        return Shifted(self.wrong, self.attackable, adversarial, weighted)

    def _around(self, rows: Whole, centres: Whole, reach: int) -> tuple[Excess, Wrong]:
        """The fields of 2r + 1 places each way around these centres, looked at where they were not yet."""
        places = self._places(rows, centres, reach)
        new = ~self._known[places]
        if new.any():
            image, down, right = unknown = tuple(place[new] for place in places)
            self._excess[unknown], self._wrong[unknown] = self._look(image, down - 3 * self.eps, right - 3 * self.eps)
            self._known[unknown] = True
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
