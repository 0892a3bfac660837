"""The explainers that a pipeline can name, and the options of one. A new explainer is a module of its own, and a
line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from assay.infra.settings import Settings
from assay.infra.user_code.choices import NamedChoices
from assay.tasks.trust.explainers.choice import GROUP, Effort, ExplainerChoice

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.subjects.texts.model import TextModel, TokenModel
    from assay.tasks.trust.explainers.documents import Document, Explanation


def _lime(
    model: TextModel, document: Document, target: int, effort: Effort, generator: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.lime import explain_by_lime

    return explain_by_lime(model, document, target, effort, generator)


def _lime_package(
    model: TextModel, document: Document, target: int, effort: Effort, generator: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.lime import explain_by_lime_package

    return explain_by_lime_package(model, document, target, effort, generator)


def _omission(model: TextModel, document: Document, target: int, effort: Effort, _: np.random.Generator) -> Explanation:
    from assay.tasks.trust.explainers.saliency import explain_by_omission

    return explain_by_omission(model, document, target, effort.top_words)


def _gradient(
    model: TokenModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.saliency import explain_by_gradient

    return explain_by_gradient(model, document, target, effort.top_words)


def _gradient_norm(
    model: TokenModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.saliency import explain_by_gradient_norm

    return explain_by_gradient_norm(model, document, target, effort.top_words)


EXPLAINERS: NamedChoices[ExplainerChoice] = NamedChoices(
    "explainer",
    GROUP,
    ExplainerChoice,
    (
        ExplainerChoice("lime", _lime),
        ExplainerChoice("lime-package", _lime_package),
        ExplainerChoice("omission", _omission),
        ExplainerChoice("gradient", _gradient, looks_inside=True),
        ExplainerChoice("gradient-l1", _gradient_norm, looks_inside=True),
    ),
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
