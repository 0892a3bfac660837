"""Two runs side by side: findings that changed, that are new, that are gone, compared by single samples where these
can be read; and which settings and results differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.flows.audits.table import KINDS
from assay.flows.kind import SAMPLES, AuditKind, Ground, Outcomes, Tables
from assay.infra.errors import RunError
from assay.infra.stages.exact import Seeds
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.between_runs import On, RunDifference, Sampled, by_intervals, difference
from assay.tasks.statistics.findings import Finding, findings_of
from assay.tasks.statistics.groups import GROUP, named_groups
from assay.tasks.statistics.multiplicity import adjusted
from assay.tasks.statistics.resampling import LEVEL

_KEPT = 6  # tables in memory at a time: findings that stand together read the same ones


def outcomes_in(kinds: Sequence[AuditKind[Any]], ground: Ground) -> Iterator[dict[str, Any]]:
    """Where the outcomes of a run lie, for its record."""
    for kind in kinds:
        if kind.name in ground.results:
            for outcomes in kind.outcomes(ground, ground.results[kind.name]):
                yield replace(outcomes, audit=kind.name).to_json()


@dataclass(frozen=True)
class KeptTables:
    """The tables of outcomes as the store keeps them."""

    store: Store
    handles: Mapping[str, Artifact[Any]]
    read_before: dict[tuple[str, tuple[str, ...]], pa.Table]

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that the table of that name has, in sample order."""
        from assay.infra.storage.parquet import open_parquet, read_part

        handle = self.handles[name]
        key = (f"{handle.uri}/{handle.digest}", tuple(columns))
        if key not in self.read_before:
            parts = self.store.output(handle).in_order
            with open_parquet(self.store.folder, parts[0].file) as first:
                there = [column for column in columns if column in first.schema_arrow.names]
            while len(self.read_before) >= _KEPT:
                self.read_before.pop(next(iter(self.read_before)))
            tables = [read_part(self.store.folder, part, there) for part in parts]
            self.read_before[key] = pa.concat_tables(tables).combine_chunks()
        return self.read_before[key]


@dataclass(frozen=True)
class KeptOutcomes:
    """The outcomes of one run, finding by finding; `gone` collects why some cannot be had."""

    store: Store
    record: RunRecord
    kinds: Sequence[AuditKind[Any]] = KINDS
    gone: list[str] = field(default_factory=list)
    _tables: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)

    @cached_property
    def declared(self) -> dict[tuple[str, str], list[Outcomes]]:
        """Where they lie, by metric and subject."""
        outcomes = map(Outcomes.from_json, self.record.outcomes)
        declared: dict[tuple[str, str], list[Outcomes]] = groupby(attrgetter("metric", "subject"), outcomes)
        return declared

    @cached_property
    def results(self) -> frozenset[tuple[str, str]]:
        """The digest of everything that the stages of the run came to: where all are the same, nothing differs."""
        return frozenset(
            (stage.stage, str(out.get("digest"))) for stage in self.record.stages for out in stage.outputs.values()
        )

    def of(self, finding: Finding) -> Sampled | None:
        """What single samples add to a finding; None where nobody says, or it is in the store no more."""
        kinds = {kind.name: kind for kind in self.kinds}
        for outcomes in self.declared.get((finding.metric, finding.subject), ()):
            if outcomes.of in ("", finding.of) and outcomes.audit in kinds:
                tables = KeptTables(self.store, outcomes.tables, self._tables)
                try:
                    sampled = kinds[outcomes.audit].sampled(outcomes, tables, finding.of, finding.group)
                    if sampled is not None:
                        return in_groups(sampled, tables) if SAMPLES in outcomes.tables else sampled
                except (RunError, OSError) as error:
                    self.gone.append(str(error))
        return None


def in_groups(sampled: Sampled, tables: Tables) -> Sampled:
    """The samples with the group that each belongs to, where the user named a column of groups."""
    samples = tables.read(SAMPLES, ["id", GROUP])
    if GROUP not in samples.column_names:
        return sampled
    at = pc.index_in(pa.array(sampled.ids.tolist(), pa.string()), value_set=samples["id"].combine_chunks())
    return replace(sampled, groups=np.array(named_groups(samples), dtype=np.str_)[at.to_numpy()])


def difference_between(
    before: KeptOutcomes,
    after: KeptOutcomes,
    finding_before: Finding,
    finding_after: Finding,
    level: float = LEVEL,
    on: On = "all",
) -> RunDifference | None:
    """The later run's finding less the earlier one's: by sample where both can be had, else by their intervals."""
    was, now = before.of(finding_before), after.of(finding_after)
    if was is not None and now is not None:
        metric, of, group, subject = finding_after.key
        generator = Seeds(0, "between runs").generator("/".join((metric, subject, of, group)))
        return difference(was, now, generator, level, on)
    if on != "all":
        return None
    unpaired = by_intervals(finding_before, finding_after, level)
    if unpaired is None or before.results != after.results:
        return unpaired
    return replace(unpaired, identical=True)


FindingKey = tuple[str, str, str, str]


@dataclass(frozen=True)
class Change:
    """One finding in two runs; None where a run has no such finding."""

    key: FindingKey
    before: Finding | None
    after: Finding | None
    difference: RunDifference | None = None
    """The later less the earlier, with its test; None where nothing says how far off it may be."""

    @property
    def sides(self) -> tuple[Finding | None, Finding | None]:
        """The finding in the earlier and in the later run."""
        return self.before, self.after

    @property
    def changed(self) -> bool:
        """Whether the two runs say different things."""
        return self.before is None or self.after is None or _content(self.before) != _content(self.after)

    @property
    def values(self) -> tuple[float, float] | None:
        """The finding's value in the earlier and in the later run; None where either has none."""
        values = [None if finding is None else finding.value for finding in self.sides]
        return None if values[0] is None or values[1] is None else (values[0], values[1])

    @property
    def moved(self) -> float | None:
        """How far the value moved, over all samples of either run."""
        return None if self.values is None else self.values[1] - self.values[0]

    def in_words(self) -> str:
        """The finding, where it was and is, by how much it moved, and what its verdict turned to."""
        name = finding_in_words(self.key)
        if self.before is None or self.after is None:
            return f"{name}: {'new' if self.before is None else 'gone'}"
        values = " → ".join(dict.fromkeys(map(value_in_words, self.sides)))
        moved = f", {self.moved:+.3g}" if self.moved else ""
        measured = self.difference if self.moved else None
        paired = f" by {measured.how}, n={measured.n}" if measured is not None and measured.is_paired else ""
        ends = "" if measured is None else f" [{measured.low:+.3g}, {measured.high:+.3g}]{paired}"
        part = None if measured is None else measured.shared
        shared = "" if part is None else f" ({part.value:+.3g} on the {part.n} samples that both have)"
        verdicts = [finding.verdict or "no verdict" for finding in (self.before, self.after)]
        turned = f", {' → '.join(verdicts)}" if verdicts[0] != verdicts[1] else ""
        return f"{name}: {values}{moved}{ends}{shared}{turned}"


def finding_changes(
    before: Sequence[Finding],
    after: Sequence[Finding],
    differ: Callable[[Finding, Finding], RunDifference | None] = by_intervals,
) -> list[Change]:
    """Every finding of either run, in the order of the later one, with what the other says of it."""
    old, new = ({finding.key: finding for finding in side} for side in (before, after))
    compared = [Change(key, old.get(key), new.get(key)) for key in dict.fromkeys([*new, *old])]
    return [
        replace(change, difference=differ(change.before, change.after))
        if change.values and change.before and change.after
        else change
        for change in compared
    ]


def tested_changes(compared: Sequence[Change]) -> list[tuple[Change, float, float]]:
    """The changes that were tested and are not the same sample by sample, each with its p alone, and after Holm's
    correction among all of them.
    """
    tested = [(each, each.difference.p) for each in compared if each.difference and not each.difference.identical]
    held = adjusted([p for _, p in tested])
    return [(change, p, corrected) for (change, p), corrected in zip(tested, held, strict=True)]


def compared_findings(earlier: KeptOutcomes, later: KeptOutcomes) -> list[Change]:
    """The findings of two runs side by side, compared by single samples where both runs have these."""
    before, after = (findings_of(run.store, run.record) for run in (earlier, later))
    return finding_changes(before, after, partial(difference_between, earlier, later))


def unreachable_outcomes(*runs: KeptOutcomes) -> list[str]:
    """One line per run whose outcomes cannot be had sample by sample."""
    lines = []
    for run in runs:
        if not run.record.outcomes:
            lines.append(
                f"Run {run.record.id} says of no finding where single outcomes lie (it ended early, has no subject, or "
                "is older than this comparison), so intervals are compared."
            )
        elif run.gone:
            lines.append(f"Of run {run.record.id} some outcomes are gone, and intervals are compared: {run.gone[0]}")
    return lines


def setting_changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """One line per setting that differs.

    >>> setting_changes({"pruning": {"correlation": 0.5}}, {"pruning": {"correlation": 0.4}})
    ['pruning.correlation: 0.5 → 0.4']
    """
    old, new = flat_settings(before), flat_settings(after)
    return [f"{name}: {old.get(name, 'not set')} → {new.get(name, 'not set')}" for name in differing_names(old, new)]


def differing_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The names whose values differ, or that only one of them has.

    >>> differing_names({"a": 1, "b": 2}, {"b": 3, "c": None})
    ['a', 'b']
    """
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def result_changes(before: RunRecord, after: RunRecord) -> list[str]:
    """One line per stage: whether it gave the same result, byte for byte, or is in one run only."""
    return _differing(_digests(before), _digests(after), "another result")


def file_changes(before: RunRecord, after: RunRecord) -> list[str]:
    """One line per file of the team's (code, weights, rules) that is another, or that one run alone read."""
    return _differing(_contents(before), _contents(after), "another content")


def _differing(old: Mapping[str, object], new: Mapping[str, object], otherwise: str) -> list[str]:
    return [
        f"{name}: {otherwise}"
        if name in old and name in new
        else f"{name}: only in the {'later' if name in new else 'earlier'} run"
        for name in dict.fromkeys([*new, *old])
        if old.get(name) != new.get(name)
    ]


def finding_in_words(key: FindingKey) -> str:
    """What a finding is called.

    >>> finding_in_words(("attack.accuracy", "pgd", "", "net"))
    'attack.accuracy (net, pgd)'
    """
    metric, of, group, subject = key
    about = ", ".join(part for part in (subject, of, group) if part)
    return f"{metric} ({about})" if about else metric


def value_in_words(finding: Finding | None) -> str:
    """A finding's value with its interval and n.

    >>> value_in_words(Finding("subject.accuracy", value=0.94, low=0.88, high=0.97, n=57))
    '0.94 [0.88, 0.97] n=57'
    """
    if finding is None:
        return "–"
    number = "not measured" if finding.value is None else f"{finding.value:.4g}"
    interval = "" if finding.low is None or finding.high is None else f" [{finding.low:.4g}, {finding.high:.4g}]"
    return number + interval + ("" if finding.n is None else f" n={finding.n}")


def _content(finding: Finding) -> tuple[object, ...]:
    return finding.value, finding.low, finding.high, finding.n, finding.p_value, finding.p_adjusted, finding.verdict


def _contents(record: RunRecord) -> dict[str, str]:
    return {file["name"]: file["sha256"] for file in record.ingredients if file["what"] != "elsewhere"}


def _digests(record: RunRecord) -> dict[str, list[str]]:
    digests = defaultdict[str, list[str]](list)
    for stage in record.stages:
        digests[stage.title] += (str(output["digest"]) for output in stage.outputs.values())
    return digests


def flat_settings(settings: object, before: str = "") -> dict[str, object]:
    """Every single setting under its dotted name.

    >>> flat_settings({"pruning": {"correlation": 0.5}})
    {'pruning.correlation': 0.5}
    """
    if not isinstance(settings, Mapping | list | tuple):
        return {before: settings}
    flat: dict[str, object] = {}
    for name, inner in settings.items() if isinstance(settings, Mapping) else enumerate(settings):
        flat |= flat_settings(inner, f"{before}.{name}" if before else str(name))
    return flat
