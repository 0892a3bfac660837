"""Which findings each stage can measure: a gate on any other would fail every night, so it is refused at the door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.flows.audits.kind import AuditKind, Measured
from assay.flows.configuration.mistakes import suggestion


def stages_of(kinds: Sequence[AuditKind[Any]]) -> dict[str, Measured]:
    """The stages whose findings gates may name."""
    return {measured.stage: measured for kind in kinds for measured in kind.measures}


def unknown_metric(finding: str, kinds: Sequence[AuditKind[Any]]) -> str:
    """What is wrong with the `stage.metric` that a gate names, and what was probably meant; empty where it exists.

    >>> from assay.flows.audits.table import KINDS
    >>> unknown_metric("attack.acuracy", KINDS), unknown_metric("attack.accuracy", KINDS)
    ('no stage measures attack.acuracy; did you mean attack.accuracy?', '')
    """
    known = stages_of(kinds).get(finding.partition(".")[0])
    if known is None or finding in known.names:
        return ""
    return f"no stage measures {finding}; {suggestion(finding, known.names)}"
