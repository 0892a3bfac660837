"""What every source of word vectors can do; vectors as a table in memory, and as an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import WordVectors

Vectors = npt.NDArray[np.float32]  # [n, d]


class Provider(Protocol):
    """A source of word vectors: one voter."""

    @property
    def name(self) -> str:
        """What findings and artifacts call it."""

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word, [n, d]; a row of NaN where the word is unknown. It depends on the word alone."""


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
        self.name = name
        self._rows = {word: row for row, word in enumerate(words)}
        unknown = np.full((1, vectors.shape[1]), np.nan, dtype=np.float32)
        self._vectors = np.concatenate([np.asarray(vectors, dtype=np.float32), unknown])

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word, [n, d]; NaN where it is not in the table."""
        last = len(self._rows)
        return self._vectors[[self._rows.get(word, last) for word in words]]


def word_vectors(provider: Provider, words: Sequence[str]) -> pa.Table:
    """The WordVectors of a provider: one row per distinct word, in alphabetical order; null where it is unknown."""
    distinct = sorted(set(words))
    vectors = np.asarray(provider.vectors(distinct), dtype=np.float32)
    unknown = ~np.isfinite(vectors).all(axis=1)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]).cast(pa.list_(pa.float32()))
    column = pa.compute.if_else(pa.array(unknown), pa.scalar(None, lists.type), lists) if unknown.any() else lists
    return pa.table([[provider.name] * len(distinct), distinct, column], schema=WordVectors.schema)
