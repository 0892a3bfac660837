"""A text as the explainers see it: its distinct words, the subject's answers without some of them, and the
explanation that comes out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats
from assay.tasks.language.words import Word, kept_texts, words_of
from assay.tasks.subjects.texts.model import Encoded, TextModel, TokenModel

Masks = npt.NDArray[np.bool_]  # [n, d]: True where a word stays

_CELLS = 1 << 20  # of a block of masks, so that a million samples of a long text need no more memory than this


def draw_masks(words: int, samples: int, generator: np.random.Generator) -> Iterator[Masks]:
    """The masks of `samples` texts in blocks, the whole text first, drawn as LIME draws them.

    Every other text loses a number of words that is uniform over 1…d, and which ones is uniform over the subsets of
    that size: the words with the smallest of d random numbers.

    >>> blocks = list(draw_masks(4, 9, np.random.default_rng(0)))
    >>> [block.shape for block in blocks], blocks[0][0].tolist(), int(blocks[0].sum(axis=1)[1:].max())
    ([(9, 4)], [True, True, True, True], 3)
    """
    rows, left = max(1, _CELLS // words), samples
    while left:
        drawn = min(rows, left)
        keys = generator.random((drawn, words))
        removed = generator.integers(1, words + 1, drawn)
        largest = np.sort(keys, axis=1)[np.arange(drawn), removed - 1]
        masks = keys > largest[:, None]
        if left == samples:
            masks[0] = True
        yield masks
        left -= drawn


def distinct_masks(masks: Masks) -> tuple[Masks, npt.NDArray[np.int64]]:
    """The different ones among the masks, and how often each stands there: a short text has few.

    >>> kept, counts = distinct_masks(np.array([[True, True], [False, True], [True, True]]))
    >>> kept.tolist(), counts.tolist()
    ([[False, True], [True, True]], [1, 2])
    """
    packed = np.packbits(masks, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, counts = np.unique(rows, return_index=True, return_counts=True)
    return masks[first], counts.astype(np.int64)


MOST_WORDS = 2000  # distinct words of one text that are explained; the rest of the text stays as it is

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Document:
    """A text, its distinct words in the order of their first occurrence (the features of an explanation), and every
    occurrence of them with the index of its word."""

    whole: str
    text: str
    """The text as far as the subject reads it."""
    words: tuple[Word, ...]
    occurrences: tuple[Word, ...]
    feature: Ints  # [occurrences]
    text_words: int
    """How many words the whole text has, read by the subject or not."""
    encoded: Encoded | None

    @property
    def tokens(self) -> Encoded:
        """The subject's tokens; only a `TokenModel` has any."""
        if self.encoded is None:
            raise LookupError("this subject is a function of texts: it has no tokens")
        return self.encoded

    @cached_property
    def token_occurrence(self) -> Ints:
        """Per token the occurrence that it belongs to (the first it overlaps), -1 for those between words, [tokens]."""
        encoded = self.tokens
        if not self.occurrences:
            return np.full(len(encoded.ids), -1, np.int64)
        starts = np.array([word.start for word in self.occurrences])
        ends = np.array([word.end for word in self.occurrences])
        at = np.minimum(np.searchsorted(ends, encoded.starts, side="right"), len(ends) - 1)
        inside = (encoded.starts < ends[at]) & (starts[at] < encoded.ends) & ~encoded.special
        return np.where(inside & (encoded.ends > encoded.starts), at, -1).astype(np.int64)

    @cached_property
    def token_feature(self) -> Ints:
        """Per token the word that it belongs to, -1 for those that belong to none, [tokens]."""
        at = self.token_occurrence
        return np.where(at < 0, -1, self.feature[at] if len(self.feature) else -1)

    def texts(self, masks: Masks) -> list[str]:
        """Per mask the text without the words that it drops, everything else as it was."""
        return kept_texts(self.text, self.occurrences, masks[:, self.feature].tolist())

    def token_ids(self, masks: Masks) -> list[npt.NDArray[np.int64]]:
        """Per mask the ids of the tokens that it leaves, special ones included: `texts` without going through text."""
        always = np.ones((len(masks), 1), dtype=bool)
        keep = np.concatenate([masks, always], axis=1)[:, self.token_feature]  # -1 is the column of what always stays
        flat = np.broadcast_to(self.tokens.ids, keep.shape)[keep]
        ends = np.cumsum(keep.sum(axis=1)).tolist()
        return [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def stands_apart(self) -> bool:
        """Whether every word's tokens are its own and stay the same whatever words around it are dropped.

        That holds where each token lies inside one word, and each word between characters at which a BERT tokenizer
        always splits and which are never dropped themselves.
        """
        encoded, at = self.tokens, self.token_occurrence
        spans = zip(encoded.starts.tolist(), encoded.ends.tolist(), at.tolist(), strict=True)
        inside = all(
            self.occurrences[word].start <= start and end <= self.occurrences[word].end
            for start, end, word in spans
            if word >= 0
        )
        return inside and all(_has_borders(self.text, word) for word in self.occurrences)


def read_document(text: str, model: TextModel) -> Document:
    """The text as the subject sees it: a word that lies beyond what it reads is no feature.

    Neither is what follows the first MOST_WORDS distinct words. What is no feature is never dropped.
    """
    words = words_of(text)
    encoded = model.encode(text) if isinstance(model, TokenModel) else None
    seen, kept = words, text
    if isinstance(model, TokenModel) and encoded is not None and len(encoded.ids) >= model.limit:
        reach = int(encoded.ends.max())
        seen, kept = [word for word in words if word.end <= reach], text[:reach]
    first: dict[str, int] = {}
    occurrences: list[Word] = []
    for word in seen:
        if len(first) == MOST_WORDS and word.text not in first:
            break
        first.setdefault(word.text, len(first))
        occurrences.append(word)
    feature = np.array([first[word.text] for word in occurrences], dtype=np.int64)
    _, at = np.unique(feature, return_index=True)
    words_once = tuple(occurrences[i] for i in at)
    return Document(text, kept, words_once, tuple(occurrences), feature, len(words), encoded)


def can_mask_tokens(document: Document, model: TokenModel) -> bool:
    """Whether dropping tokens gives what the subject's tokenizer makes of the text without the words.

    Decided by where the words stand (`stands_apart`), and tried on two halves of the words.
    """
    if not (model.word_pieces and document.words and document.stands_apart and (document.token_feature < 0).any()):
        return False
    odd = np.arange(len(document.words)) % 2 == 1
    tried = np.stack([odd, ~odd])
    tried[:, -1] = False  # where the text is cut, the last word may be another one without what followed it
    return all(
        np.array_equal(model.encode(text).ids, ids)
        for text, ids in zip(document.texts(tried), document.token_ids(tried), strict=True)
    )


def _has_borders(text: str, word: Word) -> bool:
    neighbours, han = text[max(0, word.start - 1) : word.start] + text[word.end : word.end + 1], _is_han(word.text[0])
    return all(_splits(character) or (han and _is_han(character)) for character in neighbours)


def _splits(character: str) -> bool:
    """Whether BERT's pre-tokenizer always splits at this character: white space and punctuation, as it sees them.

    >>> [_splits(character) for character in [" ", "-", "_", "$", "\\u2014"]]
    [True, True, True, True, True]
    >>> [_splits(character) for character in ["\\x00", "\\x0b", "\\u00b0", "\\u200b"]]
    [False, False, False, False]
    """
    category = unicodedata.category(character)
    symbol = character.isascii() and category[0] in "PS"
    return character in " \t\n\r" or category == "Zs" or category[0] == "P" or symbol


def _is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf"


@dataclass(frozen=True)
class Explanation:
    """Words with their signed importance for the predicted class, the largest in size first; of equals the earlier.

    A word stands for all its occurrences and has the span of the first.
    """

    words: tuple[Word, ...]
    importance: tuple[float, ...]
    text_words: int
    """How many words the text has."""
    read_words: int
    """How many of them were explained: not those beyond what the subject reads."""


def explanation(
    document: Document, features: npt.NDArray[np.int64], importance: npt.NDArray[np.float64]
) -> Explanation:
    """The explanation of a document by these of its words, already in order."""
    words = tuple(document.words[feature] for feature in features)
    return Explanation(words, tuple(importance.tolist()), document.text_words, len(document.occurrences))


def most_important(document: Document, importance: npt.NDArray[np.float64], top: int) -> Explanation:
    """The explanation by the `top` words of largest importance in size, of the importance of all words [d]."""
    order = np.argsort(-np.abs(importance), kind="stable")[:top]
    return explanation(document, order, importance[order])


_TOKENS = 1 << 18  # token ids in memory at a time
_CHARACTERS = 1 << 21  # characters of texts in memory at a time
_TEXTS = 1024  # perturbed texts in memory at a time


def perturbed(document: Document, model: TextModel) -> Callable[[Masks], Floats]:
    """What the subject says of the texts that a document becomes when words are dropped: masks [n, d] in, the
    probabilities of every class [n, k] out. It is asked by tokens where dropping them is dropping words, and by texts
    otherwise; about so many at a time that they fit into memory, however long the document is."""
    if isinstance(model, TokenModel) and can_mask_tokens(document, model):
        by_tokens = model.token_probabilities
        return _in_blocks(lambda masks: by_tokens(document.token_ids(masks)), _TOKENS // len(document.tokens.ids))
    return _in_blocks(lambda masks: model.probabilities(document.texts(masks)), _CHARACTERS // len(document.text))


def _in_blocks(ask: Callable[[Masks], Floats], most: int) -> Callable[[Masks], Floats]:
    rows = max(1, min(_TEXTS, most))
    return lambda masks: np.concatenate([ask(masks[at : at + rows]) for at in range(0, len(masks), rows)])
