"""What the subject says of a text without some of its words, in pieces that bound the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.subjects.texts.model import TextModel, TokenModel
from assay.tasks.trust.explainers.documents import Document, can_mask_tokens
from assay.tasks.trust.explainers.lime_masks import Masks

Floats = npt.NDArray[np.float64]

_TOKENS = 1 << 18  # token ids in memory at a time
_CHARACTERS = 1 << 21  # characters of texts in memory at a time
_TEXTS = 1024  # perturbed texts in memory at a time


@dataclass(frozen=True)
class Perturbed:
    """The texts that a document becomes when words are dropped, as a subject takes them."""

    ask: Callable[[Masks], Floats]
    """The probabilities of every class for each mask, [n, k]."""
    lengths: npt.NDArray[np.int64]
    """How long each word is, as `budget` counts, all its occurrences together [d]."""
    always: int
    """How long what never goes is."""
    budget: int

    def probabilities(self, masks: Masks) -> Floats:
        """The probability of every class for each mask [n, k]; texts of like length are asked about together."""
        lengths = masks @ self.lengths + self.always
        order = np.argsort(lengths, kind="stable")
        blocks = [self.ask(masks[part]) for part in self._pieces(order, lengths)]
        values = np.concatenate(blocks)
        result = np.empty_like(values)
        result[order] = values
        return result

    def _pieces(self, order: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
        """The order cut where the longest text times the number of texts would pass the budget."""
        start = 0
        while start < len(order):
            end = min(start + _TEXTS, len(order))
            while end > start + 1 and lengths[order[end - 1]] * (end - start) > self.budget:
                end = start + (end - start) // 2
            yield order[start:end]
            start = end


def perturbed(document: Document, model: TextModel) -> Perturbed:
    """How the subject is asked: by tokens where dropping them is dropping words, and by texts otherwise."""
    if isinstance(model, TokenModel) and can_mask_tokens(document, model):
        of_tokens = document.token_feature
        lengths = np.bincount(of_tokens[of_tokens >= 0], minlength=len(document.words))
        always = int((of_tokens < 0).sum())
        return Perturbed(lambda masks: model.token_probabilities(document.token_ids(masks)), lengths, always, _TOKENS)
    sizes = np.array([word.end - word.start for word in document.occurrences], dtype=np.int64)
    lengths = np.bincount(document.feature, weights=sizes, minlength=len(document.words)).astype(np.int64)
    always = len(document.text) - int(lengths.sum())
    return Perturbed(lambda masks: model.probabilities(document.texts(masks)), lengths, always, _CHARACTERS)
