"""The nearest words of a vocabulary by cosine: what an attack may put in a word's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.language.embeddings.provider import Provider, Vectors
from assay.tasks.language.relatedness import cosines


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
            neighbours.append([one for one in near if one.word != word and one.cosine >= least][:count])
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
