"""A finding: one measured thing, with its n and its interval; and the index in which findings are looked up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeVar, overload

import pyarrow as pa

from assay.data.schemas import Findings
from assay.tasks.statistics.slices import Slice, slice_of

T = TypeVar("T", bound=Hashable)


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

    @property
    def slice(self) -> Slice:
        """Its group in fields."""
        return slice_of(self.group)

    @property
    def concluded_p(self) -> float | None:
        """The p that a conclusion rests on: the corrected one, where the run corrects."""
        return self.p_value if self.p_adjusted is None else self.p_adjusted

    @property
    def degenerate(self) -> bool:
        """Whether its verdict says that what was measured (almost) always answers the same."""
        return self.verdict.startswith("degenerate")


class FindingIndex(Sequence[Finding]):
    """Findings in their order, looked up by metric, subject, `of` and group.

    >>> index = FindingIndex([Finding("attack.accuracy", "pgd", "eps=0.1", "plain", 0.2), Finding("attack.limit", "a")])
    >>> index.get("attack.accuracy", "plain", "pgd", "eps=0.1").value, index.get("attack.limit", of="a")
    (0.2, None)
    >>> index.distinct("of", "attack"), [one.slice.eps for one in index.select("attack.accuracy")]
    (['pgd', 'a'], [0.1])
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._findings = tuple(findings)
        self._by_key: dict[tuple[str, str, str, str], Finding] = {}
        self._by_metric: dict[str, list[Finding]] = {"": list(self._findings)}
        for finding in self._findings:
            self._by_key.setdefault((finding.metric, finding.subject, finding.of, finding.group), finding)
            for name in {finding.metric, finding.stage}:
                self._by_metric.setdefault(name, []).append(finding)

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, at: int | slice) -> Finding | tuple[Finding, ...]:
        return self._findings[at]

    def entry(self, metric: str, subject: str = "", of: str = "", group: str = "") -> Finding | None:
        """The finding of that name, also where it has no value and its verdict says why."""
        return self._by_key.get((metric, subject, of, group))

    def get(self, metric: str, subject: str = "", of: str = "", group: str = "") -> Finding | None:
        """The finding of that name, if it has a value."""
        finding = self.entry(metric, subject, of, group)
        return None if finding is None or finding.value is None else finding

    def select(
        self, metric: str = "", *, subject: str | None = None, of: str | None = None, group: str | None = None
    ) -> list[Finding]:
        """The findings of a metric (`attack.accuracy`) or of a stage (`attack`), in their order; of all where none is
        named. What is left out matches all."""
        return [
            finding
            for finding in self._by_metric.get(metric, ())
            if (subject is None or finding.subject == subject)
            and (of is None or finding.of == of)
            and (group is None or finding.group == group)
        ]

    def first(self, metric: str, *, subject: str | None = None, of: str | None = None) -> Finding | None:
        """The first finding of a metric, whatever its group."""
        return next(iter(self.select(metric, subject=subject, of=of)), None)

    def distinct(
        self,
        field: Literal["subject", "of", "group"],
        metric: str = "",
        *,
        subject: str | None = None,
        of: str | None = None,
        group: str | None = None,
    ) -> list[str]:
        """What the selected findings have in a field, each once, in their order."""
        return distinct(getattr(finding, field) for finding in self.select(metric, subject=subject, of=of, group=group))


def distinct(values: Iterable[T]) -> list[T]:
    """Each value once, in the order of their first appearance.

    >>> distinct("abca")
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(values))


def measured(findings: Iterable[Finding | None]) -> list[Finding]:
    """Those of the findings that were made and have a value."""
    return [finding for finding in findings if finding is not None and finding.value is not None]


def lowest(findings: Iterable[Finding | None]) -> Finding | None:
    """The finding with the lowest value, the first of several; None where none has a value."""
    return min(measured(findings), key=lambda finding: finding.value or 0.0, default=None)


def highest(findings: Iterable[Finding | None]) -> Finding | None:
    """The finding with the highest value, the first of several; None where none has a value."""
    return max(measured(findings), key=lambda finding: finding.value or 0.0, default=None)


def findings_table(findings: Sequence[Finding]) -> pa.Table:
    """The findings as the table that `Findings` declares; metric names keep their stage in front."""
    rows = [asdict(finding) | {"stage": finding.stage} for finding in findings]
    columns = {name: [row[name] for row in rows] for name in Findings.schema.names}
    return pa.table(columns, schema=Findings.schema)


def findings_from(table: pa.Table) -> list[Finding]:
    """The findings that a table holds."""
    names = Finding.__dataclass_fields__
    return [Finding(**{name: row[name] for name in names}) for row in table.to_pylist()]
