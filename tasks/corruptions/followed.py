"""What corruptions follow over the nights: how often answers flip, and what the worst of them leaves right."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.corruptions.tallies import ALL, MEAN
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex, lowest


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the mean flip probability, and the lowest accuracy under one perturbation."""
    for subject in findings.distinct("subject", "corruption"):
        flips = findings.get("corruption.flip_probability", subject, MEAN, ALL)
        yield from headline_of(sliced("Answers that flip from frame to frame", subject), flips)
        left = findings.select("corruption.accuracy", subject=subject, group=ALL)
        worst = lowest(one for one in left if one.of != MEAN)
        yield from headline_of(sliced("Accuracy under the worst corruption", subject), worst)
