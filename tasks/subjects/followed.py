"""What is followed of subjects over the nights: accuracy on clean samples, or on the whole of what was curated."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.clean_page import CLEAN
from assay.tasks.subjects.page import accuracies, names

_YARDSTICKS = {"weak": "Agreement with the weak labels", "gold": "Accuracy against gold"}


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject its accuracy on clean samples; of D1 … DN, the last, which holds all samples."""
    for share in findings.select("subject.accuracy", of=CLEAN):
        yield from headline_of(sliced("Accuracy on clean samples", share.subject), share)
    for yardstick, name in _YARDSTICKS.items():
        for subject in names(findings):
            for last in accuracies(findings, subject, yardstick)[-1:]:
                yield from headline_of(sliced(name, subject, last.group), last)
