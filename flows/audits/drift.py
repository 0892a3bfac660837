"""Drift as a kind of audit: whether tonight's inputs and answers can be told from those of the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.flows.audits.challenge_clashes import several_labels
from assay.flows.kind import AuditKind, Clash, Ground, Key, Measured, Outcomes, Written
from assay.infra.storage.artifacts import Artifact
from assay.tasks.drift.compare import ANSWERS, INPUTS, Drift
from assay.tasks.statistics.metrics import metrics_of

if TYPE_CHECKING:
    from assay.data.schemas import Findings
    from assay.infra.stages.runs import Run
    from assay.infra.storage.artifacts import RunRecord
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import Finding, FindingIndex


NAME = "drift"


@dataclass(frozen=True)
class Drifted:
    """The findings, the run that tonight is held against, and why which subjects ("" for inputs) could not be."""

    findings: Sequence[Artifact[Findings]]
    baseline: str
    apart: Mapping[str, str]


def run(ground: Ground, settings: Drift) -> Drifted:
    """Hold inputs and answers against those of the run that was accepted, else of the last that passed."""
    from assay.infra.stages.runs import current_run
    from assay.tasks.drift.compare import measure_drift
    from assay.tasks.statistics.gates import NO_BASELINE

    baseline = baseline_of(current_run())
    kept = [] if baseline is None else map(Outcomes.from_json, baseline.outcomes)
    earlier = {each.subject: each.tables for each in kept if each.audit == NAME}
    findings: list[Artifact[Findings]] = []
    apart = dict[str, str]()
    for tonight in outcomes(ground, None):
        now, was = tonight.tables, earlier.get(tonight.subject)
        if baseline is None or was is None:
            apart[tonight.subject] = NO_BASELINE
            continue
        if tonight.subject and was["classes"].digest != now["classes"].digest:
            apart[tonight.subject] = f"the classes are others than in run {baseline.id}"
            continue
        answers = {"before": was["predictions"], "tonight": now["predictions"]} if tonight.subject else {}
        findings.append(
            measure_drift(was["samples"], now["samples"], answers, now["classes"], tonight.subject, settings)
        )
    return Drifted(findings, "" if baseline is None else baseline.id, apart)


def baseline_of(run: Run) -> RunRecord | None:
    """The run of this pipeline, over the same share of samples, that was accepted last, else that passed last; a trial
    with `--set` is one for trials alone."""
    from assay.infra.storage.sweep import acceptances

    runs = [each for each in run.store.runs(run.record.pipeline) if each.share == run.record.share]
    for accepted in acceptances(run.store, run.record.pipeline)[-1:]:
        return next((each for each in runs if each.id == accepted["run"]), None)
    passed = (each for each in reversed(runs) if each.status == "done" and (run.record.overrides or not each.overrides))
    return next(passed, None)


def outcomes(ground: Ground, _made: object) -> Iterator[Outcomes]:
    """What later runs are held against: the samples, and what each subject says of them."""
    from assay.flows.audits.data import Data
    from assay.flows.audits.subjects_flow import predictions_of

    tables: dict[str, Artifact[Any]] = {"samples": ground.of(Data).samples, "classes": ground.of(Data).classes}
    yield Outcomes("drift.auc", "", NAME, tables)
    for subject, predictions in predictions_of(ground).items():
        yield Outcomes("drift.auc", subject, NAME, {**tables, "predictions": predictions})


def unmeasured(_ground: Ground, made: Drifted, run: Run) -> tuple[Drifted, list[Finding]]:
    """The findings that have no value since no earlier run has anything to be held against, which is said."""
    from assay.tasks.statistics.findings import Finding

    findings = list[Finding]()
    for subject, why in made.apart.items():
        run.notice(f"drift: {subject or 'inputs'}: {why}.")
        findings.append(Finding("drift.auc", ANSWERS if subject else INPUTS, "", subject, verdict=why))
        findings += [] if subject else [Finding("drift.columns", INPUTS, verdict=why)]
    return made, findings


def clashes(pipeline: Written) -> Iterator[Clash]:
    """One class a sample."""
    if pipeline.get("drift") is not None and several_labels(pipeline):
        yield Clash(("drift",), "compares answers of one class a sample, and source.labels has several: leave it out")


def page(_ground: Ground, made: Drifted, findings: FindingIndex) -> Iterator[Part]:
    """Whether tonight can be told from the baseline, and by what."""
    from assay.tasks.drift.page import page as of_drift

    yield of_drift(findings, made.baseline)


DRIFT = AuditKind(
    NAME,
    lambda pipeline: pipeline.asked(Drift) is not None,
    run,
    keys=(Key("drift", Drift, "{}"),),
    stands_on=("data", "tables", "subjects"),
    measures=(Measured("drift", metrics_of("drift"), ("drift",)),),
    clashes=clashes,
    outcomes=outcomes,
    afterwards=unmeasured,
    page=page,
)
