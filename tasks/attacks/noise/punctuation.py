"""Punctuation that is left out, typed too often, confused, or set where none belongs."""

from __future__ import annotations

import re

import numpy as np

from assay.tasks.attacks.noise.edits import Edit
from assay.tasks.language.words import words_of

MARKS = ",.;:!?"
_RUN = re.compile(r"[.,;:!?\"'()\u2018\u2019\u201c\u201d\u2026\u2013\u2014-]+")


def punctuation(text: str, generator: np.random.Generator) -> list[Edit]:
    """One slip after every word: marks that stand there are left out, doubled or confused, else one is set.

    >>> from assay.tasks.attacks.noise.edits import applied
    >>> applied("Well, yes", punctuation("Well, yes", np.random.default_rng(1)))
    'Well,, yes?'
    """
    words, edits = words_of(text), []
    for place, word in enumerate(words):
        end = words[place + 1].start if place + 1 < len(words) else len(text)
        way, mark = int(generator.integers(3)), MARKS[int(generator.integers(len(MARKS)))]
        match = _RUN.search(text, word.end, end)
        if match is None:
            edits.append(Edit(word.end, word.end, mark))
            continue
        others = [other for other in MARKS if other != match[0]]
        new = "" if way == 0 else match[0] + match[0][-1] if way == 1 else others[MARKS.index(mark) % len(others)]
        edits.append(Edit(match.start(), match.end(), new))
    return edits
