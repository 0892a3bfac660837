"""Typing errors in the words of a term (Araujo et al., Section 4.1, noise adversaries): swapped letters and
neighbouring keys.

Each makes as many changes as asked for, or as the word has room for, never two at the same place: so no change takes
another back, and a word with more changes is the word with fewer, changed further. Keys lie beside each other as on an
English keyboard (QWERTY), the row of digits included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from assay.tasks.attacks.choice import TermAttackChoice
from assay.tasks.attacks.terms.settings import TermAttack, as_many

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.attacks.terms.changes import Change, Term, TermMeans


class TypoAttack(TermAttack):
    """What attacks on single letters have."""

    changes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10)], ...], BeforeValidator(as_many), Field(min_length=1)
    ] = (1,)
    """How many changes per attacked word: the other severity."""

    min_letters: int = Field(default=4, ge=2, le=100)
    """Words with fewer letters stay as they are."""


class Swap(TypoAttack):
    """In each attacked word a random pair of neighbouring letters changes places."""

    attack: Literal["swap"] = "swap"
    """Which attack it is."""


class Keyboard(TypoAttack):
    """In each attacked word a random letter becomes one beside it on the keyboard."""

    attack: Literal["keyboard"] = "keyboard"
    """Which attack it is."""


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


def swap_letters(word: str, changes: int, generator: np.random.Generator) -> str:
    """The word with random pairs of neighbouring letters swapped: pairs that differ, also where case does not count.

    >>> import numpy as np
    >>> [swap_letters(word, 1, np.random.default_rng(0)) for word in ("warfarin", "ss-5")]
    ['wafrarin', 'ss-5']
    """
    letters = list(word)
    pairs = [at for at in range(len(word) - 1) if _worth_swapping(word[at], word[at + 1])]
    touched = set[int]()
    for at in _shuffled(pairs, generator):
        if len(touched) == 2 * changes:
            break
        if not touched & {at, at + 1}:
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
            touched |= {at, at + 1}
    return "".join(letters)


def press_neighbours(word: str, changes: int, generator: np.random.Generator) -> str:
    """The word with random letters replaced by one beside them on the keyboard, digits included; case is kept.

    Digits of the word stay: another locant makes another substance.

    >>> import numpy as np
    >>> [press_neighbours(word, 1, np.random.default_rng(0)) for word in ("Heart", "2,4")]
    ['Heqrt', '2,4']
    """
    letters = list(word)
    places = [at for at, letter in enumerate(word) if neighbours(letter)]
    for at in _shuffled(places, generator)[:changes]:
        beside = neighbours(word[at])
        letters[at] = beside[int(generator.integers(len(beside)))]
    return "".join(letters)


def letters_in(word: str) -> int:
    """How many letters a word has.

    >>> letters_in("5-HT"), letters_in("aspirin")
    (2, 7)
    """
    return sum(letter.isalpha() for letter in word)


def _worth_swapping(first: str, second: str) -> bool:
    """Whether it shows where case does not count: "Sß" and "ßS" are both "sss" there."""
    return (first + second).isalpha() and (first + second).casefold() != (second + first).casefold()


def _shuffled(places: list[int], generator: np.random.Generator) -> list[int]:
    return [places[int(at)] for at in generator.permutation(len(places))]


def mistyped(
    typo: Callable[[str, int, np.random.Generator], str],
    term: Term,
    attack: TypoAttack,
    _: TermMeans,
    generator: np.random.Generator,
) -> Change:
    """The term with so many typos in each of its words that has letters enough."""
    from assay.tasks.attacks.terms.changes import CHANGED, SHORT, STUCK, Change

    long_enough = [letters_in(word) >= attack.min_letters for word in term.words]
    # Drawn for every word, so that `min_letters` and the number of changes do not shift what the next word gets.
    children = generator.spawn(len(term.words))
    tried = [typo(word, attack.changes[0], child) for word, child in zip(term.words, children, strict=True)]
    after = tuple(new if long else word for new, long, word in zip(tried, long_enough, term.words, strict=True))
    changed = sum(word != new for word, new in zip(term.words, after, strict=True))
    outcome = CHANGED if changed else STUCK if any(long_enough) else SHORT
    return Change(term.span, term.words, after, outcome, words=sum(long_enough), changed=changed)


SWAP_ATTACK = TermAttackChoice(Swap, partial(mistyped, swap_letters))
KEYBOARD_ATTACK = TermAttackChoice(Keyboard, partial(mistyped, press_neighbours))
