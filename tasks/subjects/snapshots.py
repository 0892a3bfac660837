"""Earlier selves of a subject: the weights that it had after some epochs of its training, beside those it ended with.

What a network says of a sample while it learns (its *training dynamics*, Swayamdipta et al. 2020) tells how early it
knew the answer that it gives in the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.tasks.subjects.learning_state import NETWORK
from assay.tasks.subjects.token_networks.cards import CARD

if TYPE_CHECKING:
    from assay.tasks.subjects.learning_state import Checkpoints
    from assay.tasks.subjects.settings import Training

WEIGHTS = "model.safetensors"
_EPOCH = "epoch-"


def kept_epochs(options: Training) -> frozenset[int]:
    """The epochs after which weights are kept: evenly spaced, the last one (the subject itself) not among them.

    >>> from assay.tasks.subjects.settings import Training
    >>> sorted(kept_epochs(Training(epochs=12, snapshots=3)))
    [3, 6, 9]
    >>> sorted(kept_epochs(Training(epochs=2, snapshots=5)))
    [1]
    """
    parts = options.snapshots + 1
    return frozenset(-(-options.epochs * part // parts) for part in range(1, parts)) - {options.epochs}


@dataclass
class Snapshots:
    """Checkpoints that keep the weights after some epochs for good, an interruption or not."""

    checkpoints: Checkpoints
    epochs: frozenset[int]
    kept: dict[str, bytes] = field(default_factory=dict)
    """The weights by the name they have among the subject's files."""

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        """The last step that was saved, and its files."""
        checkpoint = self.checkpoints.latest()
        if checkpoint is not None:
            self.kept.update(_epoch_files(checkpoint[1]))
        return checkpoint

    def save(self, step: int, total: int, files: Mapping[str, bytes]) -> None:
        """Keeps the files of a step, and with them the weights kept so far."""
        if step in self.epochs:
            self.kept[f"{_EPOCH}{step:05d}"] = files[NETWORK]
        self.checkpoints.save(step, total, {**files, **self.kept})


def earlier_selves(files: Mapping[str, bytes]) -> list[dict[str, bytes]]:
    """The files that the subject had after each kept epoch, in order; none where none was kept."""
    now = {name: content for name, content in files.items() if name not in _epoch_files(files)}
    return [
        {**now, WEIGHTS: weights, CARD: _card_at(now[CARD], name)}
        for name, weights in sorted(_epoch_files(files).items())
    ]


def _epoch_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name.startswith(_EPOCH)}


def _card_at(card: bytes, epoch: str) -> bytes:
    """The card with a fingerprint of its own, since loaded models are known by it."""
    known = json.loads(card)
    return json.dumps({**known, "fingerprint": f"{known['fingerprint']} {epoch}"}).encode()
