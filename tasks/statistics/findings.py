"""A finding: one measured thing, with its n and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from assay.data.schemas import Findings


@dataclass(frozen=True)
class Finding:
    """One row of the findings table; `metric` is `stage.metric`, `of` says what about, `group` which slice.

    >>> Finding("pruning.kept", value=7, n=30).stage
    'pruning'
    """

    metric: str
    of: str = ""
    group: str = ""
    subject: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    verdict: str = ""
    unit: str = ""
    run: str = ""
    pipeline: str = ""

    @property
    def stage(self) -> str:
        """The stage that measured it: what stands before the first dot of the metric."""
        return self.metric.partition(".")[0]


def findings_table(findings: Sequence[Finding]) -> pa.Table:
    """The findings as the table that `Findings` declares; metric names keep their stage in front."""
    rows = [asdict(finding) | {"stage": finding.stage} for finding in findings]
    columns = {name: [row[name] for row in rows] for name in Findings.schema.names}
    return pa.table(columns, schema=Findings.schema)


def findings_from(table: pa.Table) -> list[Finding]:
    """The findings that a table holds."""
    names = Finding.__dataclass_fields__
    return [Finding(**{name: row[name] for name in names}) for row in table.to_pylist()]
