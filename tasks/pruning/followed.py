"""What pruning follows over the nights: how many rules it keeps."""

from __future__ import annotations

from collections.abc import Iterable

from assay.tasks.reporting.following import Headline, headline_of
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterable[Headline]:
    """The number of rules that are kept."""
    return headline_of("Rules kept", findings.get("pruning.kept"), "number")
