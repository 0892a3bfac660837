"""Scorers as an audit sees them: pairs of sentences in, how similar they are out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Pair = tuple[str, str]


class Scorer(Protocol):
    """Any scorer of sentence pairs."""

    def score(self, pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
        """How similar the sentences of each pair are, [n]; a pair's score does not depend on the others."""
        ...

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs are longer than the scorer reads."""
        ...
