"""The options of ordering: how wide the intervals are, how many curated sets there are, how their order is tested."""

from typing import Literal

from pydantic import Field

from assay.infra.settings import Settings


class Ordering(Settings):
    """Options of the adversarial order D1 … DN and of its validity test."""

    alpha: float = Field(default=0.05, gt=0.0, lt=1.0)
    """α: the chance that a Clopper-Pearson interval misses the true confidence."""

    datasets: int = Field(default=10, ge=3, le=1000)
    """N: how many curated sets D1 … DN, each holding the one before it; the trend test needs three."""

    compare: bool = False
    """Whether the paper's three other approaches are measured beside ours (Table 1 and Figure 2)."""

    curate: Literal["all", "labelled"] = "all"
    """Which samples are ordered: all, or only those whose true class is known; all of them train the labeler."""

    undecided: Literal["apart", "default"] = Field(default="apart", exclude_if=lambda chosen: chosen == "apart")
    """Samples for which no class wins: `apart` leaves them out of the order's test and counts them beside it, since
    nobody is confident of their default label; `default` tests them with that label, as the hardest there are."""

    permutations: int = Field(default=2000, ge=2000, le=1_000_000)
    """How many random orders the observed trend is compared with."""

    significance: float = Field(default=0.01, gt=0.0, lt=1.0)
    """γ: a trend counts if chance alone would show one as strong at most this often."""
