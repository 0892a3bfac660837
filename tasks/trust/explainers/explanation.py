"""What every explainer gives: the words of a text with their importance for the predicted class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.language.words import Word
from assay.tasks.trust.explainers.documents import Document


@dataclass(frozen=True)
class Explanation:
    """Words with their signed importance for the predicted class, the largest in size first; of equals the earlier.

    A word stands for all its occurrences and has the span of the first.
    """

    words: tuple[Word, ...]
    importance: tuple[float, ...]
    text_words: int
    """How many words the text has."""
    read_words: int
    """How many of them were explained: not those beyond what the subject reads."""


def explanation(
    document: Document, features: npt.NDArray[np.int64], importance: npt.NDArray[np.float64]
) -> Explanation:
    """The explanation of a document by these of its words, already in order."""
    words = tuple(document.words[feature] for feature in features)
    return Explanation(words, tuple(importance.tolist()), document.text_words, len(document.occurrences))


def most_important(document: Document, importance: npt.NDArray[np.float64], top: int) -> Explanation:
    """The explanation by the `top` words of largest importance in size, of the importance of all words [d]."""
    order = np.argsort(-np.abs(importance), kind="stable")[:top]
    return explanation(document, order, importance[order])
