"""Word vectors as a table in memory: what counted and stored providers are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.tasks.language.embeddings.provider import Vectors


class TableProvider:
    """A provider whose vectors are rows of a matrix.

    >>> table = TableProvider("tiny", ["good"], np.array([[1.0, 2.0]], dtype=np.float32))
    >>> table.vectors(["bad", "good"]).tolist()
    [[nan, nan], [1.0, 2.0]]
    """

    def __init__(self, name: str, words: Sequence[str], vectors: Vectors) -> None:
        """A row of `vectors` per word; a row of NaN is a word without a vector."""
        if len(words) != len(vectors):
            raise ValueError(f"{len(words)} words and {len(vectors)} vectors")
        self._name = name
        self._rows = {word: row for row, word in enumerate(words)}
        unknown = np.full((1, vectors.shape[1]), np.nan, dtype=np.float32)
        self._vectors = np.concatenate([np.asarray(vectors, dtype=np.float32), unknown])

    @property
    def name(self) -> str:
        """What findings and artifacts call it."""
        return self._name

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word, [n, d]; NaN where it is not in the table."""
        last = len(self._rows)
        return self._vectors[[self._rows.get(word, last) for word in words]]
