"""What an explainer is to everybody else: its word, its function, and whether it looks inside the subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from assay.infra.choices import Named

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.trust.explainers.documents import Document
    from assay.tasks.trust.explainers.explanation import Explanation

GROUP = "assay.explainers"
"""Where installed packages offer explainers."""


class Effort(Protocol):
    """How much an explainer says, and asks."""

    @property
    def top_words(self) -> int:
        """How many words an explanation has at most."""
        ...

    @property
    def samples(self) -> int:
        """How many perturbed texts the subject is asked about."""
        ...


@dataclass(frozen=True)
class ExplainerChoice(Named):
    """An explainer that a pipeline can name.

    `explain` is given the subject, a document with at least one word, the class to explain in, the options, and a
    generator of its own, from which all draws come; `most_important` makes an explanation of one number per word.
    One that `looks_inside` is handed a `TokenModel`, and is refused for a subject that is a function of texts.
    """

    explain: Callable[[Any, Document, int, Effort, np.random.Generator], Explanation]
    looks_inside: bool = False

    def conformance(self) -> list[str]:
        """What keeps the explainer from being one, a sentence: it is tried on a few texts."""
        from assay.tasks.trust.explainers.conformance import explainer_conformance

        return explainer_conformance(self)
