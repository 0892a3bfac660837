"""A finding: one measured thing, with its slice, its n and its interval; the index in which findings are looked
up, their table, and those that a run left in the store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal, TypeVar, overload

import pyarrow as pa

from assay.data.schemas import Findings
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store

TRAINING = "training"
"""The split that a group names where something was measured on what was learned from."""

_MADE_FOR = "made for "


@dataclass(frozen=True)
class Slice:
    """A group in fields: what it names by `key=value` or by a fixed word, and under `name` the rest of it.

    `name` is a class, a labeler, an encoder, a kind of noise, an attack, a data set; whatever the metric is sliced by.
    """

    name: str = ""
    eps: float | None = None
    eps_text: str = ""
    severity: int | None = None
    share: float | None = None
    changes: int | None = None
    offset: int | None = None
    radius: float | None = None
    models: int | None = None
    split: str = ""
    made_for: str = ""

    @property
    def dataset(self) -> int | None:
        """The i of the curated data set D_i."""
        return _number_after("D", self.name)

    @property
    def stratum(self) -> int | None:
        """The i of what D_i adds to the data set before it."""
        return _number_after("stratum ", self.name)


@cache
def slice_of(group: str) -> Slice:
    """A group in fields.

    >>> slice_of("eps=4/255, training, melanoma")
    Slice(name='melanoma', eps=0.01568..., eps_text='4/255', ..., split='training', made_for='')
    >>> slice_of("typos, severity=3").severity, slice_of("share=0.5, changes=2").changes, slice_of("D10").dataset
    (3, 2, 10)
    """
    fields: dict[str, float | str] = {}
    names = []
    for piece in group.split(", "):
        key, _, value = piece.partition("=")
        number = _FIELDS[key][1](value) if key in _FIELDS else None
        if number is not None and _FIELDS[key][0] not in fields:
            fields |= {_FIELDS[key][0]: number} | ({"eps_text": value} if key == "eps" else {})
        elif piece == TRAINING:
            fields["split"] = piece
        elif piece.startswith(_MADE_FOR):
            fields["made_for"] = piece.removeprefix(_MADE_FOR)
        else:
            names.append(piece)
    return Slice(", ".join(names), **fields)  # type: ignore[arg-type]  # each field by the reader of its key


def _fraction(text: str) -> float | None:
    try:
        number = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None
    return number if math.isfinite(number) else None


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


_FIELDS: Mapping[str, tuple[str, Callable[[str], float | None]]] = {
    "eps": ("eps", _fraction),
    "severity": ("severity", _whole),
    "share": ("share", _fraction),
    "changes": ("changes", _whole),
    "offset": ("offset", _whole),
    "radius": ("radius", _fraction),
    "N": ("models", _whole),
}
"""The keys that groups are written with: the field of each, and what reads its value (None: a name that looks so)."""


def _number_after(prefix: str, name: str) -> int | None:
    return _whole(name.removeprefix(prefix)) if name.startswith(prefix) else None


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
    def key(self) -> tuple[str, str, str, str]:
        """What it is of: metric, `of`, group and subject; no other finding of its run has the same."""
        return self.metric, self.of, self.group, self.subject

    @property
    def stage(self) -> str:
        """The stage that measured it: what stands before the first dot of the metric."""
        return self.metric.partition(".")[0]

    @property
    def about(self) -> tuple[str, str, str]:
        """Whose it is, of what and of which slice: what findings are looked up by, besides the metric."""
        return self.subject, self.of, self.group

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

    def estimated(self, estimate: object, *, verdict: str = "") -> Finding:
        """The finding with an estimate's `value`, `low` and `high`; "not measured", or why not, where it has no value.

        >>> from assay.tasks.statistics.resampling import Interval
        >>> Finding("a.b", n=4).estimated(Interval(0.5, float("nan"), float("nan"))).low is None
        True
        """
        value, low, high = (_known(getattr(estimate, end, None)) for end in ("value", "low", "high"))
        if value is None:
            return replace(self, verdict=verdict or "not measured")
        return replace(self, value=value, low=low, high=high, verdict=verdict)


def _known(number: float | None) -> float | None:
    """The number, None where it is NaN."""
    return None if number is None or math.isnan(number) else float(number)


class FindingIndex(Sequence[Finding]):
    """Findings in their order, looked up by metric, subject, `of` and group.

    >>> index = FindingIndex([Finding("attack.accuracy", "pgd", "eps=0.1", "plain", 0.2), Finding("attack.limit", "a")])
    >>> index.get("attack.accuracy", "plain", "pgd", "eps=0.1").value, index.get("attack.limit", of="a")
    (0.2, None)
    >>> index.distinct("of", "attack"), [finding.slice.eps for finding in index.select("attack.accuracy")]
    (['pgd', 'a'], [0.1])
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._findings = tuple(findings)
        self._by_key: dict[tuple[str, str, str, str], Finding] = {}
        self._by_metric: dict[str, list[Finding]] = {"": list(self._findings)}
        for finding in self._findings:
            self._by_key.setdefault((finding.metric, *finding.about), finding)
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


def findings_of(store: Store, record: RunRecord) -> list[Finding]:
    """The findings of a run."""
    from assay.infra.storage.parquet import read_parquet

    try:
        return findings_from(read_parquet(store.folder, f"runs/{record.id}/findings.parquet"))
    except FileNotFoundError:
        raise InputError(f"Run {record.id} has no findings: it is {record.status}.  (assay runs shows all)") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"The findings of run {record.id} are damaged ({error}); run it again.") from None
