"""Two runs side by side: findings that changed, that are new, that are gone; and which settings and results differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.flows.commands.answers import columns
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.run_findings import findings_of

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Change:
    """One finding in two runs; None where a run has no such finding."""

    key: Key
    before: Finding | None
    after: Finding | None

    @property
    def changed(self) -> bool:
        """Whether the two runs say different things."""
        return self.before is None or self.after is None or _said(self.before) != _said(self.after)

    @property
    def beyond_chance(self) -> bool:
        """Whether the intervals of both runs lie apart.

        95 % intervals of two independent sets of samples do so by chance less than once in a hundred findings; where
        both runs measured on the same samples, more seldom still.

        >>> before = Finding("subject.accuracy", value=0.9, low=0.85, high=0.93)
        >>> after = Finding("subject.accuracy", value=0.7, low=0.64, high=0.75)
        >>> Change(("subject.accuracy", "", "", ""), before, after).beyond_chance
        True
        """
        old, new = (None if one is None else _interval(one) for one in (self.before, self.after))
        return old is not None and new is not None and (old[1] < new[0] or new[1] < old[0])

    @property
    def has_intervals(self) -> bool:
        """Whether both runs give an interval."""
        return all(one is not None and _interval(one) is not None for one in (self.before, self.after))

    @property
    def turned(self) -> bool:
        """Whether both runs have a verdict, and not the same."""
        return None not in (self.before, self.after) and self._verdicts[0] != self._verdicts[1]

    @property
    def rank(self) -> int:
        """Where it stands in the list: what exceeds chance, verdicts that turned, what came or went, and the rest."""
        came = self.before is None or self.after is None
        return 0 if self.beyond_chance else 1 if self.turned else 2 if came else 3

    @property
    def _verdicts(self) -> tuple[str, str]:
        return (self.before.verdict if self.before else "", self.after.verdict if self.after else "")

    @property
    def in_words(self) -> str:
        """What changed: the difference of the values, a new verdict, or that the finding came or went."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "gone"
        parts = []
        if self.before.value is not None and self.after.value is not None and self.before.value != self.after.value:
            parts.append(f"{self.after.value - self.before.value:+.4g}")
        if self.before.verdict != self.after.verdict:
            parts.append(f"{self.before.verdict or 'no verdict'} → {self.after.verdict or 'no verdict'}")
        return ", ".join(parts) or ("same value, other interval or n" if self.changed else "")


def changes(before: Sequence[Finding], after: Sequence[Finding]) -> list[Change]:
    """Every finding of either run, in the order of the later one, with what the other says of it."""
    old, new = ({_key(finding): finding for finding in side} for side in (before, after))
    return [Change(key, old.get(key), new.get(key)) for key in dict.fromkeys([*new, *old])]


def compare_runs(store: Store, before: RunRecord, after: RunRecord, everything: bool = False) -> str:
    """The two runs as text."""
    found = changes(findings_of(store, before), findings_of(store, after))
    shown = found if everything else [change for change in found if change.changed]
    lines = [f"{before.id} ({before.pipeline}, seed {before.seed}) → {after.id} ({after.pipeline}, seed {after.seed})"]
    lines += [f"setting  {line}" for line in setting_changes(before.settings, after.settings)]
    lines += [f"result   {line}" for line in result_changes(before, after)]
    if shown:
        rows = [
            ["≠" if change.beyond_chance else "", *change.key, value(change.before), value(change.after),
             change.in_words]
            for change in sorted(shown, key=lambda change: change.rank)
        ]  # fmt: skip
        headings = ["", "finding", "of", "group", "subject", "before", "after", "change"]
        lines += ["", columns(headings, rows)]
    return "\n".join([*lines, "", summary(found)])


def summary(found: Sequence[Change]) -> str:
    """How many findings differ, and how many of these by more than chance."""
    differ = [change for change in found if change.changed]
    said = f"{len(differ)} findings differ, {len(found) - len(differ)} are the same."
    if not differ:
        return said
    apart, turned, came = (sum(change.rank == rank for change in differ) for rank in range(3))
    blind = sum(change.rank == 3 and not change.has_intervals for change in differ)
    parts = [f"{apart} by more than chance (≠: their 95 % intervals lie apart)", f"{turned} more in their verdict"]
    parts += [f"{came} are in one run only"] if came else []
    parts += [f"{blind} have no intervals to tell by"] if blind else []
    return (
        f"{said}\nOf those that differ {', '.join(parts)}; the rest moved within their intervals. Compared is what has "
        "the same metric, of, group and subject; each run keeps its own samples."
    )


def setting_changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """One line per setting that differs.

    >>> setting_changes({"pruning": {"correlation": 0.5}}, {"pruning": {"correlation": 0.4}})
    ['pruning.correlation: 0.5 → 0.4']
    """
    old, new = _flat(before), _flat(after)
    return [
        f"{name}: {old.get(name, 'not set')} → {new.get(name, 'not set')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def result_changes(before: RunRecord, after: RunRecord) -> list[str]:
    """One line per stage: whether it gave the same result, byte for byte, or is in one run only."""
    old, new = _digests(before), _digests(after)
    lines = []
    for title in dict.fromkeys([*new, *old]):
        if title not in old or title not in new:
            lines.append(f"{title}: only in the {'later' if title in new else 'earlier'} run")
        elif old[title] != new[title]:
            lines.append(f"{title}: another result")
    return lines


def value(finding: Finding | None) -> str:
    """A finding's value with its interval and n.

    >>> value(Finding("subject.accuracy", value=0.94, low=0.88, high=0.97, n=57))
    '0.94 [0.88, 0.97] n=57'
    """
    if finding is None:
        return "–"
    number = "not measured" if finding.value is None else f"{finding.value:.4g}"
    interval = "" if finding.low is None or finding.high is None else f" [{finding.low:.4g}, {finding.high:.4g}]"
    return number + interval + ("" if finding.n is None else f" n={finding.n}")


def _key(finding: Finding) -> Key:
    return finding.metric, finding.of, finding.group, finding.subject


def _said(finding: Finding) -> tuple[object, ...]:
    return finding.value, finding.low, finding.high, finding.n, finding.p_value, finding.p_adjusted, finding.verdict


def _interval(finding: Finding) -> tuple[float, float] | None:
    return None if finding.low is None or finding.high is None else (finding.low, finding.high)


def _digests(record: RunRecord) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for stage in record.stages:
        found.setdefault(stage.title, []).extend(str(output["digest"]) for output in stage.outputs.values())
    return found


def _flat(settings: object, before: str = "") -> dict[str, object]:
    if isinstance(settings, Mapping):
        items = [(str(name), inner) for name, inner in settings.items()]
    elif isinstance(settings, list | tuple):
        items = [(str(position), inner) for position, inner in enumerate(settings)]
    else:
        return {before: settings}
    flat: dict[str, object] = {}
    for name, inner in items:
        flat |= _flat(inner, f"{before}.{name}" if before else name)
    return flat
