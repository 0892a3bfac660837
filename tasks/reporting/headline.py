"""Of the lines of verdict the one that says most of a run, and the red flags that were raised."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.parts import Verdict
from assay.tasks.statistics.findings import FindingIndex


def worst_of(verdicts: Sequence[Verdict], status: str) -> Verdict | None:
    """The line that says most of a run whose other lines nobody will read: why a gate failed, else the first bad one,
    else the first.

    >>> lines = [Verdict("all is well", "good"), Verdict("a red flag", "bad"), Verdict("1 of 2 gates passed", "bad")]
    >>> worst_of(lines, "done").text, worst_of(lines, "gate failed").text, worst_of(lines[:1], "done").text
    ('a red flag', '1 of 2 gates passed', 'all is well')
    """
    bad = [line for line in verdicts if line.tone == "bad"]
    if bad:
        return bad[-1 if status == "gate failed" else 0]
    return next(iter(verdicts), None)


def red_flags(findings: FindingIndex) -> tuple[str, ...]:
    """The red flags that were raised, each with the subject it is about.

    >>> from assay.tasks.statistics.findings import Finding
    >>> red_flags(FindingIndex([Finding("attack.red_flag", of="one-step", subject="plain", value=1.0)]))
    ('one-step (plain)',)
    """
    raised = [one for one in findings if one.metric.endswith(".red_flag") and one.value == 1.0]
    return tuple(f"{one.of} ({one.subject})" if one.subject else one.of for one in raised)
