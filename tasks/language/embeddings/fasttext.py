"""fastText vectors trained on the corpus by gensim: words share what their letter groups have learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from assay.tasks.language.embeddings.corpus import MOST_DISTINCT, sentences_of
from assay.tasks.language.embeddings.provider import Vectors

if TYPE_CHECKING:
    from gensim.models.fasttext import FastTextKeyedVectors

DIMENSIONS = 64
EPOCHS = 30
WORDS_TO_TRAIN = 4_000_000
"""Epochs times words of the corpus: large corpora are seen less often, so that training stays within a minute."""

_GROUPS = 100_000
_LEAST_SEEN = 0.5


def fasttext_provider(texts: Sequence[str], seed: int = 0, name: str = "fasttext") -> FastTextProvider:
    """Vectors trained on the corpus (skip-gram); the same for the same texts and seed, in whatever order they come."""
    from gensim.models import FastText

    sentences = sentences_of(texts)
    total = sum(map(len, sentences))
    model = FastText(
        vector_size=DIMENSIONS,
        window=5,
        min_count=1,
        max_final_vocab=MOST_DISTINCT,
        sg=1,
        min_n=3,
        max_n=6,
        bucket=_GROUPS,
        workers=1,
        seed=seed,
        hashfxn=_hash,
    )
    model.build_vocab(sentences)
    model.train(sentences, total_examples=len(sentences), epochs=max(1, min(EPOCHS, WORDS_TO_TRAIN // total)))
    return FastTextProvider(name, model.wv)


class FastTextProvider:
    """Vectors of the corpus' words, and of other words of whose letter groups the corpus has at least half."""

    def __init__(self, name: str, trained: FastTextKeyedVectors) -> None:
        """What gensim has trained."""
        self._name = name
        self._trained = trained
        self._centre = trained.vectors.mean(axis=0, dtype=np.float64)
        seen = np.zeros(_GROUPS, dtype=np.bool_)
        for groups in trained.buckets_word:
            seen[groups] = True
        self._seen = seen

    @property
    def name(self) -> str:
        """What findings and artifacts call it."""
        return self._name

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word less the mean of the vocabulary, [n, d]; NaN where too little of it was seen."""
        vectors = np.full((len(words), self._trained.vector_size), np.nan, dtype=np.float32)
        for row, word in enumerate(words):
            if self._knows(word):
                vectors[row] = self._trained.get_vector(word) - self._centre
        return vectors

    def _knows(self, word: str) -> bool:
        from gensim.models.fasttext import ft_ngram_hashes

        if word in self._trained.key_to_index:
            return True
        groups = ft_ngram_hashes(word, self._trained.min_n, self._trained.max_n, _GROUPS)
        return len(groups) > 0 and bool(self._seen[groups].mean() >= _LEAST_SEEN)


def _hash(word: object) -> int:
    """A hash that is the same in every process, unlike Python's."""
    return crc32(str(word).encode())
