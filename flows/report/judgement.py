"""Gates held against a run: as it ends, or later, for a CI job that was not there when it ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.flows.configuration.loading import load_usable
from assay.flows.operations.stores import open_store
from assay.flows.pipeline import Project
from assay.flows.report.alarm_budget import level_of
from assay.flows.report.baselines import ACCEPTED, LAST_PASSED, Past
from assay.flows.report.outcomes import KeptOutcomes, between
from assay.flows.report.records import find_run
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gate import Gate
from assay.tasks.statistics.gates import GateResult, Outcome, judge, looked_at_by
from assay.tasks.statistics.gates_on_change import USUAL_LEVEL, Compared, Look, look
from assay.tasks.statistics.run_findings import findings_of

_NOTHING_YET = {
    LAST_PASSED: "there is no earlier run of this pipeline that passed and has the finding",
    ACCEPTED: "no earlier run that has the finding is accepted (assay accept RUN --why TEXT)",
}


def judge_run(name: str, config: str, store: str | None) -> tuple[RunRecord, list[GateResult]]:
    """A run and what its gates say: those of pipelines.yaml as it is now, or else those the run was started with."""
    opened = open_store(config, store)
    record = find_run(opened, name)
    gates, level = gates_for(record, config, opened)
    return record, judge_night(gates, findings_of(opened, record), Past(opened, record), level)


def gates_for(record: RunRecord, config: str, store: Store) -> tuple[list[Gate], float]:
    """The gates that hold for a run, and the level of each look of those on change."""
    if Path(config).is_file():
        project, refused = load_usable(config)
        if record.pipeline in refused:
            raise InputError(refused[record.pipeline])
        if record.pipeline in project.pipelines:
            require_baselines(project, record.pipeline, store)
            return list(project.pipelines[record.pipeline].gates), level_of(project)
    return [Gate.model_validate(gate) for gate in record.settings.get("gates", ())], USUAL_LEVEL


def judge_night(gates: Sequence[Gate], findings: Sequence[Finding], past: Past, level: float) -> list[GateResult]:
    """Every gate held against a run's findings and, where it bounds a change, against an earlier run."""
    results = []
    for gate, alone in zip(gates, judge(gates, findings), strict=True):
        result = _on_change(gate, alone, findings, past, level) if gate.is_on_change and alone.passed else alone
        results.append(_weighed(result, past))
    return results


def as_recorded(results: Iterable[GateResult]) -> list[dict[str, Any]]:
    """What gates said, for the record of their run."""
    return [
        {"gate": one.gate.title(), "outcome": one.outcome, "sentence": one.sentence} | dict(one.looked)
        for one in results
    ]


def _on_change(gate: Gate, alone: GateResult, findings: Sequence[Finding], past: Past, level: float) -> GateResult:
    held_against = past.baseline(gate)
    if held_against is None:
        why = _NOTHING_YET.get(
            str(gate.against), f"run {gate.against} has no such finding, or saw another share of the samples"
        )
        sentence = f"{gate.title()}: {why}, so there is nothing to compare with yet."
        raw = "passed" if gate.against == LAST_PASSED else "inconclusive"
        return replace(alone, sentence=sentence, looked={"raw": raw})
    baseline, before = held_against
    earlier, against = KeptOutcomes(past.store, baseline), f"run {baseline.id}"
    known = {(one.subject, one.of, one.group): one for one in before}
    pairs = [
        (known[key], one) for one in looked_at_by(gate, findings) if (key := (one.subject, one.of, one.group)) in known
    ]
    looks: list[tuple[Finding, Look]] = []
    for was, now in pairs:
        share = level / len(pairs)  # several findings of one gate share its alarms
        usual, strict = (between(earlier, past.outcomes, was, now, one) for one in (0.95, 1 - 2 * share))
        if usual is not None and strict is not None:
            looks.append((now, look(gate, Compared(now, usual, strict), against, share)))
    if not looks:
        sentence = f"{gate.title()}: neither single outcomes nor intervals say how far it is from {against}."
        return replace(alone, sentence=sentence, looked={"raw": "inconclusive", "against": baseline.id})
    return _decided(gate, looks, baseline.id, level)


def _decided(gate: Gate, looks: Sequence[tuple[Finding, Look]], against: str, level: float) -> GateResult:
    """What the looks of one gate come to: the worst of them decides, of several alike the furthest change."""
    rank = ("failed", "inconclusive", "passed")
    finding, worst = min(looks, key=lambda one: (rank.index(one[1].raw), -one[1].change))
    sentence = worst.sentence
    if worst.raw == "passed" and len(looks) > 1:
        sentence = f"{gate.title()}: none of {len(looks)} findings changed by more against run {against}."
    identical = all(one.identical for _, one in looks)
    looked = {
        "raw": worst.raw,
        "against": against,
        "identical": identical,
        "level": 0.0 if identical else level,
        "n": worst.n,
        "detectable": max(one.detectable for _, one in looks),
    }
    return GateResult(gate, worst.raw != "failed", sentence, finding, len(looks), looked=looked)


def _weighed(result: GateResult, past: Past) -> GateResult:
    """The result as far as it counts: what cannot be told, what has not failed often enough, what only warns."""
    gate, raw = result.gate, result.looked.get("raw") or ("passed" if result.passed else "failed")
    result = replace(result, looked={**result.looked, "raw": raw})
    if raw == "passed" or (raw == "inconclusive" and gate.inconclusive == "pass"):
        return result
    owner = f" Concerns {gate.owner}." if gate.owner else ""
    if raw == "inconclusive":
        fails = gate.inconclusive == "fail"
        outcome: Outcome = "failed" if fails else "inconclusive"
        return replace(result, passed=not fails, outcome=outcome, sentence=result.sentence + owner)
    wanted, nights = gate.nights
    failed = 1 + (past.failures(gate.title(), nights - 1) if nights > 1 else 0)
    history = f" Failed on {failed} of the latest {nights} nights; {wanted} fail the run." if nights > 1 else ""
    waits = failed < wanted or gate.severity == "warn"
    outcome = "warned" if waits else "failed"
    return replace(result, passed=waits, outcome=outcome, sentence=result.sentence + history + owner)


def require_baselines(project: Project, pipeline: str, store: Store) -> None:
    """Raises where a gate is held against a run that is not there, or that has no such finding."""
    wrong = [
        one
        for at, gate in enumerate(project.pipelines[pipeline].gates)
        for one in _wrong(project, pipeline, at, gate, store)
    ]
    if wrong:
        raise InputError("\n".join(wrong))


def _wrong(project: Project, pipeline: str, at: int, gate: Gate, store: Store) -> Iterable[str]:
    if gate.against in (None, LAST_PASSED, ACCEPTED):
        return
    where = (
        f"{project.lines.place(('pipelines', pipeline, 'gates', at, 'against'))}: gates.{at}.against: {gate.against!r}"
    )
    try:
        run = store.run(str(gate.against))
        (alone,) = judge([gate], findings_of(store, run))
    except InputError as error:
        yield f"{where} — {error}"
        return
    if alone.finding is None:
        yield f"{where} — in run {run.id}: {alone.sentence}"
