"""A training that is small: images whose class is the third that is bright, and checkpoints in memory."""

from __future__ import annotations

import numpy as np

from assay.tasks.subjects.images.dataset import LabelledImages


class Memory:
    """Checkpoints in memory that can end a training after some step, once."""

    def __init__(self, end_after: int = 0, by: type[BaseException] = KeyboardInterrupt) -> None:
        self.saved: list[tuple[int, dict[str, bytes]]] = []
        self._end_after, self._by = end_after, by

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        """What was saved last."""
        return self.saved[-1] if self.saved else None

    def save(self, step: int, total: int, files: dict[str, bytes]) -> None:
        """Keep it, and end the training where that was asked for."""
        self.saved.append((step, dict(files)))
        if step == self._end_after:
            self._end_after = 0
            raise self._by


def bright_thirds(
    n: int = 90, classes: int = 3, *, channels: int = 1, size: int = 16, labels: bool = False
) -> LabelledImages:
    """Images whose class is the third that is bright."""
    generator, third = np.random.default_rng(0), size // 3
    targets = generator.integers(0, classes, n)
    images = generator.integers(0, 100, (n, channels, size, size)).astype(np.uint8)
    for row, code in enumerate(targets):
        images[row, :, third * code : third * (code + 1)] += 120
    said = (targets[:, None] == np.arange(classes)).astype(np.int64) if labels else targets
    return LabelledImages(tuple(f"s{row}" for row in range(n)), images, said)
