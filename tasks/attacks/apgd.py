"""Auto-PGD (Croce and Hein 2020, Algorithm 1): steps with momentum that halve where a sample makes no progress; and its
targeted variant, which is run towards each of a sample's likeliest wrong classes (Eq. 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Climbing, Ledger

MOMENTUM = 0.75  # α: how much of a step is the new direction; the rest is where the sample was going
PROGRESS = 0.75  # ρ: the share of steps since the last checkpoint that must have gone up


class APGD(ImageAttack):
    """Auto-PGD (Croce and Hein 2020): halves its step where progress stalls, and restarts from the best point."""

    attack: Literal["apgd"] = "apgd"
    """Which attack it is."""
    norms = ("linf", "l2")
    steps: int = Field(default=50, ge=2, le=100_000)
    """How many steps it takes."""
    loss: Literal["cross-entropy", "margin"] = "cross-entropy"
    """Cross-entropy, or the difference of logits ratio (with two classes the margin)."""


class ClassByClass(ImageAttack):
    """What attacks have that go for the likeliest wrong classes, one after the other; any wrong answer is a success."""

    norms = ("linf", "l2")
    steps: int = Field(default=50, ge=2, le=100_000)
    """How many steps it takes towards each class."""
    classes: int = Field(default=9, ge=1, le=10_000)
    """How many wrong classes it goes for, the likeliest first."""

    @model_validator(mode="after")
    def _any_wrong_class_will_do(self) -> Self:
        if self.goal != "untargeted":
            raise ValueError(f"goes for one wrong class after the other, not for `goal: {self.goal}`: leave `goal` out")
        return self


class APGDT(ClassByClass):
    """Auto-PGD up the targeted difference of logits ratio (Croce and Hein 2020, Eq. 6), class by class."""

    attack: Literal["apgd-t"] = "apgd-t"
    """Which attack it is."""


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

    return against_each(batch, settings.classes, attempt)


def against_each(batch: Batch, classes: int, attempt: Callable[[Batch, int], Ledger]) -> Ledger:
    """An attempt towards each of the likeliest wrong classes, the likeliest first; a later one is for
    the samples that withstood the earlier ones."""
    from assay.tasks.attacks.batch import in_turn
    from assay.tasks.attacks.criteria import Rival

    truth = batch.criterion.truth.long()
    logits = batch.ask(batch.images).scatter(1, truth[:, None], -math.inf)
    ranked = logits.argsort(dim=1, descending=True, stable=True)[:, :-1][:, :classes]

    def towards(batch: Batch, rows: Tensor, place: int) -> Ledger:
        return attempt(replace(batch, criterion=Rival(truth[rows], ranked[rows, place])), place)

    return in_turn(batch, ranked.shape[1], towards)


def ascend(batch: Batch, climbing: Climbing, steps: int, *, early: bool, purpose: str = "apgd") -> Ledger:
    """Algorithm 1 from a start of its own for every `purpose`; `early` drops samples as they fall."""
    ledger = batch.ledger(steps=steps)
    rows = ledger.open() if early else ledger.rows
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
        ledger.leave(rows, state.best_x, batch.clean_harm * 0)  # it was looked at, and no success
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
        """A random start in the ball, and a step size of 2ε."""
        import torch

        x = batch.start(purpose)
        gradient, logits, value = batch.first_slope(x, climbing)
        size = torch.full_like(value, 2 * batch.eps)
        ups = torch.zeros(len(x), dtype=torch.int32, device=x.device)
        return cls(x, x, gradient, logits, value, x, gradient, value, size, ups, size, value)

    def of(self, rows: Tensor) -> _State:
        """The state of some of the samples."""
        return _State(*(getattr(self, field.name)[rows] for field in fields(self)))

    def moved(self, batch: Batch, climbing: Climbing, *, first: bool) -> _State:
        """One step: z = P(x + η·sign ∇), x' = P(x + α(z - x) + (1 - α)(x - x_before)), lines 7 and 8; in L2 with ∇ at
        length one for its sign."""
        z = batch.ball.clip(self.x + self.size[:, None, None, None] * batch.direction(self.gradient))
        x = z if first else self.x + MOMENTUM * (z - self.x) + (1 - MOMENTUM) * (self.x - self.before)
        x = batch.ball.clip(x)
        gradient, logits, value = batch.slope(x, climbing)
        better = value > self.best_value
        wide = better[:, None, None, None]
        return replace(
            self,
            x=x,
            before=self.x,
            gradient=gradient,
            logits=logits,
            value=value,
            best_x=x.where(wide, self.best_x),
            best_gradient=gradient.where(wide, self.best_gradient),
            best_value=value.where(better, self.best_value),
            ups=self.ups + (value > self.value),
        )

    def halve(self, steps: int) -> _State:
        """Half the step, from the best point, where too few steps went up or an unchanged step size gained nothing."""
        stalled = self.ups < PROGRESS * steps
        stuck = (self.size == self.size_then) & (self.best_value == self.best_then)
        halved = stalled | stuck
        wide = halved[:, None, None, None]
        return replace(
            self,
            x=self.best_x.where(wide, self.x),
            gradient=self.best_gradient.where(wide, self.gradient),
            value=self.best_value.where(halved, self.value),
            size=(self.size / 2).where(halved, self.size),
            ups=self.ups * 0,
            size_then=self.size,
            best_then=self.best_value,
        )


# The margin is not what the others climb, so with several labels it is no measure for them.
APGD_ATTACK = ImageAttackChoice(APGD, apgd, follows_gradients=True, climbs_the_loss=lambda it: it.loss != "margin")
APGDT_ATTACK = ImageAttackChoice(APGDT, apgd_t, follows_gradients=True, one_class=True)
