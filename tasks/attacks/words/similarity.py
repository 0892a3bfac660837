"""How similar a changed text is to the original: the encoders that the constraint, and the report, ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from zlib import crc32

import numpy as np
import numpy.typing as npt

from assay.tasks.language.embeddings.encoder import SentenceEncoder
from assay.tasks.language.embeddings.provider import Vectors
from assay.tasks.language.words import normalised, words_of

CHARACTERS = "character-trigrams"
_BUCKETS = 4096


class Encoder(Protocol):
    """What makes vectors of whole texts."""

    @property
    def name(self) -> str:
        """What the report calls it."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The vector of each text, [n, d]."""
        ...


class NetworkEncoder:
    """A sentence encoder of transformers; the texts of one step are one block, padded to the longest."""

    def __init__(self, name: str, folder: str) -> None:
        """The encoder that lies in a folder; each process reads it once."""
        self.name = name
        self._encoder = _read(folder)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The mean over each text's last hidden states, [n, d]."""
        return self._encoder.encode_together(texts)


class WordVectorEncoder:
    """The mean of the vectors of a text's words."""

    def __init__(self, name: str, vectors: Mapping[str, Vectors]) -> None:
        """A vector per word, in the form in which words are compared; other words are left out."""
        self.name, self._vectors = name, vectors
        self._width = len(next(iter(vectors.values()), np.zeros(1)))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The mean vector, [n, d]; zeros for a text of which no word is known."""
        made = np.zeros((len(texts), self._width), dtype=np.float32)
        for row, text in enumerate(texts):
            known = [self._vectors[form] for word in words_of(text) if (form := word.normalised) in self._vectors]
            if known:
                made[row] = np.mean(known, axis=0, dtype=np.float64)
        return made


class CharacterEncoder:
    """How often each three letters in a row occur: how alike two texts are as strings, whatever they mean."""

    name = CHARACTERS

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The counts, hashed, [n, d].

        >>> CharacterEncoder().encode(["a good film", "A GOOD FILM"]).sum(axis=1).tolist()
        [11.0, 11.0]
        """
        made = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
        for row, text in enumerate(texts):
            letters = f" {normalised(text)} "
            for at in range(len(letters) - 2):
                made[row, crc32(letters[at : at + 3].encode("utf-8", "surrogatepass")) % _BUCKETS] += 1
        return made


def cosine_to(reference: Vectors, others: Vectors) -> npt.NDArray[np.float64]:
    """The cosine of each of the other vectors with one, [n]; zero where either has no direction.

    >>> cosine_to(np.array([1.0, 0.0]), np.array([[1.0, 1.0], [0.0, 0.0]])).round(4).tolist()
    [0.7071, 0.0]
    """
    one, many = np.asarray(reference, dtype=np.float64), np.asarray(others, dtype=np.float64)
    lengths = np.sqrt((many * many).sum(axis=1)) * np.sqrt((one * one).sum())
    found: npt.NDArray[np.float64] = (many @ one) / np.where(lengths > 0, lengths, 1.0)
    return np.clip(found, -1.0, 1.0)


def similarity(encoder: Encoder, text: str, other: str) -> float:
    """How similar two texts are, by an encoder."""
    one, two = encoder.encode([text, other])
    return float(cosine_to(one, two[None])[0])


@lru_cache(maxsize=2)
def _read(folder: str) -> SentenceEncoder:
    return SentenceEncoder(Path(folder))
