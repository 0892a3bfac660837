"""Auto-PGD (Croce and Hein 2020, Algorithm 1): steps with momentum that halve where a sample makes no progress;
and its targeted variant, which is run towards each of a sample's likeliest wrong classes (Eq. 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.tasks.attacks.batch import Batch, Climbing, Ledger
from assay.tasks.attacks.criteria import NO_ZERO
from assay.tasks.attacks.settings import APGD, APGDT


@dataclass(frozen=True)
class Rival:
    """Towards one wrong class: that is what is climbed, but any wrong answer is a success."""

    truth: Tensor  # int64 [n]
    rival: Tensor  # int64 [n]

    @property
    def enough(self) -> Tensor:
        """From one wrong answer on the goal is reached."""
        return torch.ones_like(self.truth, dtype=torch.int32)

    @property
    def most(self) -> Tensor:
        """More than one answer there is not."""
        return self.enough

    def losses(self, logits: Tensor) -> Tensor:
        """What PGD would climb: minus the cross-entropy with the rival."""
        return -torch.nn.functional.cross_entropy(logits, self.rival, reduction="none")

    def margins(self, logits: Tensor) -> Tensor:
        """z_t − z_y: by how much the rival is above the truth."""
        return (logits.gather(1, self.rival[:, None]) - logits.gather(1, self.truth[:, None])).squeeze(1)

    def ratios(self, logits: Tensor) -> Tensor:
        """Targeted DLR, (z_t − z_y) / (z_π1 − (z_π3 + z_π4)/2) (Croce and Hein 2020, Eq. 6); with three classes the
        third stands alone below, and with two it is the plain margin."""
        classes = logits.shape[1]
        if classes < 3:
            return self.margins(logits)
        ordered = logits.topk(min(4, classes), dim=1).values
        low = ordered[:, 2] if classes == 3 else (ordered[:, 2] + ordered[:, 3]) / 2
        return self.margins(logits) / (ordered[:, 0] - low + NO_ZERO)

    def harm(self, logits: Tensor) -> Tensor:
        """1 where the predicted class is wrong."""
        return (logits.argmax(dim=1) != self.truth).int()

    def of(self, rows: Tensor | slice) -> Rival:
        """The criterion for some of the samples."""
        return Rival(self.truth[rows], self.rival[rows])


def against_each(batch: Batch, classes: int, steps: int, attempt: Callable[[Batch, int], Ledger]) -> Ledger:
    """An attempt of so many steps towards each of the likeliest wrong classes, the likeliest first; a later one is for
    the samples that withstood the earlier ones."""
    ranked = _wrong_classes(batch)[:, :classes]
    ledger: Ledger | None = None
    for place in range(ranked.shape[1]):
        if ledger is None:
            ledger = attempt(_with_rival(batch, ranked[:, place]), place)
            continue
        rows = ledger.open()
        if len(rows) == 0:
            break
        ledger.merge(rows, attempt(_with_rival(batch.of(rows), ranked[rows, place]), place), place * steps)
    assert ledger is not None
    return ledger


def _wrong_classes(batch: Batch) -> Tensor:
    """The wrong classes of each sample, the likeliest by its clean logits first, [n, k − 1]."""
    logits = batch.ask(batch.images).scatter(1, batch.criterion.truth.long()[:, None], -torch.inf)
    return logits.argsort(dim=1, descending=True, stable=True)[:, :-1]


def _with_rival(batch: Batch, rival: Tensor) -> Batch:
    return replace(batch, criterion=Rival(batch.criterion.truth.long(), rival))


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
