"""What the overfitting test follows over the nights: p and the gap of every test that is judged."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject and generator the p-value and the gap on the test set; controls, and what is only shown, are not."""
    for test in findings.select("overfitting.p_value"):
        if test.verdict:
            about = (test.subject, test.of, test.group)
            yield from headline_of(sliced("p of overfitting", *about), test, "number")
            gap = findings.get("overfitting.gap", *about)
            yield from headline_of(sliced("Gap of overfitting", *about), gap, "number")
