"""A batch under attack: the model, the images with their ε ball, and what the attack is after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import torch
from torch import Tensor

from assay.infra.errors import InputError
from assay.tasks.attacks.ball import Ball, ball_around
from assay.tasks.attacks.criteria import Criterion, criterion_for
from assay.tasks.attacks.draws import Draws
from assay.tasks.attacks.settings import ImageAttack

Climbing = Literal["losses", "margins", "ratios"]
"""What of the criterion an attack climbs."""

Rows: TypeAlias = "Tensor | slice"


class Attackable(Protocol):
    """What an attack needs of a model: logits of pixels in [0, 1], differentiable, in blocks of one size."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def classes(self) -> int:
        """How many classes, or labels, there are."""

    @property
    def multilabel(self) -> bool:
        """Whether an image may bear several labels."""

    @property
    def device(self) -> str:
        """Where the model lives."""

    @property
    def block(self) -> int:
        """How many images it sees at a time: always as many, so that no image's result depends on the others."""

    @property
    def softmaxed(self) -> bool:
        """Whether `logits` are probabilities already."""

    def logits(self, images: Tensor) -> Tensor:
        """What the model says [n, k] of pixels [n, c, h, w]."""


@dataclass(frozen=True)
class Batch:
    """Samples under attack, and how the model answers for them."""

    model: Attackable
    images: Tensor  # float32 [n, c, h, w]
    ball: Ball
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

    def ask(self, x: Tensor) -> Tensor:
        """The logits of images, [n, k]."""
        return ask(self.model, x)

    def slope(self, x: Tensor, climbing: Climbing = "losses") -> tuple[Tensor, Tensor, Tensor]:
        """The gradient at the images [n, c, h, w], their logits [n, k], and the values [n] of what is climbed."""
        cut = blocks(len(self), self.model.block, x.device)
        parts = [_slope(self.model, x[rows], self.criterion.of(rows), climbing) for rows in cut]
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
        """A uniform draw from the ball (Xu et al., Eq. 1), the same for every ε but for its scale."""
        unit = torch.from_numpy(self.draws.uniform(purpose, tuple(self.images.shape[1:]))).to(self.images.device)
        return self.ball.clip(self.images + self.eps * unit)


def pose(settings: ImageAttack, model: Attackable, images: Tensor, targets: Tensor, eps: float, draws: Draws) -> Batch:
    """The batch that an attack of these settings works on; the model is asked once about the clean images."""
    images, targets = images.to(model.device), targets.to(model.device)
    clean = ask(model, images)
    if clean.shape != (len(images), model.classes):
        raise InputError(
            f"The subject {model.name} returned {list(clean.shape[1:])} values per image, expected one for each of "
            f"{model.classes} classes."
        )
    require_numbers(model, clean, draws)
    criterion = criterion_for(settings, clean, targets, multilabel=model.multilabel, softmaxed=model.softmaxed)
    return Batch(model, images, ball_around(images, eps), criterion, criterion.harm(clean), eps, draws)


def require_numbers(model: Attackable, values: Tensor, draws: Draws) -> None:
    """Raises where what a model returned for a sample is no finite number."""
    finite = torch.isfinite(values)
    if not finite.all():
        row = int((~finite).flatten(1).any(dim=1).nonzero()[0])
        raise InputError(
            f"The subject {model.name} returned something that is no finite number for the sample {draws.ids[row]!r}, "
            "or a gradient that is none, so it cannot be attacked: look for divisions by zero and overflows in it."
        )


def ask(model: Attackable, x: Tensor) -> Tensor:
    """The logits of images [n, k], asked in blocks of the model's one size."""
    with torch.no_grad():
        answers = [model.logits(x[rows]) for rows in blocks(len(x), model.block, x.device)]
    return answers[0][: len(x)] if len(answers) == 1 else torch.cat(answers)[: len(x)]


def blocks(n: int, size: int, device: torch.device | str = "cpu") -> list[Rows]:
    """The rows of n samples in blocks of one size; the last row fills the last block up.

    >>> [rows.tolist() if isinstance(rows, torch.Tensor) else rows for rows in blocks(3, 2)]
    [slice(0, 2, None), [2, 2]]
    """
    whole: list[Rows] = [slice(start, start + size) for start in range(0, n - size + 1, size)]
    rest = n % size
    return whole + ([torch.arange(n - rest, n - rest + size, device=device).clamp(max=n - 1)] if rest else [])


def _slope(model: Attackable, x: Tensor, criterion: Criterion, climbing: Climbing) -> tuple[Tensor, Tensor, Tensor]:
    x = x.detach().requires_grad_(True)
    with torch.enable_grad():
        logits = model.logits(x)
        values: Tensor = getattr(criterion, climbing)(logits)
        (gradient,) = torch.autograd.grad(values.sum(), x)
    return gradient, logits.detach(), values.detach()
