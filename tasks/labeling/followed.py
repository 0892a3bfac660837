"""What labelling follows over the nights: how many samples some rule votes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.tasks.reporting.following import Headline, headline_of
from assay.tasks.statistics.findings import Finding


def followed(findings: Sequence[Finding]) -> Iterator[Headline]:
    """The coverage of all rules together."""
    for one in findings:
        if one.metric == "labeling.coverage" and not one.of:
            yield from headline_of("Samples some rule votes on", one)
