"""The vectors that each provider gives the words of an audit: what the trust oracle and attacks look words up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from assay.tasks.language.relatedness import Cosines, cosines, mean_vector

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.tasks.language.embeddings.provider import Vectors


@dataclass(frozen=True)
class Space:
    """One provider's vectors, and the cosine from which on it calls two words related (θ_relate)."""

    provider: str
    vectors: Vectors  # [n, d]; NaN where the provider does not know the word
    rows: Mapping[str, int]
    theta: float

    def of(self, words: Sequence[str]) -> Vectors:
        """The vectors of these words, [m, d]; a word that was never looked up is unknown."""
        places = np.array([self.rows.get(word, -1) for word in words], dtype=np.int64)
        vectors = np.full((len(words), self.vectors.shape[1]), np.nan, dtype=np.float32)
        vectors[places >= 0] = self.vectors[places[places >= 0]]
        return vectors

    def mean(self, words: Sequence[str]) -> Vectors:
        """The mean vector of words, such as those of a class name, [d]."""
        return mean_vector(self.of(words))

    def cosines(self, these: Sequence[str], those: Sequence[str]) -> Cosines:
        """The cosine of each of these with each of those words, [n, m]; NaN where either is unknown."""
        return cosines(self.of(these), self.of(those))


def spaces_from(vectors: pa.Table, thetas: Mapping[str, float]) -> list[Space]:
    """The spaces in a table of `WordVectors`, one per provider that has a θ_relate, in their order."""
    return [_space(vectors.filter(pc.equal(vectors["provider"], name)), name, theta) for name, theta in thetas.items()]


def _space(table: pa.Table, provider: str, theta: float) -> Space:
    column = table["vector"].combine_chunks()
    known = column.is_valid().to_numpy(zero_copy_only=False)
    flat = column.drop_null().flatten().to_numpy()
    matrix = np.full((len(known), len(flat) // max(1, int(known.sum())) or 1), np.nan, dtype=np.float32)
    matrix[known] = flat.reshape(-1, matrix.shape[1]) if known.any() else 0
    return Space(provider, matrix, {word: row for row, word in enumerate(table["word"].to_pylist())}, theta)
