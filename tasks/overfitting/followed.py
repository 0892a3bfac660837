"""What the overfitting test follows over the nights: p and the gap of every test that is judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import Finding


def followed(findings: Sequence[Finding]) -> Iterator[Headline]:
    """Per subject and generator the p-value and the gap on the test set; controls, and what is only shown, are not."""
    judged = [one for one in findings if one.metric == "overfitting.p_value" and one.verdict]
    gaps = {
        (one.subject, one.of, one.group): one for one in findings if one.metric == "overfitting.gap"
    }  # fmt: skip
    for one in judged:
        about = (one.subject, one.of, one.group)
        yield from headline_of(sliced("p of overfitting", *about), one, "number")
        yield from headline_of(sliced("Gap of overfitting", *about), gaps.get(about), "number")
