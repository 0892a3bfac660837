"""The explainers that a pipeline can name, and the options of one. A new explainer is a module of its own, and a
line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from assay.infra.settings import Settings
from assay.infra.user_code.choices import NamedChoices
from assay.tasks.trust.explainers.choice import GROUP, ExplainerChoice
from assay.tasks.trust.explainers.lime import LIME, LIME_PACKAGE
from assay.tasks.trust.explainers.saliency import GRADIENT, GRADIENT_NORM, OMISSION

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
