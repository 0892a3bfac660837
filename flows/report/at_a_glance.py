"""What is read first of a run: its lines of verdict, and the numbers that are followed over the nights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.flows.audits.kind import AuditKind
from assay.tasks.reporting.following import Headline
from assay.tasks.reporting.parts import Verdict
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.gates import GateResult


def verdicts_of(
    kinds: Sequence[AuditKind[Any]], findings: FindingIndex, gates: Sequence[GateResult]
) -> tuple[Verdict, ...]:
    """What a person reads first, in the terminal and at the head of the page."""
    from assay.tasks.reporting.gates import verdict as of_the_gates

    lines = [line for kind in kinds for line in kind.verdict(findings)]
    return (*lines, *of_the_gates(gates))


def followed_in(kinds: Sequence[AuditKind[Any]], findings: FindingIndex) -> tuple[Headline, ...]:
    """What each audit follows over the nights, in the order of a reader's interest."""
    return tuple(headline for kind in kinds for headline in kind.followed(findings))
