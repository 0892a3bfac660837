"""Findings in words: a share with its interval, what a test lets one conclude, the first few of many subjects."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.numerals import interval, p_concluded, percent, plural
from assay.tasks.statistics.findings import Finding

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
