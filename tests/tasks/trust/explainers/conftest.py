"""Stand-in subjects whose true importance is known: linear in the words, over tokens as BERT cuts them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from assay.tasks.subjects.texts.model import Encoded
from assay.tasks.trust.explainers.documents import Document, read_document


@dataclass
class BagOfWords:
    """p(1) = base + the sum of the weights of the distinct lower-case words in the text; a function of texts."""

    weights: Mapping[str, float]
    base: float = 0.5
    classes: int = 2
    asked: list[int] = field(default_factory=list)

    def score(self, pieces: Sequence[str]) -> float:
        return self.base + sum(self.weights.get(piece, 0.0) for piece in set(pieces))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.append(len(texts))
        p = np.array([self.score(re.findall(r"\w+", text.lower())) for text in texts])
        return np.stack([1 - p, p], axis=1)


@dataclass
class TokenBag(BagOfWords):
    """The same over tokens: a token per run of word characters and per mark, one before and one after the text."""

    limit: int = 512
    word_pieces: bool = True
    vocabulary: list[str] = field(default_factory=lambda: ["[CLS]", "[SEP]"])
    token_asked: int = 0

    def encode(self, text: str) -> Encoded:
        found = list(re.finditer(r"\w+|[^\w\s]", text.lower()))[: self.limit - 2]
        ids = [0, *(self._id(match[0]) for match in found), 1]
        spans = np.array([(0, 0), *(match.span() for match in found), (0, 0)], dtype=np.int64)
        special = np.array([True, *([False] * len(found)), True])
        return Encoded(np.array(ids, dtype=np.int64), spans[:, 0], spans[:, 1], special)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.append(len(texts))
        return self._answers([self.encode(text).ids for text in texts])

    def token_probabilities(self, batch: Sequence[np.ndarray]) -> np.ndarray:
        self.token_asked += len(batch)
        return self._answers(batch)

    def gradients(self, text: str, target: int) -> np.ndarray:
        weights = self.embeddings(self.encode(text).ids)[:, :1]
        sign = 1.0 if target == 1 else -1.0
        return np.concatenate([sign * np.ones_like(weights), np.zeros_like(weights)], axis=1).astype(np.float32)

    def embeddings(self, ids: np.ndarray) -> np.ndarray:
        weights = [self.weights.get(self.vocabulary[token], 0.0) for token in ids]
        return np.stack([np.array(weights), np.ones(len(ids))], axis=1).astype(np.float32)

    def _answers(self, batch: Sequence[np.ndarray]) -> np.ndarray:
        p = np.array([self.score([self.vocabulary[token] for token in ids]) for ids in batch])
        return np.stack([1 - p, p], axis=1)

    def _id(self, token: str) -> int:
        if token not in self.vocabulary:
            self.vocabulary.append(token)
        return self.vocabulary.index(token)


@pytest.fixture
def black_box() -> Callable[..., BagOfWords]:
    return BagOfWords


@pytest.fixture
def token_bag() -> Callable[..., TokenBag]:
    return TokenBag


@pytest.fixture
def document() -> Callable[[str], Document]:
    """The document of a text for a subject that reads all of it."""
    return lambda text: read_document(text, BagOfWords({}))
