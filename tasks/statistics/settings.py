"""Options of the statistics of a run."""

from typing import Literal

from pydantic import Field

from assay.infra.settings import Settings


class Statistics(Settings):
    """How the findings of a run are judged together."""

    significance: float = Field(default=0.01, gt=0, lt=1)
    """The level at which a p-value, corrected as below, counts as a result."""

    correction: Literal["holm", "none"] = "holm"
    """How the p-values of one run are corrected for their number: Holm's step-down method, or not at all."""
