"""The explainers, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.choices import NamedChoices
from assay.tasks.trust.explainers.choice import GROUP, Effort, ExplainerChoice

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.subjects.texts.model import TextModel, TokenModel
    from assay.tasks.trust.explainers.documents import Document
    from assay.tasks.trust.explainers.explanation import Explanation


def _lime(
    model: TextModel, document: Document, target: int, effort: Effort, generator: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.lime import explain_by_lime

    return explain_by_lime(model, document, target, effort, generator)


def _lime_package(
    model: TextModel, document: Document, target: int, effort: Effort, generator: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.lime_package import explain_by_lime_package

    return explain_by_lime_package(model, document, target, effort, generator)


def _omission(model: TextModel, document: Document, target: int, effort: Effort, _: np.random.Generator) -> Explanation:
    from assay.tasks.trust.explainers.omission import explain_by_omission

    return explain_by_omission(model, document, target, effort.top_words)


def _gradient(
    model: TokenModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.gradients import explain_by_gradient

    return explain_by_gradient(model, document, target, effort.top_words)


def _gradient_norm(
    model: TokenModel, document: Document, target: int, effort: Effort, _: np.random.Generator
) -> Explanation:
    from assay.tasks.trust.explainers.gradients import explain_by_gradient_norm

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
