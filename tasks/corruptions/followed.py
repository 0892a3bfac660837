"""What corruptions follow over the nights: how often answers flip, and what the worst of them leaves right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.tasks.corruptions.findings import ALL, MEAN
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import Finding


def followed(findings: Sequence[Finding]) -> Iterator[Headline]:
    """Per subject the mean flip probability, and the lowest accuracy under one perturbation."""
    mine = [one for one in findings if one.stage == "corruption" and one.group == ALL and one.value is not None]
    for subject in dict.fromkeys(one.subject for one in mine):
        for one in mine:
            if (one.metric, one.of, one.subject) == ("corruption.flip_probability", MEAN, subject):
                yield from headline_of(sliced("Answers that flip from frame to frame", subject), one)
        left = [
            one for one in mine
            if one.metric == "corruption.accuracy" and one.of != MEAN and one.subject == subject
        ]  # fmt: skip
        worst = min(left, key=lambda one: one.value or 0.0, default=None)
        yield from headline_of(sliced("Accuracy under the worst corruption", subject), worst)
