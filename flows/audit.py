"""The nightly chain: every kind of audit that the pipeline asks for, each as soon as what it stands on is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.data.schemas import Findings
from assay.flows.audits.data import DATA, Data
from assay.flows.audits.table import in_running_order
from assay.flows.kind import AuditKind, Ground
from assay.flows.pipeline import Pipeline
from assay.infra.errors import AssayError
from assay.infra.stages.branches import Branch, branch_outcomes, branches_joined, start_branch, subflow
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import current_run
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.choices import plugin_scope
from assay.tasks.ordering.settings import Ordering
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.statistics.settings import Claim
from assay.tasks.statistics.task import conclude, price_errors
from assay.tasks.weak_labels.table import WeakLabelling


@dataclass(frozen=True)
class Audit:
    """What an audit made: the results of every kind that came through, by name, and all findings together."""

    pipeline: Pipeline
    ground: Ground
    failures: tuple[AssayError, ...]
    """The errors of the branches that failed."""
    findings: Artifact[Findings] | None

    @property
    def results(self) -> Mapping[str, Any]:
        """The results by the name of their kind."""
        return self.ground.results

    def measured(self) -> list[Finding]:
        """The findings, as rows; none where nothing was measured."""
        return [] if self.findings is None else findings_from(collect(self.findings, Findings.schema.names))


@subflow("audit")
def audit(pipeline: Pipeline, folder: Path, data_folder: Path | None = None) -> Audit:
    """Everything that the pipeline asks for; its data may lie in a folder of their own."""
    run = current_run()
    if run.is_night:
        run.ingredients.count_from(folder)
    run.masked = pipeline.masked
    # no branch, since nothing stands without it
    data = run_kind(DATA, Ground(pipeline, folder, data_folder=data_folder), {})
    ground = Ground(pipeline, folder, run_kinds(pipeline, folder, data))
    run.allowance.lift()
    measured = [findings for result in ground.results.values() for findings in result.findings]
    claims = primary_claims(pipeline)
    concluded = None
    if measured and pipeline.classes:
        priced = start_branch("costs", price_errors, measured, pipeline.classes).outcome()
        measured += [] if priced is None else [priced]
    if measured:
        concluded = start_branch("statistics", conclude, measured, pipeline.statistics, claims).outcome()
    return Audit(pipeline, ground, tuple(run.failures), concluded)


def primary_claims(pipeline: Pipeline) -> list[Claim]:
    """What the run is to show first, in the order in which it is tested: each subject is better than one constant
    answer, the order of the first labeler is adverse, and no defence costs a class its recall."""
    claims = [
        Claim(finding="subject.above_constant_p", verdict="better", subject=subject.name)
        for subject in pipeline.subjects
    ]
    labelling = pipeline.asked(WeakLabelling)
    if labelling is not None and pipeline.asked(Ordering) is not None:
        claims.append(Claim(finding="ordering.trend_p", verdict="adverse", of="ours", group=labelling.labelers[0]))
    return [*claims, Claim(finding="defense.kept_p", verdict="kept")]


def run_kinds(pipeline: Pipeline, folder: Path, data: Data, only: Collection[str] | None = None) -> dict[str, Any]:
    """What every kind of audit that the pipeline asks for makes of the data, or `only` some of them, by name."""
    asked = [
        kind
        for kind in pipeline.kinds
        if kind.name != DATA.name and kind.asked(pipeline) and (only is None or kind.name in only)
    ]
    branches: dict[str, Branch[Any]] = {}
    with branches_joined():
        for kind in in_running_order(asked):
            there = {DATA.name: data, **branches}
            later = {name: branches[name].outcome for name in kind.asks_later if name in branches}
            below = {name: there[name] for name in kind.below(pipeline) if name in there and name not in later}
            after = {name: branches[name] for name in kind.after if name in branches}
            ground = Ground(pipeline, folder, later=later)
            branches[kind.name] = start_branch(kind.name, run_kind, kind, ground, after, **below)
    results = {DATA.name: data, **branch_outcomes(branches)}
    return {kind.name: results[kind.name] for kind in pipeline.kinds if kind.name in results}


def run_kind(kind: AuditKind[Any], ground: Ground, after: Mapping[str, Any], **below: Any) -> Any:
    """The result of one kind of audit, on the results of those below it, and those it comes after that came through."""
    with plugin_scope(kind.identity):
        return kind.perform(replace(ground, results={**below, **after}))
