"""What a labeler is to everybody else: its word, and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.infra.choices import Named
from assay.infra.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from assay.tasks.statistics.vote_counts import VoteCounts
    from assay.tasks.weak_labels.models import Labeler, Options

    CastVotes = npt.NDArray[np.int8]  # [n, m], the class that each function votes for, -1 where it abstains
    Probabilities = npt.NDArray[np.float64]  # [n, k]

GROUP = "assay.labelers"
"""Where installed packages offer labelers."""


@dataclass(frozen=True)
class LabelerChoice(Named):
    """A labeler that a pipeline can name: what it learns from votes, or what it makes of them; with neither, every
    vote weighs the same.

    `learn` turns counts of votes into weights per function; `load` imports what it needs, if that takes seconds.
    `probabilities` is given the votes of some samples, [n, m] with -1 for abstaining, and the number of classes, and
    gives the probability of every class, [n, k]; a sample's may not depend on the other samples.
    """

    learn: Callable[[VoteCounts, Options], Labeler] | None = None
    load: Callable[[], None] | None = None
    probabilities: Callable[[CastVotes, int], Probabilities] | None = None

    def __post_init__(self) -> None:
        if self.learn is not None and self.probabilities is not None:
            raise InputError(
                f"The labeler {self.word} says both what it learns and what it makes of votes: give it `learn` or "
                "`probabilities`."
            )

    def conformance(self) -> list[str]:
        """What keeps the labeler from being one, a sentence: it is tried on votes."""
        from assay.tasks.weak_labels.conformance import labeler_conformance

        return labeler_conformance(self)
