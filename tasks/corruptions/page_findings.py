"""The findings about corruptions, as the page asks for them."""

from __future__ import annotations

from assay.tasks.corruptions.table import in_order
from assay.tasks.corruptions.tallies import ALL, MEAN, severity_group
from assay.tasks.statistics.findings import Finding, FindingIndex


class CorruptionFindings:
    """The findings about corruptions, as the page asks for them; the first subject is the reference."""

    def __init__(self, findings: FindingIndex) -> None:
        self._findings = findings
        compared = findings.distinct("subject", "corruption.relative_flip_probability")
        subjects, tried = (findings.distinct(field, "corruption") for field in ("subject", "of"))
        self.subjects = sorted(subjects, key=lambda subject: (subject in compared, subject))
        self.perturbations = list(in_order(set(tried) - {MEAN, ""}))
        severities = {one.slice.severity for one in findings.select("corruption")}
        self.severities = [severity for severity in range(1, 6) if severity in severities]

    def get(self, metric: str, subject: str, of: str, severity: int | None) -> Finding | None:
        """The finding, if it has a value; no severity stands for all of them together."""
        group = ALL if severity is None else severity_group(severity)
        return self._findings.get(f"corruption.{metric}", subject, of, group)

    def worst(self, metric: str, subject: str) -> Finding | None:
        """The worst cell, one perturbation at one severity, with an interval that holds for all of them at once."""
        return self._findings.get(f"corruption.worst_{metric}", subject)


def name_of(perturbation: str) -> str:
    """A perturbation as the page calls it.

    >>> name_of("gaussian-noise"), name_of("tilt")
    ('Gaussian noise', 'Tilt')
    """
    return perturbation.replace("-", " ").capitalize()
