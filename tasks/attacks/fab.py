"""Targeted FAB (Croce and Hein 2020, *Minimally distorted adversarial examples*, Algorithm 1, L∞): steps to the
boundary as the network's linearisation has it, pulled back towards the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.tasks.attacks.apgd import ClassByClass, against_each
from assay.tasks.attacks.choice import ImageAttackChoice

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Ledger

ALPHA_MAX = 0.1  # how far a step may lean towards the image
OVERSHOOT = 1.05  # η: so that the boundary is crossed, not touched
BACKWARD = 0.9  # β: how much of the way to an adversarial point is kept when the search goes on from it
_LEAST = 1e-8


class FABT(ClassByClass):
    """FAB (Croce and Hein 2020), class by class: the nearest point on the other side of the boundary."""

    attack: Literal["fab-t"] = "fab-t"
    """Which attack it is."""


def fab_t(settings: FABT, batch: Batch) -> Ledger:
    """FAB towards each of the likeliest wrong classes; a sample that has fallen within ε is not asked about again."""

    def attempt(batch: Batch, _place: int) -> Ledger:
        return _search(batch, settings.steps, early=settings.only_accuracy)

    return against_each(batch, settings.classes, attempt)


def _search(batch: Batch, steps: int, *, early: bool) -> Ledger:
    ledger = batch.ledger(steps=steps)
    rows = ledger.open() if early else ledger.harmable()
    if len(rows) == 0:
        return ledger
    batch = batch.of(rows)
    x, start, harm = batch.images, batch.images, batch.clean_harm
    for step in range(1, steps + 1):
        gradient, _, value = batch.slope(x, "margins")
        x = _projected_step(x, start, gradient, value)
        crossed = batch.criterion.harm(batch.ask(x)) > 0
        inside = batch.ball.clip(x)
        harm = batch.criterion.harm(batch.ask(inside))
        still = ledger.close(rows, inside, harm, step)
        x = (start + BACKWARD * (x - start)).where(crossed[:, None, None, None], x)
        if len(still) < len(rows):
            rows, batch, x, start, harm = rows[still], batch.of(still), x[still], start[still], harm[still]
            if len(rows) == 0:
                return ledger
    ledger.leave(rows, batch.ball.clip(x), batch.criterion.harm(batch.ask(batch.ball.clip(x))))
    return ledger


def _projected_step(x: Tensor, start: Tensor, gradient: Tensor, value: Tensor) -> Tensor:
    """x' = (1 − α)(x + η·d(x)) + α(x₀ + η·d(x₀)), within [0, 1]: both projected on the plane where the linearised
    margin is 0, and α = min(‖d(x)‖ / (‖d(x)‖ + ‖d(x₀)‖), α_max) (Eq. 7 to 9)."""
    slope, point, origin = gradient.flatten(1), x.flatten(1), start.flatten(1)
    missing = -value  # the margin has to rise by that much from x
    from_origin = missing + (slope * (point - origin)).cumsum(dim=1)[:, -1]
    to_plane, from_start = to_hyperplane(point, slope, missing), to_hyperplane(origin, slope, from_origin)
    near, far = (move.abs().amax(dim=1).clamp(min=_LEAST) for move in (to_plane, from_start))
    lean = (near / (near + far)).clamp(max=ALPHA_MAX)[:, None]
    moved = (point + OVERSHOOT * to_plane) * (1 - lean) + (origin + OVERSHOOT * from_start) * lean
    return moved.clamp(0, 1).reshape(x.shape)


def to_hyperplane(points: Tensor, slope: Tensor, missing: Tensor) -> Tensor:
    """The least move d in L∞ with ⟨slope, d⟩ = missing that stays within [0, 1] (Eq. 3, solved by sorting); where the
    box does not reach so far, the farthest that it lets go. Points and slopes are [n, m], missing is [n].

    >>> import torch
    >>> half, both = torch.tensor([[0.5, 0.75]]), torch.tensor([[1.0, 1.0]])
    >>> [to_hyperplane(half, both, torch.tensor([missing])).tolist()[0] for missing in (0.5, -0.5, 0.625, 9.0)]
    [[0.25, 0.25], [-0.25, -0.25], [0.375, 0.25], [0.5, 0.25]]
    """
    import torch

    ways = slope.sign() * torch.where(missing < 0, -1.0, 1.0)[:, None]
    rooms = torch.where(slope == 0, 0.0, torch.where(ways > 0, 1 - points, points))
    room, order = rooms.sort(dim=1, stable=True)
    weight = slope.abs().gather(1, order)
    used = (weight * room).cumsum(dim=1)  # what those give that have reached the border of the box
    left = weight.cumsum(dim=1)
    left = left[:, -1:] - left  # the weight of those that have not
    reached = used + room * left  # what a move by the k-th room gives altogether
    wanted = missing.abs()[:, None]
    place = (reached < wanted).sum(dim=1, keepdim=True)
    last = place.clamp(max=room.shape[1] - 1)
    before = torch.where(place > 0, used.gather(1, (place - 1).clamp(min=0)), torch.zeros_like(wanted))
    rest = left.gather(1, last) + weight.gather(1, last)
    move = torch.where(place < room.shape[1], (wanted - before) / rest.clamp(min=_LEAST**2), torch.ones_like(wanted))
    return ways * torch.minimum(move.clamp(min=0), rooms)


FABT_ATTACK = ImageAttackChoice(FABT, fab_t, follows_gradients=True, drops_fallen=True, one_class=True)
