"""Words looked up in the vectors of each provider: their nearest neighbours, and the words that a class is
recognised by (TOKI, Eq. 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from assay.tasks.language.embeddings.provider import Provider, Vectors
from assay.tasks.language.relatedness import Cosines, cosines, mean_vector

if TYPE_CHECKING:
    import pyarrow as pa


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


@dataclass(frozen=True)
class Anchors:
    """What a class is recognised by: the words of its pool, and which of them are keywords."""

    words: tuple[str, ...]
    keyword: npt.NDArray[np.bool_]  # [n]


def anchors_in(keywords: pa.Table, classes: int) -> list[Anchors]:
    """The pool of every class in a table of `Keywords`, and which of its words are keywords."""
    rows = keywords.select(["code", "word", "keyword"]).to_pylist()
    pools: list[dict[str, bool]] = [{} for _ in range(classes)]
    for row in rows:  # every provider has a row for each word, and the decision is the same in all
        pools[row["code"]][row["word"]] = row["keyword"]
    return [
        Anchors(tuple(sorted(pool)), np.array([pool[word] for word in sorted(pool)], dtype=np.bool_)) for pool in pools
    ]


def related_words(words: Sequence[str], anchors: Anchors, spaces: Sequence[Space]) -> list[bool | None]:
    """r(w, c) of Eq. 5: the nearest word of the pool is a keyword (as near as any other: related), by plurality.

    A provider that knows the word, and at least one word of the pool, has a vote; a tied vote is "related", as a tied
    distance is.
    """
    yes, votes = np.zeros(len(words), dtype=np.int64), np.zeros(len(words), dtype=np.int64)
    for space in spaces:
        near = space.cosines(words, anchors.words)
        keywords, others = _nearest(near, anchors.keyword), _nearest(near, ~anchors.keyword)
        votes += np.isfinite(keywords) | np.isfinite(others)
        yes += np.isfinite(keywords) & (keywords >= others)
    return [bool(2 * y >= v) if v else None for y, v in zip(yes.tolist(), votes.tolist(), strict=True)]


def _nearest(near: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The largest cosine with any of the chosen words, [m]; −∞ where there is none."""
    if not chosen.any():
        return np.full(len(near), -np.inf)
    return np.asarray(np.nan_to_num(near[:, chosen], nan=-np.inf).max(axis=1))


@dataclass(frozen=True)
class Neighbour:
    """A word of the vocabulary and its cosine with the word that was asked about."""

    word: str
    cosine: float


class Vocabulary:
    """Words with their vectors that can be asked for the nearest to a word; unknown words are left out."""

    def __init__(self, words: Sequence[str], vectors: Vectors) -> None:
        """The words in alphabetical order, so that the order they come in has no say among equals."""
        table = dict(zip(words, np.asarray(vectors), strict=True))
        self.words = sorted(word for word, vector in table.items() if not np.isnan(vector).any() and vector.any())
        self.vectors: Vectors = np.array([table[word] for word in self.words], dtype=np.float32)

    @classmethod
    def of(cls, provider: Provider, words: Sequence[str]) -> Vocabulary:
        """A vocabulary with a provider's vectors."""
        distinct = sorted(set(words))
        return cls(distinct, provider.vectors(distinct))

    def nearest(self, words: Sequence[str], vectors: Vectors, count: int, least: float = -1.0) -> list[list[Neighbour]]:
        """For each word with its vector the `count` nearest others with a cosine of at least `least`, nearest first.

        Equal cosines are in alphabetical order; a word is no neighbour of itself; an unknown word has none.

        >>> vocabulary = Vocabulary(["good", "great", "bad"], np.array([[1, 0], [1, 0.5], [-1, 0]], dtype=np.float32))
        >>> [near.word for near in vocabulary.nearest(["good"], np.array([[1, 0]], dtype=np.float32), 2)[0]]
        ['great', 'bad']
        """
        if not self.words:
            return [[] for _ in words]
        neighbours = []
        for word, row in zip(words, cosines(vectors, self.vectors), strict=True):
            order = self._best(row, count + 1) if not np.isnan(row).any() else []
            near = [Neighbour(self.words[place], float(row[place])) for place in order]
            neighbours.append(
                [neighbour for neighbour in near if neighbour.word != word and neighbour.cosine >= least][:count]
            )
        return neighbours

    def _best(self, row: np.ndarray[tuple[int, ...], np.dtype[np.float64]], count: int) -> list[int]:
        """The positions of the highest values, the highest first, equal ones in order; nothing else is sorted."""
        if count < len(row):
            worst = np.partition(row, len(row) - count)[len(row) - count]
            places = np.flatnonzero(row >= worst)
        else:
            places = np.arange(len(row))
        chosen: list[int] = places[np.lexsort((places, -row[places]))][:count].tolist()
        return chosen
