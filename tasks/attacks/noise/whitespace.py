"""Blanks that are missing, typed twice, or typed inside a word."""

from __future__ import annotations

import re

import numpy as np

from assay.tasks.attacks.noise.edits import Edit
from assay.tasks.language.words import words_of

_BLANKS = re.compile(r"(?<=\S)[^\S\n]+(?=\S)")


def whitespace(text: str, generator: np.random.Generator) -> list[Edit]:
    """Every blank between words left out or doubled, and every word of two letters and more torn apart once.

    >>> [edit.new for edit in whitespace("so bad", np.random.default_rng(2))]
    ['', ' ', ' ']
    """
    edits = []
    for blank in _BLANKS.finditer(text):
        missing = generator.random() < 0.5
        edits.append(Edit(blank.start(), blank.end(), "" if missing else blank[0] + blank[0][-1]))
    for word in words_of(text):
        if len(word.text) > 1:
            place = word.start + int(generator.integers(1, len(word.text)))
            edits.append(Edit(place, place, " "))
    return edits
