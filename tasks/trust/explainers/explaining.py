"""One prediction explained, by whichever explainer."""

from __future__ import annotations

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.subjects.texts.model import TextModel, TokenModel
from assay.tasks.trust.explainers.documents import read_document
from assay.tasks.trust.explainers.explanation import Explanation
from assay.tasks.trust.explainers.settings import Explaining
from assay.tasks.trust.explainers.table import EXPLAINERS


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
    return EXPLAINERS.named(settings.explainer, settings).explain(model, document, target, settings, generator)


def require_explainable(model: TextModel, settings: Explaining) -> None:
    """Raises where the explainer needs more of the subject than it gives."""
    if EXPLAINERS.named(settings.explainer, settings).looks_inside and not isinstance(model, TokenModel):
        raise InputError(
            f"The explainer `{settings.explainer}` needs to see inside the subject, and this one is a function of "
            "texts: explain it with `lime` or `omission`, or name a Hugging Face model as its `classifier`."
        )
