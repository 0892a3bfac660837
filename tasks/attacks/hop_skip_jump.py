"""HopSkipJump (Chen, Jordan and Wainwright 2020, Algorithm 2), which needs only to know which class is answered: from
noise that is answered otherwise it goes to the boundary, asks around there which way that lies, jumps, and goes to the
boundary again, nearer to the image each time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import Goal, ImageAttack, Norm, RadiusGrid

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Ledger

FIRST_QUESTIONS = 100
"""B₀: so many questions tell the first direction, and √t times as many the one of turn t."""
FIRST_PROBE = 0.1
"""How far the first probes lie from the boundary; later ones at the d-th part of the distance (section 3.3)."""
TRIES, HALVINGS = 100, 20
LEVEL = 1 / 255
"""Pictures that are sent as files have whole levels: what differs by less is the same picture."""


class HopSkipJump(ImageAttack):
    """HopSkipJump (Chen et al. 2020): the nearest wrong answer, by answers alone; no gradients, no probabilities."""

    attack: Literal["hopskipjump"] = "hopskipjump"
    """Which attack it is."""
    norms = ("l2", "linf")
    norm: Norm = "l2"
    """What ε bounds: the length of the whole change, or how far any pixel may move (`linf`)."""
    eps: RadiusGrid = (0.5,)
    """The length of the change: one number or several."""
    queries: int = Field(default=1000, ge=1, le=1_000_000)
    """How many times it may ask the subject per image."""

    @field_validator("goal")
    @classmethod
    def _aims_at_no_class(cls, goal: Goal) -> Goal:
        if goal != "untargeted":
            raise ValueError("it begins at noise that is answered otherwise, and aims at no class: leave `goal` out")
        return goal


@dataclass(frozen=True)
class Walk:
    """Samples on their way along the boundary, and how often each was asked about."""

    batch: Batch
    norm: Norm
    asked: Tensor  # int64 [n]
    most: int

    @cached_property
    def coarse(self) -> bool:
        """Whether the subject sees pictures of whole levels."""
        return bool(getattr(self.batch.model.network, "in_words", False))

    @cached_property
    def halvings(self) -> int:
        """Into how many halves the way to the boundary is cut: down to θ = d^(−3/2), in L∞ d^(−2) (Theorem 2)."""
        power = 1.5 if self.norm == "l2" else 2.0
        return 9 if self.coarse else math.ceil(power * math.log2(self.batch.images[0].numel()))

    def able(self, which: Tensor) -> Tensor:
        """The rows among these that may be asked about once more."""
        return (which & (self.asked < self.most)).nonzero().flatten()

    def is_over(self, images: Tensor, rows: Tensor) -> Tensor:
        """Whether each image of a row is answered wrongly; each is a question."""
        import torch

        if len(rows) == 0:
            return rows > 0
        self.asked.index_add_(0, rows, torch.ones_like(rows))
        return self.batch.criterion.of(rows).harm(self.batch.ask(images)) > 0

    def distance(self, images: Tensor) -> Tensor:
        """How far the images are from the clean ones, [n]."""
        from assay.tasks.attacks.batch import distances

        return distances(self.norm, images.double() - self.batch.images.double())

    def start(self) -> tuple[Tensor, Tensor]:
        """Noise that is answered wrongly, and for which samples there was some."""
        import numpy as np
        import torch

        far, there = self.batch.images.clone(), torch.zeros_like(self.asked, dtype=torch.bool)
        draws = [self.batch.draws.generator(row, "noise") for row in range(len(far))]
        for _ in range(TRIES):
            rows = self.able(~there)
            if len(rows) == 0:
                break
            drawn = np.stack([draws[row].random(far.shape[1:], np.float32) for row in rows.tolist()])
            noise = torch.from_numpy(drawn).to(far)
            over = self.is_over(noise, rows)
            far[rows[over]], there[rows[over]] = noise[over], True
        return far, there

    def towards(self, far: Tensor, share: Tensor, rows: Tensor) -> Tensor:
        """The images on the way from the clean ones to far ones: in L2 straight, in L∞ each pixel as far as it may."""
        clean = self.batch.images[rows]
        move, share = far - clean, share.to(far)[:, None, None, None]
        if self.norm == "l2":
            return clean + share * move
        bound = share * move.abs().amax(dim=(1, 2, 3), keepdim=True)
        return clean + move.clamp(-bound, bound)

    def to_boundary(self, far: Tensor, which: Tensor) -> Tensor:
        """The wrong images next to the boundary on the way from far ones to the clean, by halving (Algorithm 1)."""
        import torch

        low, high = torch.zeros_like(self.asked, dtype=torch.float64), torch.ones_like(self.asked, dtype=torch.float64)
        for _ in range(self.halvings):
            rows = self.able(which)
            middle = (low[rows] + high[rows]) / 2
            over = self.is_over(self.towards(far[rows], middle, rows), rows)
            low[rows], high[rows] = low[rows].where(over, middle), middle.where(over, high[rows])
        near = self.towards(far, high, torch.arange(len(far), device=far.device))
        return near.where((which & (high < 1))[:, None, None, None], far)

    def way(self, near: Tensor, distance: float, row: int, turn: int) -> Tensor:
        """Which way from the boundary answers are wrong (Eq. 9, with the baseline of Eq. 16), by the answers around."""
        import numpy as np
        import torch

        from assay.tasks.attacks.batch import lengths

        left = self.most - int(self.asked[row]) - self.halvings - 1
        questions, block = max(1, min(int(FIRST_QUESTIONS * math.sqrt(turn)), left)), self.batch.model.block
        generator = self.batch.draws.generator(row, f"turn {turn}")
        size = max(FIRST_PROBE if turn == 1 else distance / near.numel(), LEVEL * near.numel() ** 0.5 * self.coarse)
        moved, signed, over = torch.zeros_like(near), torch.zeros_like(near), 0  # sums over the probes
        for start in range(0, questions, block):
            shape = (min(block, questions - start), *near.shape)
            drawn = generator.standard_normal(shape, np.float32)
            if self.norm == "linf":
                drawn = generator.random(shape, np.float32) * 2 - 1
            probes = torch.from_numpy(drawn).to(near)
            seen = (near + size * probes / lengths(probes)).clamp(0, 1)
            wrong, moves = self.is_over(seen, torch.full((len(seen),), row, device=near.device)), seen - near
            over, moved = over + int(wrong.sum()), moved + moves.sum(dim=0)
            signed = signed + torch.where(wrong[:, None, None, None], moves, -moves).sum(dim=0)
        mean = 2 * over / questions - 1
        return self.batch.direction((signed - mean * moved if abs(mean) < 1 else signed)[None])[0]

    def jump(self, near: Tensor, which: Tensor, turn: int) -> Tensor:
        """One turn: along the way the distance over √turn, or half as far until that is answered wrongly, and back."""
        import torch

        rows, distance = which.nonzero().flatten(), self.distance(near)
        ways = torch.stack([self.way(near[row], float(distance[row]), row, turn) for row in rows.tolist()])
        lengths, far, open_rows = (distance / math.sqrt(turn)).to(near), near.clone(), which.clone()
        places = torch.zeros_like(self.asked).index_put_((rows,), torch.arange(len(rows), device=rows.device))
        for _ in range(HALVINGS):
            able = self.able(open_rows)
            tried = (near[able] + lengths[able][:, None, None, None] * ways[places[able]]).clamp(0, 1)
            over = self.is_over(tried, able)
            far[able[over]], open_rows[able[over]] = tried[over], False
            lengths[able] /= 2
        return self.to_boundary(far, which)


def hop_skip_jump(settings: HopSkipJump, batch: Batch) -> Ledger:
    """Turns until the image lies within ε, or the questions are used up; of one that does not, its part within ε."""
    import torch

    ledger = batch.ledger(steps=settings.queries)
    rows = ledger.open() if settings.only_accuracy else ledger.harmable()
    if len(rows) == 0:
        return ledger
    walk = Walk(batch.of(rows), settings.norm, torch.zeros_like(rows), settings.queries - 1)  # the last is its own
    far, there = walk.start()
    near = walk.to_boundary(far, there)
    for turn in count(1):
        inside = there & (walk.distance(near) <= batch.eps)
        open_rows = there & ~inside & (walk.asked < walk.most - walk.halvings)
        if not open_rows.any():
            break
        near = walk.jump(near, open_rows, turn)
    near = near.where(inside[:, None, None, None], walk.batch.ball.clip(near))
    harm, standing = walk.batch.criterion.harm(walk.batch.ask(near)), ~ledger.reached[rows]
    ledger.queries[rows] += walk.asked.int() + 1
    ledger.leave(rows, near, harm)
    fell = (harm > 0) & standing
    ledger.steps[rows[fell]] = walk.asked[fell].int()
    return ledger


HOP_SKIP_JUMP_ATTACK = ImageAttackChoice(HopSkipJump, hop_skip_jump, drops_fallen=True, one_class=True)
