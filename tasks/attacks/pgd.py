"""Projected gradient descent and its kin: Xu et al. (2020), Eq. 1 and 2; Goodfellow 2014; Dong et al. 2018."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack, Radius, step_size_for
from assay.tasks.subjects.settings import Eps

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Ledger


class PGD(ImageAttack):
    """Projected gradient descent (Xu et al., Eq. 1-2): uniform start, sign steps, projection, clip to the bounds."""

    attack: Literal["pgd"] = "pgd"
    """Which attack it is."""
    norms = ("linf", "l2", "patch")
    steps: int = Field(default=20, ge=1, le=100_000)
    """How many steps it takes."""
    step_size: Radius | None = None
    """A step, in the norm; left out, max(1/255, 2.5·ε/steps), of a patch 2.5/steps."""
    restarts: int = Field(default=1, ge=1, le=1000)
    """How many random starts (of a patch, places) are tried; the first success counts."""
    random_start: bool = True
    """Whether it starts at a random point within ε, or at the image."""
    last: bool = False
    """Whether the last point counts even where only an earlier one was a success, as in other libraries."""

    @model_validator(mode="after")
    def _last_point_needs_every_step(self) -> Self:
        if self.last and (self.only_accuracy or self.restarts > 1):
            raise ValueError("`last` takes every step of one start: leave out `only_accuracy` and `restarts`")
        return self


class FGSM(ImageAttack):
    """The fast gradient sign method: one step of ε from the image itself."""

    attack: Literal["fgsm"] = "fgsm"
    """Which attack it is."""


class MomentumPGD(ImageAttack):
    """PGD that follows a running mean of the normalised gradients (Dong et al. 2018)."""

    attack: Literal["momentum-pgd"] = "momentum-pgd"
    """Which attack it is."""
    steps: int = Field(default=20, ge=1, le=100_000)
    """How many steps it takes."""
    step_size: Eps | None = None
    """How far a step goes; left out, max(1/255, 2.5·ε/steps)."""
    decay: float = Field(default=1.0, ge=0, le=10)
    """How much of the earlier gradients is kept."""


def pgd(settings: PGD, batch: Batch) -> Ledger:
    """PGD from a uniform start, or several; a later start is for the samples that withstood the earlier ones. A patch
    is painted within a square, as it likes, and every start has another place for it."""
    from assay.tasks.attacks.batch import Ball, in_turn
    from assay.tasks.attacks.random_search import squares

    patch = settings.norm == "patch"
    size = step_size_for(1.0 if patch else batch.eps, settings.steps, settings.step_size)
    side, corners = _likely_squares(batch, settings.restarts) if patch else (0, batch.images)

    def attempt(batch: Batch, rows: Tensor, restart: int) -> Ledger:
        if patch:
            inside = squares(corners[rows, restart % corners.shape[1]], side, batch.images)
            ball = Ball(batch.images.masked_fill(inside, 0.0), batch.images.masked_fill(inside, 1.0))
            batch = replace(batch, ball=ball, eps=1.0)
        start = batch.start(f"pgd {restart}") if settings.random_start else batch.images
        return climb(batch, start, settings.steps, size, early=settings.only_accuracy, last=settings.last)

    return in_turn(batch, settings.restarts, attempt)


def _likely_squares(batch: Batch, places: int) -> tuple[int, Tensor]:
    """The side of a square that covers ε of the picture, and the corners of those in which the gradient is steepest, in
    shares of where they may be [n, places, 2]; candidates overlap by half."""
    import torch

    height, width = batch.images.shape[2:]
    side = max(1, min(int(math.sqrt(batch.eps * height * width) + 1e-9), height, width))
    heat, stride = batch.first_slope(batch.images)[0].abs().sum(dim=1, keepdim=True), max(1, side // 2)
    sums = torch.nn.functional.avg_pool2d(heat, side, stride)
    ranked = sums.flatten(1).argsort(dim=1, descending=True, stable=True)[:, :places]
    corners = torch.stack([ranked // sums.shape[3], ranked % sums.shape[3]], dim=2) * stride
    return side, (corners + 0.5) / torch.tensor([height - side + 1, width - side + 1], device=heat.device)


def fgsm(settings: FGSM, batch: Batch) -> Ledger:
    """One step of ε from the image itself."""
    return climb(batch, batch.images, 1, batch.eps, early=settings.only_accuracy)


def momentum_pgd(settings: MomentumPGD, batch: Batch) -> Ledger:
    """PGD along a running sum of gradients, from the image itself."""
    size = step_size_for(batch.eps, settings.steps, settings.step_size)
    return climb(batch, batch.images, settings.steps, size, early=settings.only_accuracy, decay=settings.decay)


def climb(
    batch: Batch, start: Tensor, steps: int, size: float, *, early: bool, last: bool = False, decay: float | None = None
) -> Ledger:
    """Step, project, repeat: x ← Clip(x + size·sign(∇ℓ(x))), Eq. 2, and in L2 x + size·∇/‖∇‖; `early` drops samples as
    they fall, and with a `decay` what is followed is a running sum of gradients."""
    ledger, running, x = batch.ledger(steps=steps, last=last), None, start
    rows, harm = ledger.rows, batch.clean_harm
    if early:
        rows = ledger.open()
        batch, x = batch.of(rows), start[rows]
    for step in range(steps + 1):
        if len(rows) == 0:
            return ledger
        if step < steps:
            gradient, logits, _ = batch.slope(x) if step else batch.first_slope(x)
        else:
            gradient, logits = x, batch.ask(x)
        harm = batch.criterion.harm(logits)
        if not early:
            ledger.look(x, harm, step)
        elif len(still := ledger.close(rows, x, harm, step)) < len(rows):
            rows, batch, x, gradient, harm = rows[still], batch.of(still), x[still], gradient[still], harm[still]
            running = None if running is None else running[still]
        if step < steps:
            running = _followed(gradient, running, decay)
            x = batch.ball.clip(x.add(batch.direction(running), alpha=size))
    if early:
        ledger.leave(rows, x, harm)
    else:
        ledger.settle()
    return ledger


def _followed(gradient: Tensor, running: Tensor | None, decay: float | None) -> Tensor:
    """What a step follows: the gradient, or a running sum of gradients, each of L1 norm one: g ← decay·g + ∇/‖∇‖₁
    (Dong et al., Eq. 6)."""
    import torch

    if decay is None:
        return gradient
    size = gradient.abs().flatten(1).sum(dim=1).clamp(min=torch.finfo(gradient.dtype).tiny)
    unit = gradient / size[:, None, None, None]
    return unit if running is None else decay * running + unit


def _reach(settings: PGD | MomentumPGD, eps: float) -> float:
    return settings.steps * step_size_for(eps, settings.steps, settings.step_size)


PGD_ATTACK = ImageAttackChoice(PGD, pgd, follows_gradients=True, reach=_reach)
FGSM_ATTACK = ImageAttackChoice(FGSM, fgsm, follows_gradients=True)
MOMENTUM_PGD_ATTACK = ImageAttackChoice(MomentumPGD, momentum_pgd, follows_gradients=True, reach=_reach)
