"""Random search, which asks for answers and follows no gradient: the Square attack (Andriushchenko et al. 2020,
Algorithms 1 to 3, in L∞ and L2), and Sparse-RS (Croce et al. 2022, Algorithm 1, L0), which changes few pixels and those
as much as it likes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack, Norm, RadiusGrid

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Ledger

    Propose = Callable[[Batch, Tensor, int, Tensor, Tensor], tuple[Tensor, Tensor]]

HALVED_AFTER = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # of 10 000 queries


class Square(ImageAttack):
    """The Square attack (Andriushchenko et al. 2020): random squares, no gradients, only queries."""

    attack: Literal["square"] = "square"
    """Which attack it is."""
    norms = ("linf", "l2")
    queries: int = Field(default=500, ge=1, le=1_000_000)
    """How many times it may ask the subject per image."""
    share: float = Field(default=0.3, gt=0, le=1)
    """The share of the image that the first squares cover."""


def share_covered(query: int, queries: int, initial: float) -> float:
    """The share p of the image that the square of a query covers: halved again and again on the paper's schedule.

    >>> [share_covered(query, 10_000, 0.8) for query in (1, 10, 11, 8001)]
    [0.8, 0.8, 0.4, 0.0015625]
    """
    at = query / queries * 10_000
    return float(initial / 2 ** sum(at > mark for mark in HALVED_AFTER))


def side_of_square(share: float, height: int, width: int) -> int:
    """The side of the square that covers this share of the image: at least one pixel, and within it.

    >>> side_of_square(0.25, 32, 32), side_of_square(0.0001, 32, 32), side_of_square(1.0, 8, 16)
    (16, 1, 8)
    """
    return max(1, min(round(math.sqrt(share * height * width)), height, width))


SCHEDULE = ((0, 2), (50, 4), (200, 5), (500, 6), (1000, 8), (2000, 10), (4000, 12), (6000, 15), (8000, 20))
"""After so many of 10 000 queries, the divisor of the share of pixels that is tried anew (section 4.1)."""


class SparseRS(ImageAttack):
    """Sparse-RS (Croce et al. 2022): few pixels of pure colours, tried at random; no gradients, only queries."""

    attack: Literal["sparse-rs"] = "sparse-rs"
    """Which attack it is."""
    norms = ("l0",)
    norm: Norm = "l0"
    """What ε bounds: how many pixels change."""
    eps: RadiusGrid = (10.0,)
    """How many pixels may change: one number or several."""
    queries: int = Field(default=500, ge=1, le=1_000_000)
    """How many times it may ask the subject per image."""
    share: float = Field(default=0.3, gt=0, le=1)
    """The share of the changed pixels that is tried anew at first."""


def tried_anew(query: int, queries: int, initial: float, pixels: int) -> int:
    """How many of the changed pixels a query moves: a share that falls on the paper's schedule, at least one.

    >>> [tried_anew(query, 10_000, 0.3, 100) for query in (1, 51, 501, 8001)]
    [15, 7, 5, 1]
    """
    at = query / queries * 10_000
    divisor = max((divisor for mark, divisor in SCHEDULE if at > mark), default=1)
    return max(int(initial / divisor * pixels), 1)


def _search(settings: Square | SparseRS, batch: Batch, begin: Callable[[Batch], Propose]) -> Ledger:
    """One proposal after the other for every sample; it stays where it brings the sample nearer to the goal.

    A sample is asked about until nothing is left to be done: until it falls, or until all its labels are wrong. One
    that was lost before the attack began is asked about like the others, unless only accuracy counts. With several
    labels what is climbed is the loss that PGD climbs, and the image of the highest loss counts.

    A proposal is made for the samples that are left, given their rows among all, the number of the query, their best
    images and the pixels that are changed in those; it is new images, and what is changed in them.
    """
    import torch

    ledger = batch.ledger(steps=settings.queries)
    rows = ledger.open() if settings.only_accuracy else ledger.harmable()
    if len(rows) == 0:
        return ledger
    batch = batch.of(rows)
    propose, left, best = begin(batch), torch.arange(len(rows), device=rows.device), batch.images.clone()
    changed, harm = torch.zeros_like(best[:, :1], dtype=torch.bool), torch.zeros_like(batch.clean_harm)
    margins = torch.full((len(rows),), -torch.inf, device=best.device)
    for query in range(1, settings.queries + 1):
        x, now = propose(batch, left, query, best, changed)
        logits = batch.ask(x)
        asked = batch.criterion.margins(logits)
        better = asked > margins
        gained = better.nonzero().flatten()
        best[gained], changed[gained] = x[gained], now[gained]
        margins, harm = asked.where(better, margins), batch.criterion.harm(logits).where(better, harm)
        still = ledger.close(rows, best, harm, query)
        if len(still) < len(rows):
            parts = (rows, left, best, changed, margins, harm)
            rows, left, best, changed, margins, harm = (part[still] for part in parts)
            batch = batch.of(still)
            if len(rows) == 0:
                return ledger
    ledger.leave(rows, best, harm)
    return ledger


def square(settings: Square, batch: Batch) -> Ledger:
    """Stripes first, then squares; in L2 tiles, then waves in a square that take their length from another one."""
    flat = settings.norm == "linf"

    def begin(batch: Batch) -> Propose:
        corners, signs = _draw_squares(batch, settings.queries, 2 if flat else 5)

        def propose(batch: Batch, left: Tensor, query: int, best: Tensor, changed: Tensor) -> tuple[Tensor, Tensor]:
            if query == 1:
                return (_stripes if flat else _tiles)(batch), changed
            side = side_of_square(share_covered(query - 1, settings.queries, settings.share), *best.shape[2:])
            moved = _with_square if flat else _with_wave
            return moved(batch, best, corners[left, query - 2], signs[left, query - 2], side), changed

        return propose

    return _search(settings, batch, begin)


def _stripes(batch: Batch) -> Tensor:
    """Vertical stripes one pixel wide, each channel up or down by ε: where the search begins."""
    import numpy as np
    import torch

    n, channels, _, width = batch.images.shape
    drawn = np.stack([batch.draws.generator(row, "stripes").integers(0, 2, (channels, 1, width)) for row in range(n)])
    signs = torch.from_numpy(drawn * 2 - 1).to(batch.images)
    return batch.ball.clip(batch.images + batch.eps * signs)


def _draw_squares(batch: Batch, queries: int, numbers: int) -> tuple[Tensor, Tensor]:
    """Per sample and query where the square lies (in L2 also the other one, and which way up the wave is), as shares
    [n, queries, 2 or 5], and its signs [n, queries, channels]."""
    import numpy as np
    import torch

    corners, signs = [], []
    for row in range(len(batch)):
        generator = batch.draws.generator(row, "squares")
        corners.append(generator.random((queries, numbers), dtype=np.float32))
        signs.append(generator.integers(0, 2, (queries, batch.images.shape[1]), dtype=np.int8) * 2 - 1)
    device = batch.images.device
    return torch.from_numpy(np.stack(corners)).to(device), torch.from_numpy(np.stack(signs)).to(device)


def _with_square(batch: Batch, best: Tensor, corner: Tensor, signs: Tensor, side: int) -> Tensor:
    """The best images with one square each, moved by 2ε up or down per channel, in the ball (Algorithm 2)."""
    import torch

    top, left = _corners(corner, side, best)
    reach, samples = torch.arange(side, device=best.device), torch.arange(len(best), device=best.device)
    down, across = (first[:, None] + reach for first in (top, left))
    inside = samples[:, None, None], slice(None), down[:, :, None], across[:, None, :]
    moved = best.clone()
    moved[inside] = batch.ball.of(inside).clip(best[inside] + 2 * batch.eps * signs[:, None, None, :])
    return moved


def _corners(corner: Tensor, side: int, images: Tensor) -> tuple[Tensor, Tensor]:
    """The first row and the first column of each square, from shares of where they may be."""
    import torch

    limits = torch.tensor([extent - side + 1 for extent in images.shape[2:]], device=images.device)
    top, left = (corner * limits).long().minimum(limits - 1).unbind(dim=1)
    return top, left


def squares(corner: Tensor, side: int, images: Tensor) -> Tensor:
    """Whether each pixel lies in the square of its image [n, 1, h, w]; corners are in shares of where they may be."""
    import torch

    rows, columns = (
        (places >= first[:, None]) & (places < first[:, None] + side)
        for first, extent in zip(_corners(corner, side, images), images.shape[2:], strict=True)
        for places in [torch.arange(extent, device=images.device)]
    )
    return rows[:, None, :, None] & columns[:, None, None, :]


@cache
def wave(side: int) -> Tensor:
    """η of Algorithm 3 [side, side]: a bump upwards over one downwards, of L2 length one."""
    import torch

    halves = []
    for height, sign in ((side // 2, 1.0), (side - side // 2, -1.0)):
        rings = side // 2 + 1
        slope = torch.tensor([sum(1 / (ring + 1) ** 2 for ring in range(first, rings)) for first in range(rings)])
        down, across = ((torch.arange(length) - length // 2).abs() for length in (height, side))
        bump = slope[torch.maximum(down[:, None], across)]
        halves.append(sign * bump / bump.norm())
    both = torch.cat(halves)
    return both / both.norm()


def _tiles(batch: Batch) -> Tensor:
    """The image under tiles of waves, five to a side, each channel up or down: where the search begins in L2."""
    import numpy as np
    import torch

    n, channels, height, width = batch.images.shape
    side = max(min(height, width) // 5, 2)
    down, across = height // side, width // side
    shape = (channels, down, across)
    drawn = np.stack([batch.draws.generator(row, "tiles").integers(0, 2, shape) for row in range(n)])
    signs = torch.from_numpy(drawn * 2 - 1).repeat_interleave(side, 2).repeat_interleave(side, 3)
    move, top, left = torch.zeros_like(batch.images), (height - side * down) // 2, (width - side * across) // 2
    inner = move[:, :, top : top + side * down, left : left + side * across]
    inner += (signs * wave(side).repeat(down, across)).to(move)
    return batch.ball.clip(batch.images + batch.eps * batch.direction(move))


def _with_wave(batch: Batch, best: Tensor, corner: Tensor, signs: Tensor, side: int) -> Tensor:
    """The best images with a wave in one square each, as long as what is unused of ε and what was in the square and in
    another one, which becomes as it was (Algorithm 3)."""
    import torch

    from assay.tasks.attacks.batch import lengths

    side = min(max(side, 3) | 1, *best.shape[2:])
    n, channels, *_ = best.shape
    move = best - batch.images
    inside, other = squares(corner[:, :4].reshape(2 * n, 2), side, best).unflatten(0, (n, 2)).unbind(dim=1)
    places = inside.expand_as(move)
    old = move[places].reshape(n, channels, side, side)
    up = wave(side)
    turned = torch.stack([up, up.T]).to(move)[(corner[:, 4] > 0.5).long()]
    fresh = turned[:, None] * signs[:, :, None, None] + old / _length(old)
    used = lengths(move) ** 2
    spare = (batch.eps**2 - used).clamp(min=0) / channels + lengths(move * (inside | other)) ** 2
    move = move.masked_fill(other, 0.0).masked_scatter(places, fresh / _length(fresh) * spare.sqrt())
    return batch.ball.clip(batch.images + batch.eps * batch.direction(move))


def _length(waves: Tensor) -> Tensor:
    """The L2 length of every channel of every square."""
    return waves.square().sum(dim=(2, 3), keepdim=True).sqrt() + 1e-12


def sparse_rs(settings: SparseRS, batch: Batch) -> Ledger:
    """Some pixels at random corners of the colour cube; then some of them as they were, and as many others instead."""
    import numpy as np
    import torch

    channels, height, width = batch.images.shape[1:]
    pixels = min(int(batch.eps), height * width)

    def begin(batch: Batch) -> Propose:
        draws = [batch.draws.generator(row, "pixels") for row in range(len(batch))]

        def propose(batch: Batch, left: Tensor, query: int, best: Tensor, changed: Tensor) -> tuple[Tensor, Tensor]:
            shape, count = (1 + channels, height, width), pixels
            drawn = torch.from_numpy(np.stack([draws[row].random(shape, np.float32) for row in left.tolist()])).to(best)
            if query > 1:
                count = min(tried_anew(query - 1, settings.queries, settings.share, pixels), height * width - pixels)
            gone = _first_of(drawn[:, :1].masked_fill(~changed, 2.0), count) & changed
            fresh = _first_of(drawn[:, :1].masked_fill(changed, 2.0), count) & ~changed
            now = changed & ~gone | fresh
            return (drawn[:, 1:] < 0.5).to(best).where(fresh, best).where(now, batch.images), now

        return propose

    return _search(settings, batch, begin)


def _first_of(order: Tensor, count: int) -> Tensor:
    """Where the `count` smallest of every image lie, bool [n, 1, h, w]."""
    flat = order.flatten(1)
    chosen = flat.topk(count, dim=1, largest=False).indices
    return ((flat * 0).scatter(1, chosen, 1.0) > 0).reshape(order.shape)


SQUARE_ATTACK = ImageAttackChoice(Square, square, drops_fallen=True)
SPARSE_RS_ATTACK = ImageAttackChoice(SparseRS, sparse_rs, drops_fallen=True)
