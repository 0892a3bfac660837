"""Word omission (TOKI, section 5, after Li et al. 2016): what the prediction loses without a word."""

from __future__ import annotations

import numpy as np

from assay.tasks.subjects.texts.model import TextModel
from assay.tasks.trust.explainers.documents import Document
from assay.tasks.trust.explainers.explanation import Explanation, most_important
from assay.tasks.trust.explainers.perturbing import perturbed


def explain_by_omission(model: TextModel, document: Document, target: int, top_words: int) -> Explanation:
    """Per word p(target | text) - p(target | text without the word): above zero, the word speaks for the class."""
    d = len(document.words)
    masks = np.concatenate([np.ones((1, d), dtype=bool), ~np.eye(d, dtype=bool)])
    confidence = perturbed(document, model).probabilities(masks)[:, target]
    return most_important(document, confidence[0] - confidence[1:], top_words)
