"""What defences follow over the nights: what the best of them leaves right under attack."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.attacks.page_findings import eps_text
from assay.tasks.defenses.page_findings import DefenceFindings
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the accuracy of its best defended model at the ε that most defences were made for."""
    defence_findings = DefenceFindings(findings)
    if defence_findings.group:
        for subject in defence_findings.subjects:
            name = sliced("Accuracy of the best defence", subject, f"ε = {eps_text(defence_findings.group)}")
            yield from headline_of(name, defence_findings.best_accuracy(subject))
