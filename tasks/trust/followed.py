"""What trust follows over the nights: right answers for wrong reasons, and how good the oracle itself is."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.trust.page_findings import TrustFindings


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject, by its first explainer: the untrustworthy share, and TOKI's G-mean where the truth is known."""
    trust = TrustFindings(findings)
    for subject in trust.subjects:
        for explainer in trust.explainers(subject)[:1]:
            share = trust.get("untrustworthy", subject, explainer, "all")
            yield from headline_of(sliced("Right for the wrong reasons", subject, explainer), share)
            g_mean = trust.get("g_mean", subject, "toki", explainer)
            yield from headline_of(sliced("G-mean of TOKI", subject, explainer), g_mean, "number")
