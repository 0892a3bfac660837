"""The lines of verdict: each room reads its own out of the findings, the terminal and the page's head show them."""

from __future__ import annotations

from collections.abc import Callable

from assay.tasks.reporting.parts import Verdict
from assay.tasks.statistics.findings import FindingIndex

Reader = Callable[[FindingIndex], tuple[Verdict, ...]]


def headline(findings: FindingIndex, *readers: Reader) -> tuple[Verdict, ...]:
    """What each reader finds to say, in their order; a reader whose stage did not run says nothing.

    >>> headline(FindingIndex(), lambda findings: (), lambda findings: (Verdict("nothing was measured"),))
    (Verdict(text='nothing was measured', tone='neutral'),)
    """
    return tuple(line for reader in readers for line in reader(findings))
