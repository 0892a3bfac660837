"""What an explainer is to everybody else: its word, its function, and whether it looks inside the subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.infra.choices import Named, tried

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.trust.explainers.documents import Document
    from assay.tasks.trust.explainers.explanation import Explanation
    from assay.tasks.trust.explainers.settings import Explaining

GROUP = "assay.explainers"
"""Where installed packages offer explainers."""


@dataclass(frozen=True)
class ExplainerChoice(Named):
    """An explainer that a pipeline can name.

    `explain` is given the subject, a document with at least one word, the class to explain in, the options, and a
    generator of its own, from which all draws come; `most_important` makes an explanation of one number per word.
    One that `looks_inside` is handed a `TokenModel`, and is refused for a subject that is a function of texts.
    """

    explain: Callable[[Any, Document, int, Explaining, np.random.Generator], Explanation]
    looks_inside: bool = False

    def conformance(self) -> list[str]:
        """What keeps the explainer from being one, as a sentence: it is tried on a few texts."""
        from assay.tasks.trust.explainers.conformance import check_explainer

        return tried(lambda: check_explainer(self))
