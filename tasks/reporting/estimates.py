"""How findings are shown: as cells of a table, as lines of a plot, and in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.numerals import interval, p_concluded, percent, plural
from assay.tasks.reporting.parts import Cell, Column, Estimate, Series, SeriesStyle
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.proportions import wilson


def estimate(finding: Finding | None, *, counted: bool = True) -> Estimate | None:
    """A finding as a cell, with its interval and (`counted`) its n; None where it was not measured."""
    if finding is None or finding.value is None:
        return None
    return Estimate(finding.value, finding.low, finding.high, finding.n if counted else None)


def share_estimate(hits: int, n: int, *, counted: bool = True) -> Estimate | None:
    """So many of n as a cell, with Wilson's 95 % interval; None of nothing."""
    if not n:
        return None
    (low,), (high,) = wilson([hits], [n])
    return Estimate(hits / n, float(low), float(high), n if counted else None)


def series_of(
    name: str,
    places: Sequence[float],
    findings: Sequence[Finding | None],
    style: SeriesStyle = "line",
    names: Sequence[str] | None = None,
) -> Series:
    """Findings as a line with their intervals; a gap where one is missing."""
    y, low, high = ([getattr(finding, end, None) for finding in findings] for end in ("value", "low", "high"))
    return Series(name, places, y, low, high, style, names)


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


NAMED = 3
"""Subjects that a line names; how many more there are stands behind them."""


def counted_by(units: int, name: str = "group") -> str:
    """That intervals do not count samples one by one, where these stand in groups.

    >>> counted_by(75)
    'The audited samples stand in 75 groups, and these are what intervals and tests count.'
    """
    return f"The audited samples stand in {plural(units, name)}, and these are what intervals and tests count."


def share_text(finding: Finding, digits: int = 1) -> str:
    """A share with its interval, as a sentence has it.

    >>> share_text(Finding("subject.accuracy", value=0.941, low=0.881, high=0.97), 0).replace(chr(0x202F), " ")
    '94 % [88, 97]'
    """
    return f"{percent(finding.value, digits)} {interval(finding.low, finding.high, digits=digits)}".strip()


def after_holm(test: Finding) -> str:
    """What is concluded from a test, and its p after Holm's correction, where the run corrects.

    >>> after_holm(Finding("attack.mcnemar_p", verdict="worse", p_value=0.001, p_adjusted=0.004))
    'worse (p = 0.004 after Holm)'
    """
    if test.p_value is None:
        return test.verdict
    return f"{test.verdict} ({p_concluded(test.p_value, test.p_adjusted)})"


def first_few(of_subjects: Sequence[str], between: str = "; ") -> str:
    """What is said of each subject, of the first few.

    >>> first_few(["a: 1", "b: 2"]), first_few(["a", "b", "c", "d"], ", ")
    ('a: 1; b: 2', 'a, b, c; 1 more subject below')
    """
    return between.join(of_subjects[:NAMED]) + more_below(len(of_subjects))


def more_below(subjects: int) -> str:
    """How many subjects a line does not name."""
    return f"; {plural(subjects - NAMED, 'more subject')} below" if subjects > NAMED else ""


def capital(text: str) -> str:
    """The text with a capital at its head.

    >>> capital("at ε = 0.1"), capital("")
    ('At ε = 0.1', '')
    """
    return text[:1].upper() + text[1:]
