"""A batch under attack: the model, the images with their ε ball, the random draws of each sample, and the ledger
of what becomes of each sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.criteria import Criterion, criterion_for
from assay.tasks.attacks.settings import ImageAttack, Norm

if TYPE_CHECKING:
    from assay.tasks.subjects.images.model import ImageModel


@dataclass(frozen=True)
class Draws:
    """The generators of a batch of samples, one per sample and purpose.

    >>> both, one = Draws(Seeds(0, "attack"), ("a", "b")), Draws(Seeds(0, "attack"), ("b",))
    >>> bool((both.uniform("start", (3,))[1] == one.uniform("start", (3,))[0]).all())
    True
    """

    seeds: Seeds
    ids: tuple[str, ...]

    def generator(self, row: int, purpose: str) -> np.random.Generator:
        """The generator of one sample for one purpose; asked twice, it draws the same again."""
        return Seeds(self.seeds.run_seed, f"{self.seeds.stage}/{purpose}").generator(self.ids[row])

    def uniform(self, purpose: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """Per sample an array of draws from [-1, 1), [n, *shape]."""
        drawn = np.empty((len(self.ids), *shape), np.float32)
        own = Seeds(self.seeds.run_seed, f"{self.seeds.stage}/{purpose}")
        for row, generator in zip(drawn, own.generators(self.ids), strict=True):
            generator.random(dtype=np.float32, out=row)
        return drawn * np.float32(2) - np.float32(1)

    def of(self, rows: Sequence[int]) -> Draws:
        """The draws of some of the samples."""
        return Draws(self.seeds, tuple(self.ids[row] for row in rows))


@dataclass(frozen=True)
class Ball:
    """All images x' with |x' - x| ≤ ε and 0 ≤ x' ≤ 1, as the smallest and the largest value of every pixel."""

    lower: Tensor
    upper: Tensor

    def clip(self, images: Tensor) -> Tensor:
        """The projection: every pixel into its range (the Clip of Xu et al., Eq. 2)."""
        return images.clamp(self.lower, self.upper)

    def holds(self, images: Tensor) -> Tensor:
        """Which images lie in the ball, bool [n]."""
        return ((self.lower <= images) & (images <= self.upper)).flatten(1).all(dim=1)

    def of(self, rows: Rows) -> Ball:
        """The ball of some of the samples, or of some of their pixels."""
        return Ball(self.lower[rows], self.upper[rows])


@dataclass(frozen=True)
class L2Ball:
    """All images within [0, 1] that are no farther from their centre than the radius."""

    centre: Tensor
    radius: float

    def clip(self, images: Tensor) -> Tensor:
        """What is too far pulled towards the centre, and every pixel into [0, 1]."""
        move = images - self.centre
        return (self.centre + move * (self.radius / lengths(move)).clamp(max=1.0)).clamp(0, 1)

    def holds(self, images: Tensor) -> Tensor:
        """Which images lie in the ball, bool [n]."""
        return lengths(images - self.centre).flatten() <= self.radius

    def of(self, rows: Rows) -> L2Ball:
        """The ball of some of the samples."""
        return L2Ball(self.centre[rows], self.radius)


def lengths(moves: Tensor) -> Tensor:
    """The L2 length of every move, [n, 1, 1, 1], and never 0.

    >>> lengths(torch.tensor([[[[3.0, 4.0]]]])).item()
    5.0
    """
    return torch.linalg.vector_norm(moves.flatten(1), dim=1).clamp(min=1e-12)[:, None, None, None]


def ball_in(norm: Norm, images: Tensor, eps: float) -> Ball | L2Ball:
    """The ball of radius ε; in L0, and of a patch, all images, for what bounds those is how many pixels are changed."""
    if norm == "linf":
        return ball_around(images, eps)
    if norm == "l2":  # less what rounding may add
        return L2Ball(images, max(eps - 2**-24 * math.sqrt(images[0].numel()), 0.0))
    return Ball(torch.zeros_like(images), torch.ones_like(images))


def distances(norm: Norm, moves: Tensor) -> Tensor:
    """How far each image moved, [n], in the norm that ε is given in; of a patch, the share of pixels it changed."""
    if norm == "linf":
        return moves.double().abs().flatten(1).amax(dim=1)
    if norm == "l2":
        return lengths(moves.double()).flatten()
    changed = (moves != 0).any(dim=1).flatten(1)
    return changed.sum(dim=1).double() / (changed.shape[1] if norm == "patch" else 1)


def ball_around(images: Tensor, eps: float) -> Ball:
    """The ball of radius ε around float32 images [n, c, h, w] within [0, 1].

    x + ε rounds to the nearest float32, which may lie a hair outside: |x' - x| would exceed ε. So ε is rounded down to
    a float32, and a bound that lies outside moves to the next number inside. Then the distance is at most ε in exact
    arithmetic, and in float32 as well, since rounding keeps the order of numbers.

    >>> x = torch.tensor([[[[0.7]]]])
    >>> float((ball_around(x, 4 / 255).upper - x).max()) <= 4 / 255
    True
    """
    radius = _rounded_down(eps)
    exact = images.double()
    upper, lower = (exact + radius).clamp(max=1.0).float(), (exact - radius).clamp(min=0.0).float()
    upper = torch.where(upper.double() - exact > radius, torch.nextafter(upper, images), upper)
    lower = torch.where(exact - lower.double() > radius, torch.nextafter(lower, images), lower)
    return Ball(lower, upper)


def _rounded_down(value: float) -> float:
    nearest = torch.tensor(value, dtype=torch.float32)
    return float(nearest if float(nearest) <= value else torch.nextafter(nearest, torch.tensor(0.0)))


Perturb = Callable[[Tensor, float], Tensor]
"""What a trained generator does: images [n, c, h, w] and ε → attacked images."""
Climbing = Literal["losses", "margins", "ratios"]
"""What of the criterion an attack climbs."""

Rows: TypeAlias = "Tensor | slice | tuple[Tensor | slice, ...]"


@dataclass(frozen=True)
class Batch:
    """Samples under attack, and how the model answers for them."""

    model: ImageModel
    images: Tensor  # float32 [n, c, h, w]
    ball: Ball | L2Ball
    criterion: Criterion
    clean_harm: Tensor  # int32 [n]: how much is done before the attack begins
    eps: float
    draws: Draws

    def __len__(self) -> int:
        return len(self.images)

    def of(self, rows: Tensor) -> Batch:
        """The batch of some of the samples."""
        return replace(
            self,
            images=self.images[rows],
            ball=self.ball.of(rows),
            criterion=self.criterion.of(rows),
            clean_harm=self.clean_harm[rows],
            draws=self.draws.of(rows.tolist()),
        )

    def ledger(self, *, steps: int, last: bool = False) -> Ledger:
        """The book of an attack on these samples, still empty."""
        return Ledger(self, steps=steps, last=last)

    def ask(self, x: Tensor) -> Tensor:
        """The logits of images, [n, k]."""
        return ask(self.model, x)

    def slope(self, x: Tensor, climbing: Climbing = "losses") -> tuple[Tensor, Tensor, Tensor]:
        """The gradient at the images [n, c, h, w], their logits [n, k], and the values [n] of what is climbed."""
        parts = [_slope(self.model, x[rows], self.criterion.of(rows), climbing) for rows in cut(self.model, x, True)]
        if len(parts) > 1 or len(parts[0][0]) > len(self):
            gradient, logits, values = (torch.cat(column)[: len(self)] for column in zip(*parts, strict=True))
        else:
            gradient, logits, values = parts[0]
        require_numbers(self.model, logits, self.draws)
        return gradient, logits, values

    def first_slope(self, x: Tensor, climbing: Climbing = "losses") -> tuple[Tensor, Tensor, Tensor]:
        """As `slope`, and raises where the gradient is no number: its sign would be zero, and the attack idle."""
        gradient, logits, values = self.slope(x, climbing)
        require_numbers(self.model, gradient, self.draws)
        return gradient, logits, values

    def start(self, purpose: str) -> Tensor:
        """A uniform draw from the ball (Xu et al., Eq. 1), in L2 from its surface; the same for every ε but for its
        scale."""
        shape = tuple(self.images.shape[1:])
        if isinstance(self.ball, Ball):
            unit = torch.from_numpy(self.draws.uniform(purpose, shape)).to(self.images.device)
        else:
            draws = [self.draws.generator(row, purpose) for row in range(len(self))]
            drawn = np.stack([draw.standard_normal(shape, np.float32) for draw in draws])
            unit = self.direction(torch.from_numpy(drawn).to(self.images.device))
        return self.ball.clip(self.images + self.eps * unit)

    def direction(self, gradient: Tensor) -> Tensor:
        """The steepest way up: the sign of a gradient, or in L2 the gradient at length one."""
        return gradient.sign() if isinstance(self.ball, Ball) else gradient / lengths(gradient)


def pose(settings: ImageAttack, model: ImageModel, images: Tensor, targets: Tensor, eps: float, draws: Draws) -> Batch:
    """The batch that an attack of these settings works on; the model is asked once about the clean images."""
    images, targets = images.to(model.device), targets.to(model.device)
    clean = ask(model, images)
    require_numbers(model, clean, draws)
    criterion = criterion_for(settings, clean, targets, multilabel=model.multilabel, softmaxed=model.softmaxed)
    return Batch(model, images, ball_in(settings.norm, images, eps), criterion, criterion.harm(clean), eps, draws)


def in_turn(batch: Batch, attempts: int, attempt: Callable[[Batch, Tensor, int], Ledger]) -> Ledger:
    """Several attempts, each on the rows that withstood those before it."""
    ledger = attempt(batch, torch.arange(len(batch), device=batch.images.device), 0)
    for turn in range(1, attempts):
        rows = ledger.open()
        if len(rows) == 0:
            break
        ledger.merge(rows, attempt(batch.of(rows), rows, turn))
    return ledger


def require_numbers(model: ImageModel, values: Tensor, draws: Draws) -> None:
    """Raises where what a model returned for a sample is no finite number."""
    finite = torch.isfinite(values)
    if not finite.all():
        row = int((~finite).flatten(1).any(dim=1).nonzero()[0])
        raise InputError(
            f"The subject {model.name} returned something that is no finite number for the sample {draws.ids[row]!r}, "
            "or a gradient that is none, so it cannot be attacked: look for divisions by zero and overflows in it."
        )


def ask(model: ImageModel, x: Tensor) -> Tensor:
    """The logits of images [n, k], asked in blocks that give the bits of the model's one size."""
    with torch.no_grad():
        answers = [model.logits(x[rows]) for rows in cut(model, x, False)]
    return answers[0][: len(x)] if len(answers) == 1 else torch.cat(answers)[: len(x)]


def blocks(n: int, size: int, device: torch.device | str = "cpu", *, last: int | None = None) -> list[Rows]:
    """The rows of n samples in blocks of one size; the last row fills the last block up, or up to `last` rows.

    >>> [rows.tolist() if isinstance(rows, torch.Tensor) else rows for rows in blocks(3, 2)]
    [slice(0, 2, None), [2, 2]]
    """
    whole: list[Rows] = [slice(start, start + size) for start in range(0, n - size + 1, size)]
    rest = n % size
    filled = torch.arange(n - rest, n - rest + (last or size), device=device).clamp(max=n - 1)
    return whole + ([filled] if rest else [])


_SMALL_BLOCK = 16
"""A small block has a multiple of so many rows: fewer get other bits from some networks, and leave a vector register
half full."""
_WORTH_A_TRIAL = 8
"""Once a rest was filled up to a whole block so often, trying a small one costs less than it may save."""


def cut(model: ImageModel, images: Tensor, with_gradient: bool) -> list[Rows]:
    """The images in blocks of the model's size; what is left over in a small one, where that gives the same bits, of
    gradients, too, where the model is asked for them.

    Kernels are chosen by the number of images. On a processor the choice was the same from 16 images on in every
    network of ours, with AVX2 and with AVX-512; it is tried for the network at hand before it is relied on.
    """
    rest = len(images) % model.block
    few = -(-rest // _SMALL_BLOCK) * _SMALL_BLOCK
    small = 0 < few < model.block and _has_same_bits(model, few, with_gradient, images.shape[1:])
    return blocks(len(images), model.block, images.device, last=few if small else None)


def _has_same_bits(model: ImageModel, few: int, with_gradient: bool, shape: Sequence[int]) -> bool:
    """Whether so few images of a shape get the answers that they get in a whole block, bit for bit."""
    if model.device != "cpu" or next(model.network.parameters(), None) is None:
        return False  # one without weights is asked elsewhere, where a question may cost
    key = (few, with_gradient, *shape)
    if key not in model.same_bits:
        model.filled_up[key] += 1
        if model.filled_up[key] < _WORTH_A_TRIAL:
            return False
        images = torch.rand((model.block, *shape), generator=torch.Generator().manual_seed(0))
        pairs = zip(_answers(model, images, with_gradient), _answers(model, images[:few], with_gradient), strict=True)
        model.same_bits[key] = all(torch.equal(whole[:few], part) for whole, part in pairs)
    return model.same_bits[key]


def _answers(model: ImageModel, images: Tensor, with_gradient: bool) -> tuple[Tensor, ...]:
    """The logits, and the gradient where it is asked for: not every network has one."""
    x = images.detach().requires_grad_(with_gradient)
    with torch.set_grad_enabled(with_gradient):
        logits = model.logits(x)
        return logits.detach(), *(torch.autograd.grad(logits.logsumexp(dim=1).sum(), x) if with_gradient else ())


def _slope(model: ImageModel, x: Tensor, criterion: Criterion, climbing: Climbing) -> tuple[Tensor, Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    with torch.enable_grad():
        logits = model.logits(x)
        values: Tensor = getattr(criterion, climbing)(logits)
        (gradient,) = torch.autograd.grad(values.sum(), x)
    return gradient, logits.detach(), values.detach()


class Ledger:
    """The book of an attack.

    Of a sample that could still be harmed the image that counts is the one that harmed most, and the latest of several:
    with one class per sample the last image if that is a success, else the last success, else the last image; with
    several labels an image with the most of them wrong. Of a sample that was lost before the attack began it is the
    last image, whatever the subject says of it, and never the clean one: so whatever is measured over all samples
    (AUC, fooling rate) is of attacked images. With `last` that holds for all samples. A sample that truly is what an
    attack aims at is left alone. An attack that stops early closes a sample when nothing is left to be done, so it has
    fallen in the one way exactly when it has in the other.
    """

    def __init__(self, batch: Batch, *, steps: int, last: bool = False) -> None:
        n, device = len(batch), batch.images.device
        self.reached = batch.clean_harm >= batch.criterion.enough
        self.images = batch.images.clone()  # where the latest image does not count: the one that does
        self.steps = torch.full((n,), steps, dtype=torch.int32, device=device)
        self.steps[self.reached] = 0
        self.queries = torch.ones(n, dtype=torch.int32, device=device)
        self.fell_to: list[str | None] | None = None
        """Of several attacks in turn, the one that each sample fell to."""
        self._enough, self._most, self._last, self._total = batch.criterion.enough, batch.criterion.most, last, steps
        self._done = batch.clean_harm >= self._most
        self._follows = self._done | last  # whose last image counts
        self._harm = torch.full_like(batch.clean_harm, -1)  # of the image that counts
        self._latest, self._counts = batch.images, torch.ones_like(self.reached)
        self._latest_reached = self.reached

    @property
    def rows(self) -> Tensor:
        """All rows."""
        return torch.arange(len(self._done), device=self._done.device)

    def open(self) -> Tensor:
        """The rows of which something is left to be done."""
        return (~self._done).nonzero().flatten()

    def harmable(self) -> Tensor:
        """The rows of which something could ever be done, those among them that were lost before."""
        return (self._most > 0).nonzero().flatten()

    def look(self, images: Tensor, harm: Tensor, step: int) -> None:
        """Note where all samples stand, and how much is done there."""
        counts = self._follows | (harm >= self._harm)
        behind = self._counts & ~counts
        if behind.any():
            self.images[behind] = self._latest[behind]
        self._harm = torch.where(counts, harm, self._harm)
        self._latest, self._counts, self._latest_reached = images, counts, harm >= self._enough
        self._done = self._done | (harm >= self._most)
        fell = self._latest_reached & ~self.reached
        self.reached = self.reached | fell
        self.steps.masked_fill_(fell, step)
        self.queries += 1

    def close(self, rows: Tensor, images: Tensor, harm: Tensor, step: int) -> Tensor:
        """Note where some rows stand and close those of which nothing is left to be done.

        Gives those that stay open, as positions among the rows.
        """
        self.queries[rows] += 1
        fell = rows[(harm >= self._enough[rows]) & ~self.reached[rows]]
        self.reached[fell] = True
        self.steps[fell] = step
        done = harm >= self._most[rows]
        closed = rows[done]
        self.images[closed], self._harm[closed], self._done[closed] = images[done], harm[done], True
        return (~done).nonzero().flatten()

    def leave(self, rows: Tensor, images: Tensor, harm: Tensor) -> None:
        """The images of samples that are open to the end, and how much is done there."""
        self.images[rows], self._harm[rows] = images, harm
        self.reached[rows] = harm >= self._enough[rows]
        self.steps[rows[~self.reached[rows]]] = self._total

    def settle(self) -> None:
        """The images that count, once all samples have been looked at for the last time."""
        if self._last:
            self.reached = self._latest_reached
            self.steps = torch.full_like(self.steps, self._total)
        latest = self._counts & (self._most > 0)
        self.images[latest] = self._latest[latest]

    def merge(self, rows: Tensor, other: Ledger) -> None:
        """Add what a further attempt on some open rows has come to; an image of it counts where it harmed more."""
        self.queries[rows] += other.queries - 1
        more = other._harm > self._harm[rows]
        better = rows[more]
        self.images[better], self._harm[better] = other.images[more], other._harm[more]
        self._done[rows] |= other._done
        withstood = ~self.reached[rows]
        self.steps[rows[withstood]] += other.steps[withstood]
        self.reached[rows] |= other.reached

    def result(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Per sample the image, the steps, the queries, and whether the goal was reached."""
        return self.images, self.steps, self.queries, self.reached


def perturbed(perturb: Perturb, batch: Batch) -> Ledger:
    """What a trained generator makes of the images, in one go: that is what counts, success or not."""
    ledger = batch.ledger(steps=1, last=True)
    x = batch.ball.clip(perturb(batch.images, batch.eps))
    ledger.look(x, batch.criterion.harm(batch.ask(x)), 1)
    ledger.settle()
    return ledger
