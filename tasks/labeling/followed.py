"""What labelling follows over the nights: how many samples some rule votes on."""

from __future__ import annotations

from collections.abc import Iterable

from assay.tasks.reporting.following import Headline, headline_of
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterable[Headline]:
    """The coverage of all rules together."""
    return headline_of("Samples some rule votes on", findings.get("labeling.coverage"))
