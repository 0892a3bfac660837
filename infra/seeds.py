"""One random generator per (run seed, stage, sample): the same draws in whatever process, order or partition."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Seeds:
    """The random draws of one stage of a run.

    >>> seeds = Seeds(run_seed=0, stage="prune")
    >>> seeds.generator("patient-7").random() == Seeds(0, "prune").generator("patient-7").random()
    True
    >>> seeds.generator("patient-7").random() == seeds.generator("patient-8").random()
    False
    """

    run_seed: int
    stage: str

    def generator(self, sample_id: str | None = None) -> np.random.Generator:
        """A fresh generator for one sample, or for the stage as a whole; asked twice, it draws the same again."""
        return np.random.Generator(np.random.Philox(key=int.from_bytes(self._hash(sample_id, 16), "little")))

    def integer(self, sample_id: str | None = None, *, bits: int = 32) -> int:
        """A seed for libraries that want a number: scikit-learn takes 32 bits, Torch up to 63."""
        return int.from_bytes(self._hash(sample_id, 8), "little") >> (64 - bits)

    def _hash(self, sample_id: str | None, size: int) -> bytes:
        """BLAKE2b of the three parts, spelt so that no two triples look alike."""
        spelt = json.dumps([self.run_seed, self.stage, sample_id])
        return hashlib.blake2b(spelt.encode(), digest_size=size, person=b"assay.seeds").digest()
