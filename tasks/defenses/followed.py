"""What defences follow over the nights: what the best of them leaves right under attack."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.attacks.page_findings import eps_text
from assay.tasks.defenses.page_findings import DefenceFindings
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the accuracy of its best defended model at the ε that most defences were made for."""
    found = DefenceFindings(findings)
    if found.group:
        for subject in found.subjects:
            name = sliced("Accuracy of the best defence", subject, f"ε = {eps_text(found.group)}")
            yield from headline_of(name, found.best_accuracy(subject))
