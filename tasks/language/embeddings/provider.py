"""What every source of word vectors can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]  # [n, d]


class Provider(Protocol):
    """A source of word vectors: one voter."""

    @property
    def name(self) -> str:
        """What findings and artifacts call it."""
        ...

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word, [n, d]; a row of NaN where the word is unknown. It depends on the word alone."""
        ...
