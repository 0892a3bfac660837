"""Words and their sub-words: which pieces a tokenizer makes of a sentence, and which of them stands for which word.

The first piece of a word carries its tag; the others carry none. This is the one place that knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

IntArray = npt.NDArray[np.int64]

NONE = -100
"""The target of a piece that carries no tag; Torch's cross-entropy passes over it."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A sentence as pieces, the tokenizer's own at its ends included, and the place of each word's first piece."""

    ids: IntArray  # [pieces]
    places: IntArray  # [words], -1 where no piece of the word was read
    cut: bool  # whether the sentence is longer than the model reads

    @property
    def read(self) -> IntArray:
        """Which words have a piece, in order."""
        return np.flatnonzero(self.places >= 0)


def read_word_by_word(tokenizer: Tokenizer) -> None:
    """Makes a tokenizer take sentences that are words already."""
    splitter = tokenizer.pre_tokenizer
    if type(splitter).__name__ == "ByteLevel":  # else a word after a blank and one without are two different words
        splitter.add_prefix_space = True
        tokenizer.pre_tokenizer = splitter


def align(tokenizer: Tokenizer, words: Sequence[str], pad: int) -> Aligned:
    """The pieces of a sentence. A word of which nothing is left (white space, control characters) has no place."""
    places = np.full(len(words), -1, dtype=np.int64)
    encoded = tokenizer.encode(list(words), is_pretokenized=True)
    for piece, word in enumerate(encoded.word_ids):
        if word is not None and places[word] < 0:
            places[word] = piece
    ids = np.array(encoded.ids or [pad], dtype=np.int64)
    return Aligned(ids, places, bool(encoded.overflowing))


def targets(aligned: Aligned, codes: Sequence[int]) -> IntArray:
    """What each piece should be tagged, [pieces]: the code of the word it is the first piece of, else nothing.

    >>> targets(Aligned(np.array([2, 7, 8, 9, 3]), np.array([1, 3]), False), [0, 4]).tolist()
    [-100, 0, -100, 4, -100]
    """
    labels = np.full(len(aligned.ids), NONE, dtype=np.int64)
    read = aligned.read
    labels[aligned.places[read]] = np.asarray(codes, dtype=np.int64)[read]
    return labels
