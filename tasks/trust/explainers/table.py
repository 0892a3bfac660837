"""The explainers that a pipeline can name, and the options of one. A new explainer is a module of its own, and a
line here; those that take a few lines stand here: words by what the prediction loses without them, and by the gradient
at their embeddings (TOKI, section 5, after Li et al. 2016 and its reference 38).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from assay.infra.settings import Settings
from assay.infra.user_code.choices import NamedChoices
from assay.tasks.subjects.texts.model import TextModel, TokenModel
from assay.tasks.trust.explainers.choice import GROUP, Effort, ExplainerChoice
from assay.tasks.trust.explainers.documents import Document, Explanation, most_important, perturbed
from assay.tasks.trust.explainers.lime import LIME, LIME_PACKAGE


def explain_by_omission(
    model: TextModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    """Per word p(target | text) - p(target | text without the word): above zero, the word speaks for the class."""
    d = len(document.words)
    masks = np.concatenate([np.ones((1, d), dtype=bool), ~np.eye(d, dtype=bool)])
    confidence = perturbed(document, model)(masks)[:, target]
    return most_important(document, confidence[0] - confidence[1:], effort.top_words)


def explain_by_gradient(
    model: TokenModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    """Per word Σ gradient · input embedding over its pieces: to first order, what log p(target) owes to the word."""
    gradient = model.gradients(document.whole, target).astype(np.float64)
    per_token = (gradient * model.embeddings(document.tokens.ids).astype(np.float64)).sum(axis=1)
    of = document.token_feature
    importance = np.bincount(of[of >= 0], per_token[of >= 0], len(document.words)).astype(np.float64)
    return most_important(document, importance, effort.top_words)


def explain_by_gradient_norm(
    model: TokenModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    """Per word the L1 norm of its pieces' mean gradient, as A2T ranks words: never negative, so every word enters."""
    gradient = model.gradients(document.whole, target).astype(np.float64)
    at, occurrences = document.token_occurrence, len(document.occurrences)
    summed = np.zeros((occurrences, gradient.shape[1]))
    np.add.at(summed, at[at >= 0], gradient[at >= 0])
    pieces = np.maximum(np.bincount(at[at >= 0], minlength=occurrences), 1)
    norms = np.abs(summed / pieces[:, None]).sum(axis=1)
    importance = np.bincount(document.feature, norms, len(document.words)).astype(np.float64)
    return most_important(document, importance, effort.top_words)


OMISSION = ExplainerChoice("omission", explain_by_omission)
GRADIENT = ExplainerChoice("gradient", explain_by_gradient, looks_inside=True)
GRADIENT_NORM = ExplainerChoice("gradient-l1", explain_by_gradient_norm, looks_inside=True)

EXPLAINERS: NamedChoices[ExplainerChoice] = NamedChoices(
    "explainer", GROUP, ExplainerChoice, (LIME, LIME_PACKAGE, OMISSION, GRADIENT, GRADIENT_NORM)
)


if TYPE_CHECKING:
    ExplainerName = str
else:
    ExplainerName = EXPLAINERS.literal


class Explaining(Settings):
    """How a prediction is explained: by which method, in how many words."""

    explainer: ExplainerName = "lime"
    """LIME by our engine or by the `lime` package, omission of one word at a time, gradient × embedding (signed), or
    the gradient's L1 norm (unsigned: every word speaks for the prediction)."""

    top_words: int = Field(default=10, ge=1, le=1000)
    """How many words an explanation has at most. Like the `lime` package, LIME selects up to 6 words by forward
    selection, and more by their weight in a model of all words."""

    samples: int = Field(default=5000, ge=10, le=1_000_000)
    """How many perturbed texts LIME asks the subject about, the text itself among them."""
