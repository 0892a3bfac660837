"""Whether a space of word vectors knows synonyms: how well their cosines rank above those of random pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.provider import Vectors
from assay.tasks.language.relatedness import FEWEST_PAIRS, pair_cosines, random_pairs, unit
from assay.tasks.language.synonyms import Pair
from assay.tasks.statistics.auc import binary_auc

CHANCE = 0.5


@dataclass(frozen=True)
class ToldApart:
    """How likely a synonym pair has a higher cosine than a random pair of the same words, with its 95 % interval."""

    auc: float
    low: float
    high: float
    pairs: int
    """How many synonym pairs the vectors know; as many random ones were drawn."""


def told_apart(vectors: Callable[[list[str]], Vectors], pairs: Sequence[Pair], seed: int) -> ToldApart | None:
    """How well vectors tell synonyms from random pairs (AUC, DeLong's interval); None where they know too few pairs.

    >>> circle = {f"{place}{side}": (np.cos(place), np.sin(place)) for place in range(12) for side in "ab"}
    >>> pairs = [(f"{place}a", f"{place}b") for place in range(12)]
    >>> told_apart(lambda words: np.array([circle[word] for word in words], dtype=np.float32), pairs, 0).auc
    1.0
    """
    words = sorted({word for pair in pairs for word in pair})
    looked_up = vectors(words)
    row = {words[place]: int(place) for place in np.flatnonzero(~np.isnan(unit(looked_up)).any(axis=1))}
    synonyms = [(row[a], row[b]) for a, b in pairs if a in row and b in row]
    if len(synonyms) < FEWEST_PAIRS:
        return None
    try:
        drawn = random_pairs(synonyms, seed)
    except InputError:
        return None
    every = [*synonyms, *drawn]
    cosines = pair_cosines(looked_up[[a for a, _ in every]], looked_up[[b for _, b in every]])
    area = binary_auc(cosines, np.arange(len(every)) < len(synonyms))
    if area.value is None or area.low is None or area.high is None:
        return None
    return ToldApart(area.value, area.low, area.high, len(synonyms))
