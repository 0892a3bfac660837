"""Class by class: an attack that is run towards each of a sample's likeliest wrong classes, any of which will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.tasks.attacks.batch import Batch
from assay.tasks.attacks.criteria import NO_ZERO
from assay.tasks.attacks.ledger import Ledger


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
