"""LIME by our engine: the result of the `lime` package, without its 5000 strings."""

from __future__ import annotations

import numpy as np

from assay.tasks.subjects.texts.model import TextModel
from assay.tasks.trust.explainers.choice import Effort
from assay.tasks.trust.explainers.documents import Document
from assay.tasks.trust.explainers.explanation import Explanation, explanation
from assay.tasks.trust.explainers.lime_fit import Moments, explain_class, moments
from assay.tasks.trust.explainers.lime_masks import Masks, distinct_masks, draw_masks
from assay.tasks.trust.explainers.perturbing import Perturbed, perturbed


def explain_by_lime(
    model: TextModel, document: Document, target: int, settings: Effort, generator: np.random.Generator
) -> Explanation:
    """The words that a local linear model of the class's probability rests on (Ribeiro et al. 2016, Algorithm 1)."""
    texts = perturbed(document, model)
    blocks = draw_masks(len(document.words), settings.samples, generator)
    moments = neighbourhood(texts, next(blocks))
    for masks in blocks:
        moments = moments + neighbourhood(texts, masks)
    chosen, coefficients = explain_class(moments, target, settings.top_words)
    return explanation(document, chosen, coefficients)


def neighbourhood(texts: Perturbed, masks: Masks) -> Moments:
    """What the subject says of the perturbed texts, summed up; each different text is asked about once."""
    distinct, counts = distinct_masks(masks)
    return moments(distinct, counts, texts.probabilities(distinct))
