"""Typing errors: a letter beside the right one on the keyboard, two letters swapped, one left out, one typed twice."""

from __future__ import annotations

import numpy as np

from assay.tasks.attacks.noise.edits import Edit
from assay.tasks.attacks.terms.keys import neighbours
from assay.tasks.language.words import words_of


def typos(text: str, generator: np.random.Generator) -> list[Edit]:
    """One typing error for every second letter or digit of the text: the places where a typist may slip.

    A word is cut into pairs of neighbouring letters, from its first or its second letter on (drawn per word), and each
    pair gets one of the errors of Belinkov and Bisk (2018) and of the typing studies that they build on. Pairs do not
    overlap, so that no error undoes another.

    >>> from assay.tasks.attacks.noise.edits import applied
    >>> applied("nothing", typos("nothing", np.random.default_rng(3))) != "nothing"
    True
    """
    edits = []
    for word in words_of(text):
        start = word.start + int(generator.integers(2)) * (len(word.text) > 1)
        edits += [
            _typo(text[place : min(place + 2, word.end)], place, generator) for place in range(start, word.end, 2)
        ]
    return edits


def _typo(letters: str, place: int, generator: np.random.Generator) -> Edit:
    """One typing error in one or two letters; always a change."""
    end, first = place + len(letters), letters[0]
    ways = ["double"]
    if len(letters) == 2:
        ways += ["omit"] + (["swap"] if first != letters[1] else [])
    near = neighbours(first)
    ways += ["near"] if near else []
    way = ways[int(generator.integers(len(ways)))]
    pick = int(generator.integers(1 << 30))
    if way == "swap":
        return Edit(place, end, letters[1] + first)
    if way == "omit":
        return Edit(place, end, letters[1])
    return Edit(place, place + 1, near[pick % len(near)] if way == "near" else first * 2)
