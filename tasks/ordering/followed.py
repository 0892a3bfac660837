"""What ordering follows over the nights: how adverse our order is, and how many of its labels are right."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.reporting.parts import Scale
from assay.tasks.statistics.findings import FindingIndex

_METRICS: dict[str, tuple[str, Scale]] = {
    "ordering.auc": ("Right labels above wrong ones in the order", "percent"),
    "ordering.trend_p": ("p of the order", "number"),
    "ordering.accuracy": ("Weak labels that are right", "percent"),
}


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Of our own order, per labeler: how often a right label outranks a wrong one, p, and the share that is right."""
    for metric, (name, scale) in _METRICS.items():
        for finding in findings.select(metric, of="ours"):
            if finding.slice.dataset is None and finding.slice.stratum is None:
                yield from headline_of(sliced(name, finding.group), finding, scale)
