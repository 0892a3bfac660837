"""What pruning follows over the nights: how many rules it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.tasks.reporting.following import Headline, headline_of
from assay.tasks.statistics.findings import Finding


def followed(findings: Sequence[Finding]) -> Iterator[Headline]:
    """The number of rules that are kept."""
    for one in findings:
        if one.metric == "pruning.kept" and not one.of:
            yield from headline_of("Rules kept", one, "number")
