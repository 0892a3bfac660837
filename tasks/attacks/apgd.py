"""Auto-PGD (Croce and Hein 2020, Algorithm 1): steps with momentum that halve where a sample makes no progress."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.tasks.attacks.batch import Batch, Climbing
from assay.tasks.attacks.ledger import Ledger
from assay.tasks.attacks.rivals import against_each
from assay.tasks.attacks.settings import APGD, APGDT

MOMENTUM = 0.75  # α: how much of a step is the new direction; the rest is where the sample was going
PROGRESS = 0.75  # ρ: the share of steps since the last checkpoint that must have gone up


def checkpoints(steps: int) -> list[int]:
    """The steps at which progress is judged: w_j = ⌈p_j·steps⌉ with p_{j+1} = p_j + max(p_j - p_{j-1} - 0.03, 0.06).

    >>> checkpoints(100)
    [22, 41, 57, 70, 80, 87, 93, 99]
    """
    before, now, marks = 0, 22, []  # in hundredths, so that no rounding moves a mark
    while now < 100:
        marks.append(math.ceil(now * steps / 100))
        before, now = now, now + max(now - before - 3, 6)
    return sorted(set(marks) - {steps})


def apgd(settings: APGD, batch: Batch) -> Ledger:
    """Auto-PGD: of every sample the point of highest loss, or a later one of more harm (see `Ledger`)."""
    climbing: Climbing = "losses" if settings.loss == "cross-entropy" else "ratios"
    return ascend(batch, climbing, settings.steps, early=settings.only_accuracy)


def apgd_t(settings: APGDT, batch: Batch) -> Ledger:
    """Auto-PGD up the targeted DLR, towards each of the likeliest wrong classes in turn."""

    def attempt(batch: Batch, place: int) -> Ledger:
        return ascend(batch, "ratios", settings.steps, early=settings.only_accuracy, purpose=f"apgd-t {place}")

    return against_each(batch, settings.classes, settings.steps, attempt)


def ascend(batch: Batch, climbing: Climbing, steps: int, *, early: bool, purpose: str = "apgd") -> Ledger:
    """Algorithm 1 from a start of its own for every `purpose`; `early` drops samples as they fall."""
    ledger = Ledger(batch, steps=steps)
    rows = ledger.open() if early else torch.arange(len(batch), device=batch.images.device)
    batch = batch.of(rows) if len(rows) < len(batch) else batch
    if len(rows) == 0:
        return ledger
    state, marks, last_mark = _State.begin(batch, climbing, purpose), checkpoints(steps), 0
    for step in range(steps + 1):
        if early:
            still = ledger.close(rows, state.x, batch.criterion.harm(state.logits), step)
            if len(still) < len(rows):
                rows, batch, state = rows[still], batch.of(still), state.of(still)
            if len(rows) == 0:
                return ledger
        else:
            ledger.look(state.x, batch.criterion.harm(state.logits), step)
        if step < steps:
            if step in marks:
                state = state.halve(step - last_mark)
                last_mark = step
            state = state.moved(batch, climbing, first=step == 0)
    if early:
        ledger.leave(rows, state.best_x, torch.zeros_like(batch.clean_harm))  # it was looked at, and no success
        return ledger
    ledger.look(state.best_x, batch.criterion.harm(batch.ask(state.best_x)), steps)
    ledger.settle()
    return ledger


@dataclass(frozen=True)
class _State:
    """Where every sample stands, and where it stood best."""

    x: Tensor
    before: Tensor  # x of the step before; x itself at the start
    gradient: Tensor
    logits: Tensor
    value: Tensor  # [n] what is climbed, at x
    best_x: Tensor
    best_gradient: Tensor
    best_value: Tensor  # [n]
    size: Tensor  # [n] the step size η
    ups: Tensor  # [n] steps that went up since the last checkpoint
    size_then: Tensor  # [n] the step size at the last checkpoint
    best_then: Tensor  # [n] the best value at the last checkpoint

    @classmethod
    def begin(cls, batch: Batch, climbing: Climbing, purpose: str) -> _State:
        """A uniform start in the ball, and a step size of 2ε."""
        x = batch.start(purpose)
        gradient, logits, value = batch.first_slope(x, climbing)
        size = torch.full_like(value, 2 * batch.eps)
        ups = torch.zeros(len(x), dtype=torch.int32, device=x.device)
        return cls(x, x, gradient, logits, value, x, gradient, value, size, ups, size, value)

    def of(self, rows: Tensor) -> _State:
        """The state of some of the samples."""
        return _State(*(column[rows] for column in self._columns()))

    def moved(self, batch: Batch, climbing: Climbing, *, first: bool) -> _State:
        """One step: z = P(x + η·sign ∇), x' = P(x + α(z - x) + (1 - α)(x - x_before)), lines 7 and 8."""
        z = batch.ball.clip(self.x + self.size[:, None, None, None] * self.gradient.sign())
        x = z if first else self.x + MOMENTUM * (z - self.x) + (1 - MOMENTUM) * (self.x - self.before)
        x = batch.ball.clip(x)
        gradient, logits, value = batch.slope(x, climbing)
        better = value > self.best_value
        wide = better[:, None, None, None]
        return _State(
            x,
            self.x,
            gradient,
            logits,
            value,
            torch.where(wide, x, self.best_x),
            torch.where(wide, gradient, self.best_gradient),
            torch.where(better, value, self.best_value),
            self.size,
            self.ups + (value > self.value),
            self.size_then,
            self.best_then,
        )

    def halve(self, steps: int) -> _State:
        """Half the step, from the best point, where too few steps went up or an unchanged step size gained nothing."""
        stalled = self.ups < PROGRESS * steps
        stuck = (self.size == self.size_then) & (self.best_value == self.best_then)
        halved = stalled | stuck
        wide = halved[:, None, None, None]
        return _State(
            torch.where(wide, self.best_x, self.x),
            self.before,
            torch.where(wide, self.best_gradient, self.gradient),
            self.logits,
            torch.where(halved, self.best_value, self.value),
            self.best_x,
            self.best_gradient,
            self.best_value,
            torch.where(halved, self.size / 2, self.size),
            torch.zeros_like(self.ups),
            self.size,
            self.best_value,
        )

    def _columns(self) -> tuple[Tensor, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)
