"""A whole report as a value: the parts of all audits, and what the page says of the run around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.tasks.reporting.following import Headline
from assay.tasks.reporting.parts import Part, Verdict
from assay.tasks.statistics.findings import Finding


@dataclass(frozen=True)
class LineageRow:
    """One artifact of the run: which stage made it, under which key, what came out, and whether it had to be made."""

    stage: str
    kind: str
    key: str
    digest: str
    rows: int | None
    cached: bool
    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class SettingRow:
    """One option a stage ran with."""

    stage: str
    option: str
    value: str


@dataclass(frozen=True)
class Report:
    """Everything a page shows: who, when, what came out, what failed, and one part per audit."""

    run: str
    pipeline: str
    started: str
    seconds: float
    seed: int
    status: str
    verdicts: Sequence[Verdict]
    parts: Sequence[Part]
    failures: Sequence[str] = ()
    not_asked: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    followed: Sequence[Headline] = ()
    lineage: Sequence[LineageRow] = ()
    settings: Sequence[SettingRow] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    index_link: str = ""
    sample: str = ""
    """What share of the samples it is about, where that is not all of them."""
