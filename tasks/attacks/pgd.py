"""Projected gradient descent and its kin: Xu et al. (2020), Eq. 1 and 2; Goodfellow 2014; Dong et al. 2018."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from assay.tasks.attacks.batch import Batch, Ledger
from assay.tasks.attacks.settings import FGSM, PGD, MomentumPGD, step_size_for

Perturb = Callable[[Tensor, float], Tensor]
"""What a trained generator does: images [n, c, h, w] and ε → attacked images."""


class Direction(Protocol):
    """Which way a step goes, given the gradient."""

    def __call__(self, gradient: Tensor) -> Tensor:
        """The direction, each pixel -1, 0 or 1."""

    def keep(self, rows: Tensor) -> None:
        """Forget all samples but these."""


class Sign:
    """The sign of the gradient."""

    def __call__(self, gradient: Tensor) -> Tensor:
        """The direction, each pixel -1, 0 or 1."""
        return gradient.sign()

    def keep(self, rows: Tensor) -> None:
        """Nothing to forget."""


class Momentum:
    """The sign of a running sum of gradients, each of L1 norm one: g ← decay·g + ∇/‖∇‖₁ (Dong et al., Eq. 6)."""

    def __init__(self, decay: float) -> None:
        self._decay, self._running = decay, torch.zeros(())

    def __call__(self, gradient: Tensor) -> Tensor:
        """The direction, each pixel -1, 0 or 1."""
        size = gradient.abs().flatten(1).sum(dim=1).clamp(min=torch.finfo(gradient.dtype).tiny)
        unit = gradient / size[:, None, None, None]
        self._running = unit if self._running.ndim == 0 else self._decay * self._running + unit
        return self._running.sign()

    def keep(self, rows: Tensor) -> None:
        """Forget all samples but these."""
        if self._running.ndim:
            self._running = self._running[rows]


def pgd(settings: PGD, batch: Batch) -> Ledger:
    """PGD from a uniform start, or several; a later start is for the samples that withstood the earlier ones."""
    size = step_size_for(batch.eps, settings.steps, settings.step_size)

    def attempt(batch: Batch, restart: int) -> Ledger:
        start = batch.start(f"pgd {restart}") if settings.random_start else batch.images
        return climb(batch, start, Sign(), settings.steps, size, settings.only_accuracy, settings.last)

    ledger = attempt(batch, 0)
    for restart in range(1, settings.restarts):
        rows = ledger.open()
        if len(rows) == 0:
            break
        ledger.merge(rows, attempt(batch.of(rows), restart), restart * settings.steps)
    return ledger


def fgsm(settings: FGSM, batch: Batch) -> Ledger:
    """One step of ε from the image itself."""
    return climb(batch, batch.images, Sign(), 1, batch.eps, settings.only_accuracy)


def momentum_pgd(settings: MomentumPGD, batch: Batch) -> Ledger:
    """PGD along a running sum of gradients, from the image itself."""
    size = step_size_for(batch.eps, settings.steps, settings.step_size)
    return climb(batch, batch.images, Momentum(settings.decay), settings.steps, size, settings.only_accuracy)


def perturbed(perturb: Perturb, batch: Batch) -> Ledger:
    """What a trained generator makes of the images, in one go: that is what counts, success or not."""
    ledger = Ledger(batch, steps=1, last=True)
    x = batch.ball.clip(perturb(batch.images, batch.eps))
    ledger.look(x, batch.criterion.harm(batch.ask(x)), 1)
    ledger.settle()
    return ledger


def climb(
    batch: Batch, start: Tensor, direction: Direction, steps: int, size: float, early: bool, last: bool = False
) -> Ledger:
    """Step, project, repeat: x ← Clip(x + size·direction(∇ℓ(x))), Eq. 2; `early` drops samples as they fall."""
    if early:
        return _climb_early(batch, start, direction, steps, size)
    ledger, x = Ledger(batch, steps=steps, last=last), start
    for step in range(steps):
        gradient, logits, _ = batch.slope(x) if step else batch.first_slope(x)
        ledger.look(x, batch.criterion.harm(logits), step)
        x = batch.ball.clip(x.add(direction(gradient), alpha=size))
    ledger.look(x, batch.criterion.harm(batch.ask(x)), steps)
    ledger.settle()
    return ledger


def _climb_early(batch: Batch, start: Tensor, direction: Direction, steps: int, size: float) -> Ledger:
    ledger = Ledger(batch, steps=steps)
    rows = ledger.open()
    batch, x = batch.of(rows), start[rows]
    harm = batch.clean_harm
    for step in range(steps + 1):
        if len(rows) == 0:
            return ledger
        if step < steps:
            gradient, logits, _ = batch.slope(x) if step else batch.first_slope(x)
        else:
            gradient, logits = x, batch.ask(x)
        harm = batch.criterion.harm(logits)
        still = ledger.close(rows, x, harm, step)
        if len(still) < len(rows):
            rows, batch, x, gradient, harm = rows[still], batch.of(still), x[still], gradient[still], harm[still]
            direction.keep(still)
        if step < steps:
            x = batch.ball.clip(x.add(direction(gradient), alpha=size))
    ledger.leave(rows, x, harm)
    return ledger
