"""The head of a run's page: its state, what changed since the baseline, the scorecard, the sentences and what to look
at next, from the findings of the run and those of the run that it is held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from assay.flows.audits.table import AnyKind
from assay.flows.report.comparison import Change, KeptOutcomes, difference_between, finding_changes, tested_changes
from assay.flows.report.gates import accepted
from assay.flows.report.scorecard import CLEAN, answers_of, scorecard
from assay.flows.report.sentences import settings_to_try
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.reporting.head import Head
from assay.tasks.reporting.numerals import interval, percent, plural
from assay.tasks.reporting.parts import Part, Verdict
from assay.tasks.statistics.findings import FindingIndex, findings_of
from assay.tasks.statistics.gates import GateResult

_LEVEL = 0.05
"""How sure a change must be."""


def head_of(
    kinds: Sequence[AnyKind],
    findings: FindingIndex,
    gates: Sequence[GateResult],
    record: RunRecord,
    store: Store,
    parts: Sequence[Part],
    failures: Sequence[str],
    sentences: Sequence[Verdict],
) -> Head:
    """The head of a run's page."""
    against = baseline_of(store, record)
    changes = [] if against is None else scorecard_changes(store, against, record, findings, kinds)
    return Head(
        state_of(gates, failures, against, sum(gain_of(change, kinds) < 0 for change in changes)),
        [change_in_words(change, kinds) for change in changes],
        scorecard(findings),
        sentences,
        next(iter(settings_to_try(findings)), ""),
        next((part.samples for part in reversed(parts) if part.samples), ()),
    )


def baseline_of(store: Store, record: RunRecord) -> RunRecord | None:
    """The run that a page is held against: the accepted one of its pipeline, else the one before it."""
    chosen, before = accepted(store, record.pipeline), runs_before(store, record)
    return next((run for run in before if chosen and run.id == chosen["run"]), before[-1] if before else None)


def runs_before(store: Store, record: RunRecord) -> list[RunRecord]:
    """The earlier runs of a pipeline that measured something and are no trials."""
    runs = store.runs(record.pipeline)
    return [run for run in runs if run.findings and not run.is_trial and run.started < record.started]


def scorecard_changes(
    store: Store, against: RunRecord, record: RunRecord, findings: FindingIndex, kinds: Sequence[AnyKind]
) -> list[Change]:
    """What the scorecard says otherwise than the run before, beyond chance among all its numbers, worst first."""
    earlier, later = KeptOutcomes(store, against, kinds), KeptOutcomes(store, record, kinds)
    try:
        before = findings_of(store, against)
    except InputError:
        return []
    compared = finding_changes(before, answers_of(findings), partial(difference_between, earlier, later))
    moved = [change for change, _, held in tested_changes(compared) if held <= _LEVEL]
    return sorted(moved, key=lambda change: gain_of(change, kinds))


def gain_of(change: Change, kinds: Sequence[AnyKind]) -> float:
    """How much better a number got; negative where it got worse, 0 where neither direction is better."""
    better = {metric.name: metric.better for kind in kinds for metric in kind.metrics}
    return (change.moved or 0.0) * {"more": 1, "less": -1}.get(better.get(change.key[0]) or "", 0)


def change_in_words(change: Change, kinds: Sequence[AnyKind]) -> Verdict:
    """One change as a line: which number of whom, from where to where, and the difference with its interval."""
    after, difference = change.after, change.difference
    assert after is not None, "the later run has it"
    assert change.before is not None, "the earlier run has it"
    assert difference is not None, "they were compared"
    declared = {metric.name: metric for kind in kinds for metric in kind.metrics}
    title = declared[after.metric].title if after.metric in declared else after.metric
    about = ", ".join(filter(None, (after.of if after.of != CLEAN else "", after.group)))
    text = (
        f"{after.subject}: {title[:1].lower()}{title[1:]}{f' ({about})' if about else ''} "
        f"{percent(change.before.value)} → {percent(after.value)}, "
        f"{percent(difference.value, sign=False)} points {interval(difference.low, difference.high, digits=1)}"
    )
    gain = gain_of(change, kinds)
    return Verdict(text, "bad" if gain < 0 else "good", gain)


def state_of(gates: Sequence[GateResult], failures: Sequence[str], against: RunRecord | None, worse: int) -> Verdict:
    """The state in one line: whether the gates passed, and whether anything got worse."""
    broken = [gate for gate in gates if not gate.passed]
    since = "nothing to compare with yet"
    if against is not None:
        none = "nothing that was measured" if failures else "nothing"
        since = f"{plural(worse, 'number') if worse else none} got worse since {against.id}"
    if failures:
        return Verdict(f"Broken: {plural(len(failures), 'part')} of the run failed · {since}", "bad")
    if broken:
        rest = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        return Verdict(f"Failed: {broken[0].gate.title()}{rest} · {since}", "bad")
    unsure = sum(gate.outcome != "passed" for gate in gates)
    passed = f"Passed, {unsure} with a warning" if unsure else "Passed" if gates else "Done, no gate is set"
    return Verdict(f"{passed} · {since}", "bad" if worse else "good" if gates else "neutral")
