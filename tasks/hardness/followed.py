"""What the audit of hardness follows over the nights: how well our order and the confidence rank true errors."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.hardness.measures import CONFIDENCE, THETA
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex

_NAMES = {
    THETA: "Errors harder than right answers by the rules' labels",
    CONFIDENCE: "Errors harder than right answers by the confidence",
}


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the AUC of the order and of the confidence."""
    for area in findings.select("hardness.auc"):
        if area.of in _NAMES:
            yield from headline_of(sliced(_NAMES[area.of], area.subject), area, "number")
