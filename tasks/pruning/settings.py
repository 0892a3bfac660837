"""The options of pruning: which correlation makes two labelling functions dependent, and how they are ranked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.infra.settings import Settings


class Pruning(Settings):
    """Which labelling functions are kept; left out, all.

    Algorithm 1 keeps a set of labelling functions no two of which depend on each other.
    """

    correlation: float = Field(default=0.5, ge=0.0, le=1.0)
    """δ: two functions whose votes correlate more strongly, either way, depend on each other."""

    clique_budget: int = Field(default=1_000_000, ge=1)
    """How many maximal cliques may be counted before the stage gives up: their number can explode."""

    rank: Literal["cliques", "degree"] = "cliques"
    """What ranks the functions: their maximal cliques (the paper) or their neighbours (never explodes)."""
