"""The overfitting page of a run: what the tests made is collected and handed to its room."""

from __future__ import annotations

from assay.flows.audits.overfitting.flow import OverfittingAudit
from assay.infra.partitions import collect
from assay.tasks.overfitting.page import page
from assay.tasks.overfitting.synthetic_findings import WITHOUT_VALUES, Runs
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import FindingIndex


def overfitting_part(audit: OverfittingAudit, findings: FindingIndex) -> Part:
    """The part about overfitting: judged tests and synthetic experiments."""
    simulated = [Runs(collect(one.runs, WITHOUT_VALUES), collect(one.tests, None)) for one in audit.simulated.values()]
    return page(findings, audit.judged, simulated, audit.alpha)
