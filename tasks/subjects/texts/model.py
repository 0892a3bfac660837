"""A text classifier as explainers, oracles and attacks see it: texts in, probabilities out, and more where it can.

Every text is computed in a block of one fixed shape, so the same text has the same probabilities in any batch,
partition or order. A user's own function is one, of which nothing else is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Bools, Integers
from assay.infra.errors import InputError
from assay.tasks.subjects.own_models import Asked, answers_in_blocks
from assay.tasks.subjects.predictions import ROUNDING, SUM_TOLERANCE, NamedAnswers, as_numbers, in_the_order_of


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as its tokens, those the tokenizer adds at its ends included; cut at the model's maximum."""

    ids: Integers  # [tokens]
    starts: Integers  # [tokens], the character where a token starts
    ends: Integers  # [tokens], the character after its last
    special: Bools  # [tokens], whether the tokenizer added it


class UnusableTextError(InputError):
    """A classifier gave no probabilities for a text; `row` is the place of that text among those it was asked about."""

    def __init__(self, row: int, reason: str = "The classifier gives no finite number") -> None:
        super().__init__(f"{reason} for text {row + 1}.")
        self.row, self.reason = row, reason


@runtime_checkable
class TextModel(Protocol):
    """Any text classifier."""

    @property
    def classes(self) -> int:
        """How many classes it tells apart."""

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The probability of every class, [n, k], in the order of the audit's classes; any number of texts."""


@runtime_checkable
class TokenModel(TextModel, Protocol):
    """A text classifier that is a network over tokens, so that tokens can be masked and gradients taken."""

    @property
    def word_pieces(self) -> bool:
        """Whether a word's tokens never depend on its neighbours, so that dropping its tokens is dropping the word."""

    @property
    def limit(self) -> int:
        """The most tokens it reads, those at the ends included; longer texts are cut."""

    def encode(self, text: str) -> Encoded:
        """The tokens of a text."""

    def token_probabilities(self, batch: Sequence[Integers]) -> npt.NDArray[np.float64]:
        """The probability of every class for token ids that include the special ones, [n, k]."""

    def gradients(self, text: str, target: int) -> npt.NDArray[np.float32]:
        """The gradient of log p(target) with respect to the input embedding of each token of `encode`, [tokens, d]."""

    def embeddings(self, ids: Integers) -> npt.NDArray[np.float32]:
        """The input embeddings of tokens, [n, d]."""


@dataclass(frozen=True)
class OwnTextModel:
    """A `TextModel` around the function that the user named."""

    code: Asked
    classes: int
    masked: bool = False
    """Whether no text may be quoted: then an error of the function is told without its words."""
    names: tuple[str, ...] = ()
    """The classes in the order of the audit, for models that name them."""

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The probability of every class, [n, k], checked."""
        result = np.empty((len(texts), self.classes))
        blocks = answers_in_blocks(self.code, "classifier", texts, self.masked, "a list of {} texts")
        for start, block, asked, answer in blocks:
            result[start : start + len(block)] = self._checked(answer, start, asked)[: len(block)]
        return result

    def _checked(self, output: object, first: int, asked: int) -> npt.NDArray[np.float64]:
        who, expected = f'The classifier "{self.code.written}"', f"the probabilities of {self.classes} classes per text"
        in_words = isinstance(output, NamedAnswers)
        values = as_numbers(in_the_order_of(self.names, output, who), who, expected)
        if values.shape != (asked, self.classes):
            raise InputError(f"{who} returned the shape {list(values.shape)} for {asked} texts, expected {expected}.")
        sums = values.sum(axis=1)
        right = (values >= -ROUNDING).all(axis=1) & ((np.abs(sums - 1) <= SUM_TOLERANCE) | (in_words & (sums == 0)))
        if not right.all():
            row = int(right.argmin())
            reason = f"{who} returned {values[row].tolist()}, expected {expected} (none below 0, together 1),"
            raise UnusableTextError(first + row, reason)
        return np.maximum(values, 0)
