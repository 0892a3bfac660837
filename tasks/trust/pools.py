"""Word pools: the words that speak for a class in the explanations of correct predictions (Eq. 1-2)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.tasks.language.lemmas import spelling

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Pool:
    """The words of one class in alphabetical order, their mean importance, and in how many explanations each is."""

    words: tuple[str, ...]
    importance: npt.NDArray[np.float64]  # [n]
    explanations: npt.NDArray[np.int32]  # [n]


def spoken_for(explanation: dict[str, list[object]], lemmatise: bool = False) -> dict[str, float]:
    """The words of one explanation that speak for the prediction, as the pools spell them, with their importance.

    Figure 4 of the paper keeps "only words contributing to predicting": those above zero. Where two words of a text
    become one (`Good`, `good`; or one lemma), their importance adds up.

    >>> spoken_for({"words": ["Good", "film", "good"], "importance": [0.5, -0.2, 0.25]})
    {'good': 0.75}
    """
    parts: dict[str, list[float]] = defaultdict(list)
    for word, score in zip(explanation["words"], explanation["importance"], strict=True):
        if isinstance(score, float) and score > 0:
            parts[spelling(str(word), lemmatise)].append(score)
    return {word: math.fsum(scores) for word, scores in parts.items()}


def word_pools(explanations: pa.Table, *, classes: int, lemmatise: bool = False) -> list[Pool]:
    """W_c of every class (Eq. 2): the words of its explanations, each with its mean over the explanations it is in.

    Only correct predictions enter, whatever the table holds; the order of its rows does not matter.
    """
    scores: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(classes)]
    rows = explanations.select(["gold", "predicted", "words", "importance"]).to_pylist()
    for row in rows:
        if row["gold"] == row["predicted"]:
            for word, score in spoken_for(row, lemmatise).items():
                scores[row["predicted"]][word].append(score)
    return [_pool(of_class) for of_class in scores]


def _pool(scores: dict[str, list[float]]) -> Pool:
    words = tuple(sorted(scores))
    means = [math.fsum(scores[word]) / len(scores[word]) for word in words]
    counts = [len(scores[word]) for word in words]
    return Pool(words, np.array(means, dtype=np.float64), np.array(counts, dtype=np.int32))
