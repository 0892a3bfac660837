"""The words that only hold a sentence together: articles, pronouns, prepositions, conjunctions, auxiliaries."""

from __future__ import annotations

import functools
from importlib import resources

from assay.tasks.language.words import normalised

_SUFFIXES = ("'s", "'re", "'ll", "'ve", "'d", "'m")


def is_stop_word(word: str) -> bool:
    """Whether a word, in any case and with a contracted verb or not, is a stop word. Negations are none.

    >>> [is_stop_word(word) for word in ("The", "they’re", "not", "film", "film's")]
    [True, True, False, False, False]
    """
    plain = normalised(word)
    if plain in stop_words():
        return True
    return any(plain.endswith(suffix) and plain[: -len(suffix)] in stop_words() for suffix in _SUFFIXES)


def is_negation(word: str) -> bool:
    """Whether a word turns a sentence round: `not`, `never`, and every `…n't`.

    >>> [is_negation(word) for word in ("NOT", "don’t", "cannot", "note")]
    [True, True, True, False]
    """
    plain = normalised(word)
    return plain in negations() or plain.endswith("n't")


@functools.cache
def stop_words() -> frozenset[str]:
    """All stop words, in the form in which words are compared."""
    return _listed("stop_words.txt")


@functools.cache
def negations() -> frozenset[str]:
    """All negations but those that end in n't."""
    return _listed("negations.txt")


def _listed(file: str) -> frozenset[str]:
    text = resources.files("assay.data").joinpath("lexicons", file).read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())
