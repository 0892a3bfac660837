"""Random draws per sample: what a sample draws depends on its id, not on its neighbours, its batch or its worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.infra.seeds import Seeds


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
        for row in range(len(self.ids)):
            self.generator(row, purpose).random(dtype=np.float32, out=drawn[row])
        return drawn * np.float32(2) - np.float32(1)

    def of(self, rows: Sequence[int]) -> Draws:
        """The draws of some of the samples."""
        return Draws(self.seeds, tuple(self.ids[row] for row in rows))
