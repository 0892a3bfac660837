"""Words in another case: small, capitals, a capital first, or everything the wrong way round (caps lock)."""

from __future__ import annotations

import numpy as np

from assay.tasks.attacks.noise.edits import Edit
from assay.tasks.language.words import words_of


def casing(text: str, generator: np.random.Generator) -> list[Edit]:
    """Every word that has another case, in another case; no letter becomes two, so texts keep their length.

    >>> [edit.new for edit in casing("a 東 I", np.random.default_rng(0))]
    ['A', 'i']
    """
    edits = []
    for word in words_of(text):
        pick = int(generator.integers(1 << 30))  # drawn for every word, so that no word's case shows in the next one's
        ways = sorted({cased for cased in _cases(word.text) if cased != word.text})
        if ways:
            edits.append(Edit(word.start, word.end, ways[pick % len(ways)]))
    return edits


def _cases(word: str) -> list[str]:
    small, capital = "".join(map(_lower, word)), "".join(map(_upper, word))
    return [small, capital, capital[:1] + small[1:], "".join(map(_other, word))]


def _lower(letter: str) -> str:
    return _same_length(letter.lower(), letter)


def _upper(letter: str) -> str:
    return _same_length(letter.upper(), letter)


def _other(letter: str) -> str:
    return _upper(letter) if letter.islower() else _lower(letter)


def _same_length(cased: str, letter: str) -> str:
    """The letter in its other case, or as it was where that would be several (ß in capitals)."""
    return cased if len(cased) == 1 else letter
