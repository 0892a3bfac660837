"""The options of ordering (how wide the intervals are, how many curated sets there are, how their order is tested), and
the four approaches of Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import Field

from assay.infra.settings import Settings

Score = Literal["bound", "confidence", "entropy", "learned"]
SCORES_IN_WORDS: dict[Score, str] = {
    "bound": "its lower end",
    "confidence": "that confidence",
    "entropy": "how little the votes are divided (their entropy)",
    "learned": "a score of how likely the label is right, learned from true classes of other samples",
}
SCORES: tuple[Score, ...] = get_args(Score)


class Ordering(Settings):
    """How samples are ordered into D1 … DN, ever more adversarial."""

    alpha: float = Field(default=0.05, gt=0.0, lt=1.0)
    """α: the chance that a Clopper-Pearson interval misses the true confidence."""

    datasets: int = Field(default=10, ge=3, le=1000)
    """N: how many curated sets D1 … DN, each holding the one before it; the trend test needs three."""

    by: Score = Field(default="bound", exclude_if=lambda score: score == "bound")
    """What orders: the lower `bound` of the confidence's interval, the `confidence`, the votes' `entropy`, or a score
    `learned` from gold of other samples."""

    compare: bool = False
    """Whether the paper's three other approaches (Table 1 and Figure 2) and the other scores are measured as well."""

    curate: Literal["all", "labelled"] = "all"
    """Which samples are ordered: all, or only those with gold; all train the labeler."""

    undecided: Literal["apart", "default"] = Field(default="apart", exclude_if=lambda chosen: chosen == "apart")
    """Samples that no class wins: `apart` from the order's test, or in it with their `default` label, as the
    hardest."""

    permutations: int = Field(default=2000, ge=2000, le=1_000_000)
    """How many random orders the observed trend is compared with."""

    significance: float = Field(default=0.01, gt=0.0, lt=1.0)
    """γ: how often chance alone may show such a trend for it to count."""


@dataclass(frozen=True)
class Approach:
    """A way to order samples: `functions` that vote (`all`, or the `panel` kept by pruning), `score` to sort by."""

    name: str
    functions: Literal["all", "panel"]
    score: Literal["confidence", "lower"]


OURS = Approach("ours", "panel", "lower")
APPROACHES = (
    Approach("pl_all", "all", "confidence"),
    Approach("pl_indep", "panel", "confidence"),
    Approach("ci_all", "all", "lower"),
    OURS,
)


def approach_named(name: str) -> Approach:
    """The approach of that name.

    >>> approach_named("ci_all").functions
    'all'
    """
    return next(approach for approach in APPROACHES if approach.name == name)
