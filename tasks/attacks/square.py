"""The Square attack (Andriushchenko et al. 2020, Algorithms 1 and 2, L∞): random squares and no gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Ledger

HALVED_AFTER = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # of 10 000 queries


class Square(ImageAttack):
    """The Square attack (Andriushchenko et al. 2020): random squares, no gradients, only queries."""

    attack: Literal["square"] = "square"
    """Which attack it is."""
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


def square(settings: Square, batch: Batch) -> Ledger:
    """Stripes first, then squares; a change stays where it brings the sample nearer to the goal.

    A sample is asked about until nothing is left to be done: until it falls, or until all its labels are wrong. One
    that was lost before the attack began is asked about like the others, unless only accuracy counts. With several
    labels what is climbed is the loss that PGD climbs, and the image of the highest loss counts.
    """
    import torch

    ledger = batch.ledger(steps=settings.queries)
    rows = ledger.open() if settings.only_accuracy else ledger.harmable()
    if len(rows) == 0:
        return ledger
    batch = batch.of(rows)
    x = _stripes(batch)
    corners, signs = _draw_squares(batch, settings.queries)
    margins, best, harm = torch.full((len(rows),), -torch.inf, device=x.device), x, torch.zeros_like(batch.clean_harm)
    for query in range(1, settings.queries + 1):
        if query > 1:
            side = side_of_square(share_covered(query - 1, settings.queries, settings.share), *x.shape[2:])
            x = batch.ball.clip(_with_square(best, corners[:, query - 2], signs[:, query - 2], side, batch.eps))
        logits = batch.ask(x)
        asked = batch.criterion.margins(logits)
        better = asked > margins
        best = torch.where(better[:, None, None, None], x, best)
        margins = torch.where(better, asked, margins)
        harm = torch.where(better, batch.criterion.harm(logits), harm)
        still = ledger.close(rows, best, harm, query)
        if len(still) < len(rows):
            rows, batch, best, margins = rows[still], batch.of(still), best[still], margins[still]
            corners, signs, harm = corners[still], signs[still], harm[still]
            if len(rows) == 0:
                return ledger
    ledger.leave(rows, best, harm)
    return ledger


def _stripes(batch: Batch) -> Tensor:
    """Vertical stripes one pixel wide, each channel up or down by ε: where the search begins."""
    import numpy as np
    import torch

    n, channels, _, width = batch.images.shape
    drawn = np.stack([batch.draws.generator(row, "stripes").integers(0, 2, (channels, 1, width)) for row in range(n)])
    signs = torch.from_numpy(drawn * 2 - 1).to(batch.images)
    return batch.ball.clip(batch.images + batch.eps * signs)


def _draw_squares(batch: Batch, queries: int) -> tuple[Tensor, Tensor]:
    """Per sample and query where the square lies, as shares [n, queries, 2], and its signs [n, queries, channels]."""
    import numpy as np
    import torch

    corners, signs = [], []
    for row in range(len(batch)):
        generator = batch.draws.generator(row, "squares")
        corners.append(generator.random((queries, 2), dtype=np.float32))
        signs.append(generator.integers(0, 2, (queries, batch.images.shape[1]), dtype=np.int8) * 2 - 1)
    device = batch.images.device
    return torch.from_numpy(np.stack(corners)).to(device), torch.from_numpy(np.stack(signs)).to(device)


def _with_square(best: Tensor, corner: Tensor, signs: Tensor, side: int, eps: float) -> Tensor:
    """The best images with one square each, moved by 2ε up or down per channel (Algorithm 2)."""
    import torch

    height, width = best.shape[2:]
    limits = torch.tensor([height - side + 1, width - side + 1], device=best.device)
    top, left = (corner * limits).long().minimum(limits - 1).unbind(dim=1)
    rows, columns = (
        (places >= first[:, None]) & (places < first[:, None] + side)
        for first, places in ((top, torch.arange(height).to(best.device)), (left, torch.arange(width).to(best.device)))
    )
    inside = rows[:, None, :, None] & columns[:, None, None, :]
    return torch.where(inside, best + 2 * eps * signs[:, :, None, None], best)


SQUARE_ATTACK = ImageAttackChoice(Square, square, drops_fallen=True)
