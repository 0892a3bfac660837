"""What an attack is after: which loss it climbs, and when it has reached its goal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from assay.infra.errors import InputError
from assay.tasks.attacks.settings import ImageAttack

NO_ZERO = 1e-12
"""Keeps a ratio of logits finite where all logits are equal."""


@dataclass(frozen=True)
class OneLabel:
    """One class per sample: any class but the truth, or the class in `aim`; what truly is of that is left alone."""

    truth: Tensor  # int64 [n]
    aim: Tensor | None

    @cached_property
    def enough(self) -> Tensor:
        """From one wrong answer on the goal is reached."""
        return torch.ones_like(self.truth, dtype=torch.int32)

    @cached_property
    def most(self) -> Tensor:
        """More than one answer there is not; of a sample that is of the class aimed at, none is wrong."""
        return self.enough if self.aim is None else (self.aim != self.truth).int()

    def losses(self, logits: Tensor) -> Tensor:
        """Cross-entropy with the truth (Xu et al., Eq. 2), or minus that with the aim."""
        if self.aim is None:
            return functional.cross_entropy(logits, self.truth, reduction="none")
        return -functional.cross_entropy(logits, self.aim, reduction="none")

    def margins(self, logits: Tensor) -> Tensor:
        """The best wrong logit minus that of the truth, or the aim's minus the best other one."""
        chosen = self.truth if self.aim is None else self.aim
        own = logits.gather(1, chosen[:, None]).squeeze(1)
        others = logits.scatter(1, chosen[:, None], -torch.inf).amax(dim=1)
        return others - own if self.aim is None else own - others

    def ratios(self, logits: Tensor) -> Tensor:
        """The difference of logits ratio (Croce and Hein 2020, Eq. 5 and 6) where there are classes enough for it.

        With two classes there is no third logit and it is the plain margin; aimed, with three, the best minus the third
        stands below.
        """
        classes = logits.shape[1]
        if classes < 3:
            return self.margins(logits)
        ordered = logits.topk(min(4, classes), dim=1).values
        if self.aim is None:
            return self.margins(logits) / (ordered[:, 0] - ordered[:, 2] + NO_ZERO)
        low = ordered[:, 2] if classes == 3 else (ordered[:, 2] + ordered[:, 3]) / 2
        towards = logits.gather(1, self.aim[:, None]) - logits.gather(1, self.truth[:, None])
        return towards.squeeze(1) / (ordered[:, 0] - low + NO_ZERO)

    def harm(self, logits: Tensor) -> Tensor:
        """1 where the predicted class is wrong, or (wrongly) the one aimed at."""
        predicted = logits.argmax(dim=1)
        if self.aim is None:
            return (predicted != self.truth).int()
        return ((predicted == self.aim) & (self.aim != self.truth)).int()

    def of(self, rows: Tensor | slice) -> Self:
        """The criterion for some of the samples."""
        return replace(self, truth=self.truth[rows], aim=None if self.aim is None else self.aim[rows])


@dataclass(frozen=True)
class Rival(OneLabel):
    """Towards one wrong class, the aim: that is what is climbed (its ratio is the targeted DLR), but any wrong answer
    is a success."""

    aim: Tensor  # int64 [n]

    @cached_property
    def most(self) -> Tensor:
        """More than one answer there is not."""
        return self.enough

    def margins(self, logits: Tensor) -> Tensor:
        """z_t − z_y: by how much the rival is above the truth."""
        return (logits.gather(1, self.aim[:, None]) - logits.gather(1, self.truth[:, None])).squeeze(1)

    def harm(self, logits: Tensor) -> Tensor:
        """1 where the predicted class is wrong."""
        return (logits.argmax(dim=1) != self.truth).int()


@dataclass(frozen=True)
class ManyLabels:
    """Several labels per sample: as many known labels wrong as can be, or all labels as in `aim`.

    The goal is reached where more labels are wrong than of the clean image, or where all are as aimed at (of a sample
    that truly bears just those labels, never). But no attack stops there: rates are per label, so every further label
    counts, and all attacks climb the same binary cross-entropy, with gradients or without. `threshold` is what a logit
    of probability one half is: 0, or 0.5 where the network gives probabilities.
    """

    truth: Tensor  # float [n, k]
    known: Tensor  # float [n, k], 0 where the truth is unknown
    predicted: Tensor  # bool [n, k], of the clean image
    aim: Tensor | None  # bool [n, k]
    threshold: float = 0.0

    @cached_property
    def enough(self) -> Tensor:
        """One label more than are wrong on the clean image; or all labels, and one more where the aim is true."""
        if self.aim is None:
            return self._wrong(self.predicted) + 1
        return self.aim.shape[1] + self._nothing_to_do.int()

    @cached_property
    def most(self) -> Tensor:
        """All labels that are known, or all as aimed at."""
        if self.aim is None:
            return self.known.sum(dim=1).int()
        return self.aim.shape[1] * (~self._nothing_to_do).int()

    def losses(self, logits: Tensor) -> Tensor:
        """Binary cross-entropy over the known labels with the truth, or minus that over all labels with the aim."""
        if self.aim is None:
            each = functional.binary_cross_entropy_with_logits(logits, self.truth, weight=self.known, reduction="none")
            return each.sum(dim=1)
        aim = self.aim.to(logits.dtype)
        return -functional.binary_cross_entropy_with_logits(logits, aim, reduction="none").sum(dim=1)

    def margins(self, logits: Tensor) -> Tensor:
        """The losses: the margin of one label would leave all others alone, and rates are over all of them."""
        return self.losses(logits)

    def ratios(self, logits: Tensor) -> Tensor:
        """The mean over the labels of how far each is across its threshold: no single label hides the others."""
        wanted = self.truth == 0 if self.aim is None else self.aim
        across = torch.where(wanted, logits - self.threshold, self.threshold - logits)
        if self.aim is None:
            return (across * self.known).sum(dim=1) / self.known.sum(dim=1)
        return across.mean(dim=1)

    def harm(self, logits: Tensor) -> Tensor:
        """How many known labels are wrong, or how many labels are as aimed at."""
        now = logits >= self.threshold
        return self._wrong(now) if self.aim is None else (now == self.aim).sum(dim=1).int()

    def of(self, rows: Tensor | slice) -> Self:
        """The criterion for some of the samples."""
        aim = None if self.aim is None else self.aim[rows]
        return replace(self, truth=self.truth[rows], known=self.known[rows], predicted=self.predicted[rows], aim=aim)

    @cached_property
    def _nothing_to_do(self) -> Tensor:
        """Where the labels aimed at are the true ones, bool [n]."""
        return ((self.aim == (self.truth > 0)) & (self.known > 0)).all(dim=1)

    def _wrong(self, predicted: Tensor) -> Tensor:
        return ((predicted != (self.truth > 0)) & (self.known > 0)).sum(dim=1).int()


Criterion = OneLabel | ManyLabels
"""The goal of an attack for a batch of samples. Everything is per sample, [n], and more is nearer to the goal: from the
harm `enough` on it is reached, and after `most` nothing is left to be done."""


def criterion_for(
    settings: ImageAttack, clean_logits: Tensor, targets: Tensor, *, multilabel: bool, softmaxed: bool = False
) -> Criterion:
    """The criterion of an attack, given what the subject says of the clean images and what is true of them.

    `targets` are class codes [n], or labels [n, k] of 1, 0 and -1 (unknown). Several labels: `targeted` at a class
    means that label alone; without a class, and for `least-likely`, every label is to flip (as in the code of Xu et
    al.). A sample of which no label is known is attacked away from what the subject said.
    """
    classes = clean_logits.shape[1]
    if settings.target is not None and settings.target >= classes:
        raise InputError(
            f"The attack {settings.called} aims at class {settings.target}, and the subject has the classes 0 to "
            f"{classes - 1}: set `target` to one of them."
        )
    if not multilabel:
        return OneLabel(targets.long(), _aimed_class(settings, clean_logits, targets))
    threshold = 0.5 if softmaxed else 0.0
    predicted = clean_logits >= threshold
    known = targets >= 0
    nothing = ~known.any(dim=1, keepdim=True)
    truth = torch.where(nothing, predicted, targets > 0)
    dtype = clean_logits.dtype
    return ManyLabels(
        truth.to(dtype), (known | nothing).to(dtype), predicted, _aimed_labels(settings, predicted), threshold
    )


def _aimed_class(settings: ImageAttack, clean_logits: Tensor, targets: Tensor) -> Tensor | None:
    if settings.goal == "untargeted":
        return None
    if settings.goal == "least-likely":
        return clean_logits.argmin(dim=1)
    if settings.target is None:
        raise InputError(
            f"The attack {settings.called} is targeted and names no class: add `target: 0`, or another class code."
        )
    return torch.full_like(targets, settings.target, dtype=torch.int64)


def _aimed_labels(settings: ImageAttack, predicted: Tensor) -> Tensor | None:
    if settings.goal == "untargeted":
        return None
    if settings.target is None:
        return ~predicted
    alone = torch.zeros_like(predicted)
    alone[:, settings.target] = True
    return alone
