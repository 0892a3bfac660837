"""The trust page of a run: what the oracle made is collected and handed to its room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.flows.trust import Opinion, TrustAudit
from assay.infra.partitions import collect
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import Finding
from assay.tasks.trust.page import page
from assay.tasks.trust.page_shown import Shown


def trust_parts(audit: TrustAudit, classes: Sequence[str], masked: bool, findings: Sequence[Finding]) -> Iterator[Part]:
    """The part about trust, where a subject came through."""
    if audit.opinions:
        shown = [
            _shown(subject, explainer, opinion, classes, masked)
            for subject, opinions in audit.opinions.items()
            for explainer, opinion in opinions.items()
        ]
        yield page(findings, shown)


def _shown(subject: str, explainer: str, opinion: Opinion, classes: Sequence[str], masked: bool) -> Shown:
    first = opinion.first
    return Shown(
        subject, explainer, classes,
        labels=collect(first.labels, ["id", "oracle", "predicted", "confidence", "label"]),
        keywords=collect(first.keywords, None), thresholds=collect(first.embedded.thresholds, None),
        settings=collect(opinion.thresholds, None), examples=collect(opinion.examples, None),
        truth=None if first.truth is None else collect(first.truth, ["id", "truth"]), masked=masked,
    )  # fmt: skip
