"""The subject's own input embeddings as word vectors: the mean over a word's tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.tasks.language.embeddings.provider import Vectors

_NEVER_SEEN = ("\U00013000", "\U00013001")  # hieroglyphs: what a tokenizer makes of both is its way to say "unknown"


class Tokens(Protocol):
    """A text as its tokens."""

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """The number of each token."""
        ...

    @property
    def special(self) -> npt.NDArray[np.bool_]:
        """Whether the tokenizer added it."""
        ...


@runtime_checkable
class Embedding(Protocol):
    """What a subject must be able to do to vote."""

    @property
    def word_pieces(self) -> bool:
        """Whether a word's tokens never depend on its neighbours."""
        ...

    def encode(self, text: str) -> Tokens:
        """The tokens of a text."""
        ...

    def embeddings(self, ids: npt.NDArray[np.int64]) -> Vectors:
        """The input embeddings of tokens, [n, d]."""
        ...


class SubjectProvider:
    """How the subject itself sees words, before any context."""

    def __init__(self, model: Embedding, name: str = "subject") -> None:
        """The subject, loaded."""
        self._model, self._name = model, name
        first, second = (frozenset(self._tokens(word).tolist()) for word in _NEVER_SEEN)
        self._unknown = first & second
        self._dimensions = model.embeddings(np.zeros(1, dtype=np.int64)).shape[1]

    @property
    def name(self) -> str:
        """What findings and artifacts call it."""
        return self._name

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The mean embedding of each word's tokens, [n, d]; NaN for a word of which the vocabulary has nothing."""
        vectors = np.full((len(words), self._dimensions), np.nan, dtype=np.float32)
        for row, word in enumerate(words):
            tokens = self._tokens(word)
            if not self._unknown.issuperset(tokens.tolist()):
                vectors[row] = self._model.embeddings(tokens).mean(axis=0, dtype=np.float64)
        return vectors

    def _tokens(self, word: str) -> npt.NDArray[np.int64]:
        """The tokens of a word as it stands inside a text, where many tokenizers see a space before it."""
        encoded = self._model.encode(word if self._model.word_pieces else f" {word}")
        return encoded.ids[~encoded.special]
