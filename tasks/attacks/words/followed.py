"""What attacks on words follow over the nights: how often each comes through."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.attacks.words.page_findings import WordFindings
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per attack and subject the share of texts that were right before and fell."""
    word_findings = WordFindings(findings)
    for subject, attack in word_findings.tried:
        name = sliced("Texts that fell, of those right before", subject, attack)
        yield from headline_of(name, word_findings.get("success_rate", subject, attack))
