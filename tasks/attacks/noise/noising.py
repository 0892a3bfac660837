"""A text with noise of one kind at several severities: the same slips, ever more of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.attacks.noise.casing import casing
from assay.tasks.attacks.noise.edits import Edit, applied
from assay.tasks.attacks.noise.homoglyphs import homoglyphs
from assay.tasks.attacks.noise.punctuation import punctuation
from assay.tasks.attacks.noise.settings import NoiseKind
from assay.tasks.attacks.noise.typos import typos
from assay.tasks.attacks.noise.whitespace import whitespace

Maker = Callable[[str, np.random.Generator], list[Edit]]
"""Every place of a text that this kind of noise could change, and what it would become there."""

MAKERS: Mapping[NoiseKind, Maker] = {
    "typos": typos,
    "casing": casing,
    "punctuation": punctuation,
    "whitespace": whitespace,
    "homoglyphs": homoglyphs,
}

SHARES: Mapping[NoiseKind, tuple[float, float, float, float, float]] = {
    "typos": (0.02, 0.04, 0.10, 0.20, 0.40),
    "casing": (0.10, 0.25, 0.50, 0.75, 1.0),
    "punctuation": (0.05, 0.10, 0.20, 0.40, 0.80),
    "whitespace": (0.025, 0.05, 0.10, 0.20, 0.40),
    "homoglyphs": (0.02, 0.05, 0.10, 0.20, 0.40),
}
"""The share of the places that are changed at severities 1 to 5, but at least one of them.

Typos: places are pairs of letters, so these are slips in 1, 2, 5, 10 and 20 % of the letters. Of 136 million
keystrokes about 1 % of the letters stay wrong after the typist's own corrections (Dhakal et al. 2018): severity 1 is
how people type, 5 is the density at which Belinkov and Bisk (2018) change every word. Homoglyphs: of the letters that
have a look-alike; Boucher et al. (2022) need one to three per sentence, which severity 1 is in a sentence. The others
have no such source: casing of 10 to 100 % of the words, a slip in punctuation after 5 to 80 % of the words, blanks
dropped, doubled or set inside 2.5 to 40 % of the places between and inside words.
"""


@dataclass(frozen=True)
class Noisy:
    """A text with noise in it, and the changes that made it, in the order of the original; none where nothing could
    be changed, and then it is the original."""

    text: str
    edits: tuple[Edit, ...]


def with_noise(text: str, kind: NoiseKind, severities: Sequence[int], generator: np.random.Generator) -> list[Noisy]:
    """The text with this kind of noise at each of these severities.

    A higher severity has all the changes of a lower one and more, unless every place is changed already. A text without
    a place to change (empty, only emoji) stays as it is, and has no changes.

    >>> one, three = with_noise("a rather good film", "typos", [1, 3], np.random.default_rng(0))
    >>> len(one.edits) <= len(three.edits), one.text != "a rather good film"
    (True, True)
    """
    edits = MAKERS[kind](text, generator)
    order = generator.permutation(len(edits))
    versions = []
    for severity in severities:
        chosen = sorted(order[: math.ceil(SHARES[kind][severity - 1] * len(edits))].tolist())
        changes = tuple(sorted((edits[place] for place in chosen), key=lambda edit: (edit.start, edit.end)))
        changed = applied(text, changes)
        # Several changes may make up for each other (a letter left out, its twin typed twice): that is no change.
        versions.append(Noisy(changed, changes) if changed != text else Noisy(text, ()))
    return versions
