"""Whether probabilities are chances, as every table says it: calibration error, Brier's score, risk."""

from __future__ import annotations

from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.parts import Cell, Column
from assay.tasks.statistics.findings import FindingIndex

CALIBRATION = Column("Calibration error", "percent", "How far the confidence is from the share right, on average (ECE)")
BRIER = Column("Brier", "number", "Mean squared error of the probabilities; 0 is best")
RISK = Column("Risk", "percent", "Area under the risk-coverage curve: the mean error of the surest share answered")

CHANCES = (CALIBRATION, BRIER, RISK)


def chance_cells(findings: FindingIndex, stage: str, subject: str, of: str, group: str = "") -> list[Cell]:
    """The cells under `CHANCES`, None where nothing was measured.

    >>> from assay.tasks.statistics.findings import Finding
    >>> index = FindingIndex([Finding("attack.ece", "pgd", "eps=0.1", "net", 0.3)])
    >>> [getattr(cell, "value", None) for cell in chance_cells(index, "attack", "net", "pgd", "eps=0.1")]
    [0.3, None, None]
    """
    return [estimate(findings.get(f"{stage}.{name}", subject, of, group)) for name in ("ece", "brier", "aurc")]
