"""What a classifier of texts practises: texts as pieces, and the class of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from assay.tasks.subjects.token_networks.blocks import IntArray
from assay.tasks.subjects.token_networks.epochs import Answer, padded, presence


@dataclass(frozen=True)
class TextExercise:
    """The texts as token ids, and their classes; `focal` weighs what is known well already down."""

    network: Any
    ids: Sequence[IntArray]
    target: IntArray
    pad: int
    focal: bool = False

    @property
    def lengths(self) -> IntArray:
        """The pieces of every text."""
        return np.array([len(one) for one in self.ids], dtype=np.int64)

    def answer(self, rows: IntArray, device: str) -> Answer:
        """Cross-entropy, or the focal loss, over these texts, and how many are classified rightly."""
        batch, target = [self.ids[row] for row in rows], torch.from_numpy(self.target[rows]).to(device)
        pieces, mask = padded(batch, self.pad, device), presence(batch, device)
        logits = self.network(input_ids=pieces, attention_mask=mask).logits
        losses = torch.nn.functional.cross_entropy(logits, target, reduction="none")
        if self.focal:
            losses = losses * (1 - torch.exp(-losses)) ** 2
        return Answer(losses.mean(), int((logits.argmax(dim=1) == target).sum()), len(rows))
