"""What becomes of every sample of a batch while it is attacked: when it fell, and with which image."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.tasks.attacks.batch import Batch


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
        self._enough, self._most, self._last, self._total = batch.criterion.enough, batch.criterion.most, last, steps
        self._done = batch.clean_harm >= self._most
        self._follows = self._done | last  # whose last image counts
        self._harm = torch.full_like(batch.clean_harm, -1)  # of the image that counts
        self._latest, self._counts = batch.images, torch.ones_like(self.reached)
        self._latest_reached = self.reached

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

    def merge(self, rows: Tensor, other: Ledger, steps_before: int) -> None:
        """Add what a further attempt on some rows has come to; an image of it counts where it harmed more."""
        self.queries[rows] += other.queries - 1
        more = other._harm > self._harm[rows]
        better = rows[more]
        self.images[better], self._harm[better] = other.images[more], other._harm[more]
        self._done[rows] |= other._done
        withstood = ~self.reached[rows]
        self.steps[rows[withstood]] = other.steps[withstood] + steps_before
        self.reached[rows] |= other.reached

    def result(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Per sample the image, the steps, the queries, and whether the goal was reached."""
        return self.images, self.steps, self.queries, self.reached
