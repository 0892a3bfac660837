"""Which keys lie beside each other on an English keyboard (QWERTY), the row of digits included."""

from __future__ import annotations

from typing import Final

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
