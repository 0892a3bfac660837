"""Options of the audit of hardness."""

from __future__ import annotations

from pydantic import Field

from assay.infra.settings import Settings


class Hardness(Settings):
    """How measures of hardness are held against each other."""

    subjects: tuple[str, ...] | None = None
    """The subjects whose measures are related; left out, all of them. Every subject adds pairs to what is corrected."""

    hardest: float = Field(default=0.25, gt=0, lt=1)
    """A sample is hard by a measure if it is among this share of the hardest; one hard by all measures is listed."""

    shown: int = Field(default=12, ge=0, le=100)
    """How many of the samples that are hard by every measure the report shows of each subject."""
