"""Attacks that look for the nearest adversarial image and count it where it lies within ε: targeted FAB (Croce and Hein
2020, *Minimally distorted adversarial examples*, Algorithm 1), which steps to the boundary as the network's
linearisation has it, pulled back towards the image; and DDN (Rony et al. 2019, L2) and FMN (Pintor et al. 2021), which
widen and narrow a ball around the image as they step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from assay.tasks.attacks.apgd import ClassByClass, against_each
from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack, Norm, RadiusGrid

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Climbing, Ledger

    Stepped = Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]

ALPHA_MAX = 0.1  # how far a step may lean towards the image
OVERSHOOT = 1.05  # η: so that the boundary is crossed, not touched, by FAB and by FMN
BACKWARD = 0.9  # β: how much of the way to an adversarial point is kept when the search goes on from it
_LEAST = 1e-8


class FABT(ClassByClass):
    """FAB (Croce and Hein 2020), class by class: the nearest point on the other side of the boundary."""

    attack: Literal["fab-t"] = "fab-t"
    """Which attack it is."""


def fab_t(settings: FABT, batch: Batch) -> Ledger:
    """FAB towards each of the likeliest wrong classes; a sample that has fallen within ε is not asked about again."""

    def attempt(batch: Batch, _place: int) -> Ledger:
        return _search(batch, settings.steps, settings.norm, early=settings.only_accuracy)

    return against_each(batch, settings.classes, attempt)


def _search(batch: Batch, steps: int, norm: Norm, *, early: bool) -> Ledger:
    ledger = batch.ledger(steps=steps)
    rows = ledger.open() if early else ledger.harmable()
    if len(rows) == 0:
        return ledger
    batch = batch.of(rows)
    x, start, harm = batch.images, batch.images, batch.clean_harm
    for step in range(1, steps + 1):
        gradient, _, value = batch.slope(x, "margins")
        x = _projected_step(x, start, gradient, value, norm)
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


def _projected_step(x: Tensor, start: Tensor, gradient: Tensor, value: Tensor, norm: Norm) -> Tensor:
    """x' = (1 − α)(x + η·d(x)) + α(x₀ + η·d(x₀)), within [0, 1]: both projected on the plane where the linearised
    margin is 0, and α = min(‖d(x)‖ / (‖d(x)‖ + ‖d(x₀)‖), α_max) (Eq. 7 to 9)."""
    from assay.tasks.attacks.batch import distances

    slope, point, origin = gradient.flatten(1), x.flatten(1), start.flatten(1)
    missing = -value  # the margin has to rise by that much from x
    from_origin = missing + (slope * (point - origin)).cumsum(dim=1)[:, -1]
    to_plane = to_hyperplane(point, slope, missing, norm)
    from_start = to_hyperplane(origin, slope, from_origin, norm)
    near, far = (
        distances(norm, move.reshape(x.shape)).to(x.dtype).clamp(min=_LEAST) for move in (to_plane, from_start)
    )
    lean = (near / (near + far)).clamp(max=ALPHA_MAX)[:, None]
    moved = (point + OVERSHOOT * to_plane) * (1 - lean) + (origin + OVERSHOOT * from_start) * lean
    return moved.clamp(0, 1).reshape(x.shape)


def to_hyperplane(points: Tensor, slope: Tensor, missing: Tensor, norm: Norm = "linf") -> Tensor:
    """The least move d with ⟨slope, d⟩ = missing that stays within [0, 1] (Eq. 3, solved by sorting): in L∞ all pixels
    move alike, in L2 in proportion to their slopes, until they reach the border of the box. Where that does not reach
    so far, the farthest that it lets go. Points and slopes are [n, m], missing is [n].

    >>> import torch
    >>> half, both = torch.tensor([[0.5, 0.75]]), torch.tensor([[1.0, 1.0]])
    >>> [to_hyperplane(half, both, torch.tensor([missing])).tolist()[0] for missing in (0.5, -0.5, 0.625, 9.0)]
    [[0.25, 0.25], [-0.25, -0.25], [0.375, 0.25], [0.5, 0.25]]
    >>> to_hyperplane(half, torch.tensor([[0.25, 0.5]]), torch.tensor([0.15625]), "l2").tolist()
    [[0.125, 0.25]]
    """
    import torch

    ways = slope.sign() * torch.where(missing < 0, -1.0, 1.0)[:, None]
    rooms = torch.where(slope == 0, 0.0, torch.where(ways > 0, 1 - points, points))
    rates = torch.ones_like(slope) if norm == "linf" else slope.abs().clamp(min=_LEAST)
    room, order = (rooms / rates).sort(dim=1, stable=True)  # how far the move goes until a pixel is at the border
    weight = (slope.abs() * rates).gather(1, order)
    used = (weight * room).cumsum(dim=1)  # what those give that have reached the border of the box
    left = weight.cumsum(dim=1)
    left = left[:, -1:] - left  # the weight of those that have not
    reached = used + room * left  # what a move by the k-th room gives altogether
    wanted = missing.abs()[:, None]
    place = (reached < wanted).sum(dim=1, keepdim=True)
    last = place.clamp(max=room.shape[1] - 1)
    before = torch.where(place > 0, used.gather(1, (place - 1).clamp(min=0)), torch.zeros_like(wanted))
    rest = left.gather(1, last) + weight.gather(1, last)
    move = torch.where(
        place < room.shape[1], (wanted - before) / rest.clamp(min=_LEAST**2), torch.full_like(wanted, math.inf)
    )
    return ways * torch.minimum(move.clamp(min=0) * rates, rooms)


class DDN(ImageAttack):
    """Decoupled direction and norm (Rony et al. 2019): steps along the gradient, on an L2 ball that shrinks while the
    image fools the subject and grows while it does not."""

    attack: Literal["ddn"] = "ddn"
    """Which attack it is."""
    norms = ("l2",)
    norm: Norm = "l2"
    """What ε bounds: the length of the whole change."""
    eps: RadiusGrid = (0.5,)
    """The length of the change: one number or several."""
    steps: int = Field(default=50, ge=1, le=100_000)
    """How many steps it takes."""
    gamma: float = Field(default=0.05, gt=0, lt=1)
    """By what share the ball shrinks or grows at each step."""


class FMN(ImageAttack):
    """Fast minimum norm (Pintor et al. 2021): steps along the margin's gradient, on a ball whose radius is first where
    the linearised boundary lies, then shrinks while the image fools the subject and grows while it does not."""

    attack: Literal["fmn"] = "fmn"
    """Which attack it is."""
    norms = ("l2", "linf")
    norm: Norm = "l2"
    """What ε bounds: the length of the whole change, or how far any pixel may move (`linf`)."""
    eps: RadiusGrid = (0.5,)
    """The length of the change: one number or several."""
    steps: int = Field(default=100, ge=1, le=100_000)
    """How many steps it takes."""
    step_size: float = Field(default=1.0, gt=0, le=1000)
    """The L2 length of the first step; of the last it is a hundredth."""
    gamma: float = Field(default=0.05, ge=0.001, lt=1)
    """By what share the radius shrinks or grows at first; at the end it is 0.001."""


def annealed(first: float, last: float, steps: int) -> list[float]:
    """A number for each step, along a cosine from the first down to the last.

    >>> [round(size, 4) for size in annealed(1.0, 0.01, 4)]
    [1.0, 0.855, 0.505, 0.155]
    """
    return [last + (first - last) * (1 + math.cos(math.pi * step / steps)) / 2 for step in range(steps)]


def ddn(settings: DDN, batch: Batch) -> Ledger:
    """Algorithm 1 of Rony et al., from the image itself; of what it finds, what lies within ε counts."""
    import torch

    from assay.tasks.attacks.batch import lengths

    start, sizes = batch.images, annealed(1.0, 0.01, settings.steps)
    farthest = lengths(torch.maximum(start, 1 - start))
    radius = torch.ones_like(farthest)

    def stepped(x: Tensor, gradient: Tensor, _: Tensor, fooled: Tensor, step: int) -> Tensor:
        nonlocal radius
        gamma = torch.where(fooled, 1 - settings.gamma, 1 + settings.gamma)[:, None, None, None]
        radius = (radius * gamma).minimum(farthest)
        move = x - start + sizes[step] * batch.direction(gradient)
        return (start + move * (radius / lengths(move))).clamp(0, 1)

    return _walk(batch, settings.steps, "losses", stepped)


def fmn(settings: FMN, batch: Batch) -> Ledger:
    """Algorithm 1 of Pintor et al., from the image itself; of what it finds, what lies within ε counts.

    Once a sample has fooled the subject its radius is no larger than the least distance at which it did; until then it
    goes a little beyond the linearised boundary, and pixels that can go no farther take no part in a step. (By the
    letter of the algorithm the boundary of a linear network is reached and never crossed.)
    """
    import torch

    from assay.tasks.attacks.batch import distances, lengths

    start, norm = batch.images, settings.norm
    sizes = annealed(settings.step_size, settings.step_size / 100, settings.steps)
    gammas = annealed(settings.gamma, 0.001, settings.steps)
    farthest = nearest = distances(norm, torch.maximum(start, 1 - start))
    radius, found = torch.full_like(farthest, math.inf), torch.zeros_like(farthest, dtype=torch.bool)

    def stepped(x: Tensor, gradient: Tensor, margin: Tensor, fooled: Tensor, step: int) -> Tensor:
        nonlocal nearest, radius, found
        gradient = gradient * torch.where(gradient > 0, x < 1, x > 0)
        distance, found = distances(norm, x - start), found | fooled
        nearest = distance.where(fooled & (distance > 0), nearest).minimum(nearest)
        slope = torch.linalg.vector_norm(gradient.double().flatten(1), ord=1 if norm == "linf" else 2, dim=1)
        boundary = distance + OVERSHOOT * margin.abs() / slope.clamp(min=_LEAST**2)
        shrunk = (radius * (1 - gammas[step])).minimum(nearest)
        radius = shrunk.where(fooled, (radius * (1 + gammas[step])).where(found, boundary)).minimum(farthest)
        move, within = x - start + sizes[step] * gradient / lengths(gradient), radius.to(x)[:, None, None, None]
        near = move.clamp(-within, within) if norm == "linf" else move * (within / lengths(move)).clamp(max=1.0)
        return (start + near).clamp(0, 1)

    return _walk(batch, settings.steps, "margins", stepped)


def _walk(batch: Batch, steps: int, climbing: Climbing, stepped: Stepped) -> Ledger:
    """From the image itself step by step, whether or not it fools the subject; what lies within ε is looked at."""
    ledger, x = batch.ledger(steps=steps), batch.images
    for step in range(steps):
        gradient, logits, value = batch.slope(x, climbing) if step else batch.first_slope(x, climbing)
        harm, within = batch.criterion.harm(logits), batch.ball.holds(x)
        ledger.look(x.where(within[:, None, None, None], batch.ball.clip(x)), harm * within, step)
        x = stepped(x, gradient, value, harm >= batch.criterion.enough, step)
    x = batch.ball.clip(x)
    ledger.look(x, batch.criterion.harm(batch.ask(x)), steps)
    ledger.settle()
    return ledger


FABT_ATTACK = ImageAttackChoice(FABT, fab_t, follows_gradients=True, drops_fallen=True, one_class=True)
DDN_ATTACK = ImageAttackChoice(DDN, ddn, follows_gradients=True)
FMN_ATTACK = ImageAttackChoice(FMN, fmn, follows_gradients=True, one_class=True)
