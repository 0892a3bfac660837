"""What attacks on terms follow over the nights: the measure as it is, and under the attack that costs most."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.attacks.terms.estimates import Stage
from assay.tasks.attacks.terms.page_findings import ORIGINAL, TermFindings
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex, lowest

_MEASURES = {"f1": "F1", "pearson": "Pearson’s r"}


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject F1, or Pearson's r, on unchanged samples, and the lowest that an attack leaves."""
    stages: tuple[Stage, ...] = ("ner", "sts")
    for stage in stages:
        term_findings = TermFindings(stage, findings)
        measure = _MEASURES.get(term_findings.headline, term_findings.headline)
        for subject in term_findings.subjects:
            clean = term_findings.get(term_findings.headline, subject, ORIGINAL)
            yield from headline_of(sliced(measure, subject), clean, "number")
            worst = lowest(term_findings.get(term_findings.headline, subject, key) for key in term_findings.attacks)
            yield from headline_of(sliced(f"{measure} under the worst attack", subject), worst, "number")
