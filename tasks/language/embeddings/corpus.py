"""The corpus as sentences of words in their compared form: what local word vectors are trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

from assay.infra.errors import InputError
from assay.tasks.language.words import normalised, words_of

MOST_WORDS = 3_000_000
"""Training stops reading after so many words, so that it stays within a minute."""

MOST_DISTINCT = 30_000
"""Vectors are made of the most frequent words, at most so many."""


def sentences_of(texts: Sequence[str]) -> list[list[str]]:
    """One list of words per text, in an order that depends on the texts alone (by hash), so theirs has no say.

    >>> sentences_of(["A good film!", "..."]) == sentences_of(["...", "A good film!"]) == [["a", "good", "film"]]
    True
    """
    forms: dict[str, str] = {}
    sentences, total = [], 0
    for text in sorted(texts, key=lambda text: (_hash(text), text)):
        words = [forms.setdefault(word.text, normalised(word.text)) for word in words_of(text)]
        total += len(words)
        if words:
            sentences.append(words)
        if total >= MOST_WORDS:
            break
    if not sentences:
        raise InputError("There is no word in the training texts to learn word vectors from.")
    return sentences


def vocabulary_of(sentences: Sequence[Sequence[str]], least: int = 1, most: int | None = None) -> list[str]:
    """The `most` frequent words that occur at least so often (left out, `MOST_DISTINCT`), in alphabetical order.

    >>> vocabulary_of([["b", "a"], ["b"]]), vocabulary_of([["b", "a"], ["b"]], least=2)
    (['a', 'b'], ['b'])
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    often = sorted((-count, word) for word, count in counts.items() if count >= least)
    return sorted(word for _, word in often[: MOST_DISTINCT if most is None else most])


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
