"""LIME by the `lime` package itself, on our words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.subjects.texts.model import TextModel
from assay.tasks.trust.explainers.choice import Effort
from assay.tasks.trust.explainers.documents import Document
from assay.tasks.trust.explainers.explanation import Explanation, explanation

_TEXTS = 256  # of the package's texts, how many the subject is asked about at a time


def explain_by_lime_package(
    model: TextModel, document: Document, target: int, settings: Effort, generator: np.random.Generator
) -> Explanation:
    """What `lime.lime_text.LimeTextExplainer` says with its default settings, our words, and a seed per sample."""
    from lime.lime_text import LimeTextExplainer

    end = document.occurrences[-1].end
    words, tail = document.text[:end], document.text[end:]  # it takes quadratic time over what it is given

    def classify(texts: list[str]) -> npt.NDArray[np.float64]:
        batches = ([text + tail for text in texts[at : at + _TEXTS]] for at in range(0, len(texts), _TEXTS))
        return np.concatenate([model.probabilities(batch) for batch in batches])

    def split(_: str) -> list[str]:
        return [word.text for word in document.occurrences]

    explainer = LimeTextExplainer(split_expression=split, random_state=int(generator.integers(2**32)))
    lime_explanation = explainer.explain_instance(
        words, classify, labels=(target,), num_features=settings.top_words, num_samples=settings.samples
    )
    pairs = lime_explanation.local_exp[target]
    place = {word.text: feature for feature, word in enumerate(document.words)}
    named = [lime_explanation.domain_mapper.indexed_string.word(feature) for feature, _ in pairs]
    return explanation(
        document, np.array([place[str(word)] for word in named]), np.array([float(weight) for _, weight in pairs])
    )
