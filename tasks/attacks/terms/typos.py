"""Typing errors in one word (Araujo et al., Section 4.1, noise adversaries): swapped letters and neighbouring
keys.

Each makes as many changes as asked for, or as the word has room for, never two at the same place: so no change
takes another back, and a word with more changes is the word with fewer, changed further. Keys lie beside each
other as on an English keyboard (QWERTY), the row of digits included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

_ROWS: Final = (("1234567890", 0.0), ("qwertyuiop", 0.5), ("asdfghjkl", 0.75), ("zxcvbnm", 1.25))
"""The rows from the top, each with how far its first key is set in, in widths of a key."""

_REACH = 1.0  # keys of one row that touch; between rows, whatever overlaps by more than a corner


def _adjacent_keys() -> dict[str, str]:
    places = {key: (row, inset + at) for row, (keys, inset) in enumerate(_ROWS) for at, key in enumerate(keys)}
    return {
        key: "".join(
            other
            for other, (its_row, its_place) in places.items()
            if other != key
            and (
                abs(place - its_place) <= _REACH
                if row == its_row
                else abs(row - its_row) == 1 and abs(place - its_place) < _REACH
            )
        )
        for key, (row, place) in places.items()
    }


NEIGHBOURS: Final[dict[str, str]] = _adjacent_keys()
"""Per key in small letters, the keys that touch it: `r` has e, t, 4, 5, d and f."""


def neighbours(letter: str) -> str:
    """The letters and digits beside a letter, in its case; nothing where it is not on the keyboard, or is a digit.

    >>> neighbours("r"), neighbours("R"), neighbours("é"), neighbours("5")
    ('45etdf', '45ETDF', '', '')
    """
    small = letter.lower()
    if not letter.isalpha() or small not in NEIGHBOURS:
        return ""
    beside = NEIGHBOURS[small]
    return beside.upper() if letter.isupper() else beside


@dataclass(frozen=True, slots=True)
class Typo:
    """A word after the attack, and how many changes were made: none where the word has no room for one."""

    word: str
    changes: int


def swap_letters(word: str, changes: int, generator: np.random.Generator) -> Typo:
    """The word with random pairs of neighbouring letters swapped: pairs that differ, also where case does not count.

    >>> swap_letters("warfarin", 1, np.random.default_rng(0))
    Typo(word='wafrarin', changes=1)
    >>> swap_letters("ss-5", 1, np.random.default_rng(0))
    Typo(word='ss-5', changes=0)
    """
    letters = list(word)
    pairs = [at for at in range(len(word) - 1) if _worth_swapping(word[at], word[at + 1])]
    touched: set[int] = set()
    swaps = 0
    for at in _shuffled(pairs, generator):
        if swaps == changes:
            break
        if not touched & {at, at + 1}:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
            touched |= {at, at + 1}
            swaps += 1
    return Typo("".join(letters), swaps)


def press_neighbours(word: str, changes: int, generator: np.random.Generator) -> Typo:
    """The word with random letters replaced by one beside them on the keyboard, digits included; case is kept.

    Digits of the word stay: another locant makes another substance.

    >>> press_neighbours("Heart", 1, np.random.default_rng(0))
    Typo(word='Heqrt', changes=1)
    >>> press_neighbours("2,4", 1, np.random.default_rng(0))
    Typo(word='2,4', changes=0)
    """
    letters = list(word)
    places = [at for at, letter in enumerate(word) if neighbours(letter)]
    chosen = _shuffled(places, generator)[:changes]
    for at in chosen:
        beside = neighbours(word[at])
        letters[at] = beside[int(generator.integers(len(beside)))]
    return Typo("".join(letters), len(chosen))


def letters_in(word: str) -> int:
    """How many letters a word has.

    >>> letters_in("5-HT"), letters_in("aspirin")
    (2, 7)
    """
    return sum(letter.isalpha() for letter in word)


def _worth_swapping(first: str, second: str) -> bool:
    return first.isalpha() and second.isalpha() and first.casefold() != second.casefold()


def _shuffled(places: list[int], generator: np.random.Generator) -> list[int]:
    return [places[int(at)] for at in generator.permutation(len(places))]
