"""One prediction explained, by whichever explainer."""

from __future__ import annotations

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.subjects.texts.model import TextModel, TokenModel
from assay.tasks.trust.explainers.documents import read_document
from assay.tasks.trust.explainers.explanation import Explanation
from assay.tasks.trust.explainers.gradients import explain_by_gradient, explain_by_gradient_norm
from assay.tasks.trust.explainers.lime import explain_by_lime
from assay.tasks.trust.explainers.lime_package import explain_by_lime_package
from assay.tasks.trust.explainers.omission import explain_by_omission
from assay.tasks.trust.explainers.settings import GRADIENTS, Explaining


def explain(
    model: TextModel, text: str, target: int, settings: Explaining, generator: np.random.Generator
) -> Explanation:
    """The words of the text with their importance for the class `target`; none for a text without words.

    Only LIME draws; the same generator gives the same explanation.
    """
    require_explainable(model, settings)
    document = read_document(text, model)
    if not document.words:
        return Explanation((), (), document.text_words, 0)
    if settings.explainer == "omission":
        return explain_by_omission(model, document, target, settings.top_words)
    if isinstance(model, TokenModel) and settings.explainer in GRADIENTS:
        by = explain_by_gradient if settings.explainer == "gradient" else explain_by_gradient_norm
        return by(model, document, target, settings.top_words)
    engine = explain_by_lime if settings.explainer == "lime" else explain_by_lime_package
    return engine(model, document, target, settings, generator)


def require_explainable(model: TextModel, settings: Explaining) -> None:
    """Raises where the explainer needs more of the subject than it gives."""
    if settings.explainer in GRADIENTS and not isinstance(model, TokenModel):
        raise InputError(
            f"The explainer `{settings.explainer}` needs to see inside the subject, and this one is a function of "
            "texts: explain it with `lime` or `omission`, or name a Hugging Face model as its `classifier`."
        )
