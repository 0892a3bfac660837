"""The random draws of a few samples: one stream per sample and purpose, the same in whatever batch they are made.

A purpose's draws are the same at every severity, so that severities differ in strength and in nothing else; the three
noises share theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from assay.infra.seeds import Seeds


class Draws:
    """Random numbers for the samples named by `ids`, each from a generator of its own, kept while they are asked for.

    >>> both, alone = Draws(Seeds(0, "corrupt"), ["a", "b"]), Draws(Seeds(0, "corrupt"), ["b"])
    >>> bool((both.normals("snow", (4,))[1] == alone.normals("snow", (4,))[0]).all())
    True
    """

    def __init__(self, seeds: Seeds, ids: Sequence[str], device: str = "cpu") -> None:
        self._seeds, self._ids, self._device = seeds, ids, device
        self._noise: Tensor | None = None

    def normals(self, purpose: str, shape: tuple[int, ...]) -> Tensor:
        """Standard normal draws, float32 [n, *shape]."""
        drawn = [generator.standard_normal(shape, np.float32) for generator in self._generators(purpose)]
        return torch.from_numpy(np.stack(drawn)).to(self._device)

    def noise(self, frames: int, shape: tuple[int, ...]) -> Tensor:
        """Standard normal draws for every frame, float32 [frames, n, *shape], made once for all noises.

        They are many, so Torch makes them, from one seed per sample: twice as fast as NumPy.
        """
        if self._noise is None or self._noise.shape != (frames, len(self._ids), *shape):
            drawn, generator = torch.empty(frames, len(self._ids), *shape), torch.Generator()
            for row, sample in enumerate(self._ids):
                generator.manual_seed(self._seeds.integer(f"noise/{sample}", bits=63))
                for frame in range(frames):
                    drawn[frame, row].normal_(generator=generator)
            self._noise = drawn.to(self._device)
        return self._noise

    def angles(self, purpose: str, low: float, high: float) -> list[float]:
        """One angle per sample in degrees, uniform between `low` and `high`."""
        return [generator.uniform(low, high) for generator in self._generators(purpose)]

    def _generators(self, purpose: str) -> list[np.random.Generator]:
        return [self._seeds.generator(f"{purpose}/{sample}") for sample in self._ids]
