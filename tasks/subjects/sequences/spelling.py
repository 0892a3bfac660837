"""Words spelt out while a small tagger learns, so that it also learns what words are built of.

A tokenizer that has every frequent word as one piece never shows a network what is inside. So while it trains, some
words, drawn anew in every epoch, are cut into the parts and characters that a word it never saw would be cut into.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from assay.tasks.subjects.sequences.alignment import NONE
from assay.tasks.subjects.sequences.tag_loss import tag_answer
from assay.tasks.subjects.token_networks.blocks import IntArray
from assay.tasks.subjects.token_networks.epochs import Answer

SHARE = 0.4
"""So many words are spelt out."""

_LONGEST_PART = 5  # characters of a piece that is no whole word to a speller


@dataclass(frozen=True)
class SpeltSentence:
    """A sentence word by word: the pieces of each as it is read, as it is spelt, and the code of its tag."""

    whole: list[IntArray]
    spelt: list[IntArray]
    codes: list[int]


@dataclass(frozen=True)
class SpellingExercise:
    """Tagged sentences in which some words are spelt out, others in every epoch."""

    network: Any
    sentences: list[SpeltSentence]
    ends: tuple[int, int]
    limit: int
    pad: int

    @property
    def lengths(self) -> IntArray:
        """The words of every sentence."""
        return np.array([len(one.codes) for one in self.sentences], dtype=np.int64)

    def answer(self, rows: IntArray, device: str) -> Answer:
        """Cross-entropy over the words of these sentences, and how many words are tagged rightly."""
        ids, target = zip(*(self._drawn(self.sentences[row]) for row in rows), strict=True)
        return tag_answer(self.network, list(ids), list(target), self.pad, device)

    def _drawn(self, sentence: SpeltSentence) -> tuple[IntArray, IntArray]:
        """The pieces of a sentence and the target of each; what is not learnt from is never spelt out."""
        share = SHARE if self.network.training else 0.0
        spells = torch.rand(len(sentence.codes)).numpy() < share
        ids, target = [self.ends[0]], [NONE]
        for place, code in enumerate(sentence.codes):
            pieces = (sentence.spelt if spells[place] else sentence.whole)[place]
            ids += pieces.tolist()
            target += [code, *[NONE] * (len(pieces) - 1)] if len(pieces) else []
        ids, target = ids[: self.limit - 1], target[: self.limit - 1]
        return np.array([*ids, self.ends[1]], dtype=np.int64), np.array([*target, NONE], dtype=np.int64)


def speller(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer without whole words, so that it cuts each into parts; the codes of pieces stay."""
    written = json.loads(tokenizer.to_str())
    vocabulary: dict[str, int] = written["model"]["vocab"]
    written["model"]["vocab"] = {
        piece: code
        for piece, code in vocabulary.items()
        if piece.startswith("[") or len(piece.removeprefix("##")) <= _LONGEST_PART
    }
    return Tokenizer.from_str(json.dumps(written))


def spelt(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], codes: Sequence[list[int]]) -> list[SpeltSentence]:
    """Sentences both ways."""
    whole, parts = _Pieces(tokenizer, {}), _Pieces(speller(tokenizer), {})
    return [
        SpeltSentence([whole.of(word) for word in words], [parts.of(word) for word in words], given)
        for words, given in zip(sentences, codes, strict=True)
    ]


@dataclass(frozen=True)
class _Pieces:
    """The pieces of words, each looked up once."""

    tokenizer: Tokenizer
    known: dict[str, IntArray]

    def of(self, word: str) -> IntArray:
        """The pieces of a word."""
        if word not in self.known:
            pieces = self.tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False).ids
            self.known[word] = np.array(pieces, dtype=np.int64)
        return self.known[word]
