"""What becomes of every sample of a batch while it is attacked: when it fell, and with which image."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.tasks.attacks.batch import Batch


class Ledger:
    """The book of an attack.

    Of every sample the last image counts; where that is no success but an earlier one was, the last success does (the
    clean image among them, where it is wrong already). An attack that stops early closes a sample at its first
    success. So a sample has fallen in the one way exactly when it has in the other.
    """

    def __init__(self, batch: Batch, *, steps: int, last: bool = False) -> None:
        n, device = len(batch), batch.images.device
        self.reached = batch.clean_reached.clone()
        self.images = batch.images.clone()  # of a sample that is not closed: its latest success that is behind it
        self.steps = torch.full((n,), steps, dtype=torch.int32, device=device)
        self.steps[self.reached] = 0
        self.queries = torch.ones(n, dtype=torch.int32, device=device)
        self._last, self._total = last, steps
        self._latest, self._latest_reached = batch.images, batch.clean_reached

    def unreached(self) -> Tensor:
        """The rows that have not fallen."""
        return (~self.reached).nonzero().flatten()

    def look(self, images: Tensor, reached: Tensor, step: int) -> None:
        """Note where all samples stand, and whether they have fallen there."""
        behind = self._latest_reached & ~reached
        if behind.any():
            self.images[behind] = self._latest[behind]
        self._latest, self._latest_reached = images, reached
        self._note(reached & ~self.reached, step)
        self.queries += 1

    def close(self, rows: Tensor, images: Tensor, reached: Tensor, step: int) -> Tensor:
        """Close those of the rows that have fallen; which of them stay open, as positions among the rows."""
        self.queries[rows] += 1
        fallen = rows[reached]
        if len(fallen):
            self.images[fallen] = images[reached]
            self.reached[fallen] = True
            self.steps[fallen] = step
        return (~reached).nonzero().flatten()

    def leave(self, rows: Tensor, images: Tensor) -> None:
        """The images of samples that withstood to the end."""
        self.images[rows] = images

    def settle(self) -> None:
        """The images that count, once all samples have been looked at for the last time."""
        counts = self._latest_reached | ~self.reached
        if self._last:
            self.reached = self._latest_reached
            self.steps = torch.full_like(self.steps, self._total)
            counts = torch.ones_like(counts)
        self.images[counts] = self._latest[counts]

    def merge(self, rows: Tensor, other: Ledger, steps_before: int) -> None:
        """Add what a further attempt on some rows has come to; where it failed too, the first attempt's image stays."""
        self.queries[rows] += other.queries - 1
        fallen = rows[other.reached]
        self.images[fallen] = other.images[other.reached]
        self.reached[fallen] = True
        self.steps[rows] = other.steps + steps_before

    def result(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Per sample the image, the steps, the queries, and whether the goal was reached."""
        return self.images, self.steps, self.queries, self.reached

    def _note(self, fell: Tensor, step: int) -> None:
        self.reached |= fell
        self.steps.masked_fill_(fell, step)
