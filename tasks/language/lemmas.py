"""The lemma of an English word, by lemminflect's dictionary."""

from __future__ import annotations

import functools

from assay.tasks.language.words import normalised

_ORDER = ("AUX", "NOUN", "VERB", "ADJ", "ADV", "PROPN")


@functools.lru_cache(maxsize=65_536)
def lemma(word: str) -> str:
    """The lemma of a lower-case word; a word that is itself a lemma, or that the dictionary does not know, stays.

    >>> [lemma(word) for word in ("films", "hated", "boring", "was", "children", "xyzzing")]
    ['film', 'hate', 'boring', 'be', 'child', 'xyzzing']
    """
    from lemminflect import getAllLemmas

    lemmas: dict[str, tuple[str, ...]] = getAllLemmas(word)
    firsts = [lemmas[part][0].lower() for part in _ORDER if lemmas.get(part)]
    return word if not firsts or word in firsts else firsts[0]


def spelling(word: str, lemmatise: bool) -> str:
    """A word as pools, vectors and keywords spell it."""
    return lemma(normalised(word)) if lemmatise else normalised(word)
