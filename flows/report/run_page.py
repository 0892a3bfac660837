"""The report of a run: the parts that each audit makes of its findings and tables, laid out and kept in the store."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.flows.audit import Audit
from assay.flows.audits.table import AnyKind
from assay.flows.kind import Ground
from assay.flows.pipeline import Pipeline
from assay.flows.report.all_nights import followed_in, with_sequences
from assay.flows.report.gates import Past, accepted, accepted_in_words
from assay.flows.report.head import head_of
from assay.flows.report.ledger import decided_in_words
from assay.flows.report.records import sample_in_words
from assay.flows.report.samples import seen_parts
from assay.flows.report.sentences import sentences
from assay.infra.errors import error_text
from assay.infra.masking import mask_page, masked_in
from assay.infra.stages.runs import Run, current_run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.keys import package_versions
from assay.infra.user_code.choices import plugin_title
from assay.tasks.reporting.gates import page as gates_page
from assay.tasks.reporting.gates import verdict as gates_line
from assay.tasks.reporting.layout import render_report, settings_rows
from assay.tasks.reporting.parts import Part, Verdict
from assay.tasks.reporting.report import LineageRow, Report, SettingRow, entry_of
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import GateResult


def write_report(
    run: Run,
    audit: Audit,
    findings: Sequence[Finding],
    gates: Sequence[GateResult],
    status: str,
    beside: Iterable[Part] = (),
) -> tuple[tuple[Verdict, ...], str]:
    """The lines of verdict, and where the page now lies; parts `beside` those of the audits stand at its end."""
    index, pipeline, record = FindingIndex(findings), audit.pipeline, run.record
    lines = sentences(pipeline.kinds, index)
    verdicts = (*lines, *gates_line(gates))
    every = (*parts_of(audit, index, gates), *(replace(part, background=True) for part in beside))
    parts = [
        replace(part, findings=_BEHIND.get(part.anchor, f"{part.anchor.replace('-', '_')}."))
        for part in seen_parts(run.store, record, every)
    ]
    failures = (*record.failures, *record.missing)
    report = Report(
        run=run.id,
        pipeline=pipeline.name,
        started=record.started,
        seconds=record.seconds,
        seed=run.seed,
        status=status,
        verdicts=verdicts,
        parts=tuple(parts),
        failures=failures,
        head=head_of(pipeline.kinds, index, gates, record, run.store, parts, failures, lines),
        not_asked=tuple(not_asked(pipeline)),
        findings=tuple(findings),
        followed=with_sequences(followed_in(pipeline.kinds, index), findings, Past(run.store, record)),
        lineage=tuple(lineage_of(record)),
        settings=tuple(settings_of(pipeline)),
        versions=package_versions(),
        machine=machine_of(run),
        index_link="../index.html",
        sample=sample_in_words(record),
        facts=facts_of(pipeline, record, accepted(run.store, record.pipeline)),
    )
    place = f"reports/{run.id}"
    run.store.folder.write(f"{place}/index.html", mask_page(render_report(report)).encode())
    entry = entry_of(report, f"{run.id}/index.html")
    run.store.folder.write_json(f"{place}/entry.json", masked_in(entry.model_dump(mode="json")))
    return verdicts, f"{run.store.url}/{place}/index.html"


_BEHIND = {
    "attacks": "attack.",
    "text-attacks": "attack.",
    "attacked-copies": "defense.",
    "defences": "defense.",
    "certified": "defense.certified",
    "clean": "subject.",
    "subjects": "subject.",
    "inside": "diagnostics.",
    "corruptions": "corruption.",
}
"""How the metrics of a part begin, by its anchor, where that is not its stage."""


def facts_of(pipeline: Pipeline, record: RunRecord, baseline: Mapping[str, str] | None) -> dict[str, str]:
    """What stands at the head of the page besides when and how long: the description, who was asked again, what was
    decided beforehand, and what the pipeline's runs are held against."""
    asked = "; ".join(f"{name}: {answered}" for name, answered in record.asked_again.items())
    taken = [f"{stage.title}: {stage.taken_in_words}" for stage in record.stages if stage.partitions_taken]
    if not any(stage.cached or stage.partitions_taken for stage in record.stages[:1]):
        taken = []  # all data are new: what was taken is from this very run
    facts = {
        "Description": pipeline.description,
        "Stored predictions checked": asked,
        "Files": record.arrivals,
        "Only what is new was computed": "; ".join(dict.fromkeys(taken)),
        "Decided beforehand": decided_in_words(record.plan),
        "Baseline": "" if baseline is None else accepted_in_words(baseline),
    }
    return {name: text for name, text in facts.items() if text}


def parts_of(audit: Audit, findings: FindingIndex, gates: Sequence[GateResult]) -> Iterator[Part]:
    """One part per audit that ran, in the order of a reader's interest: the results first, the data last."""
    ground, pipeline = audit.ground, audit.pipeline
    came_through = [(kind, audit.results[kind.name]) for kind in pipeline.kinds if kind.name in audit.results]
    for kind, result in came_through:
        yield from shown_by(kind, kind.page, ground, result, findings)
    if pipeline.gates or any(finding.p_value is not None for finding in findings):
        yield replace(gates_page(findings, gates, pipeline.statistics), background=True)
    for kind, result in reversed(came_through):
        for part in shown_by(kind, kind.background, ground, result, findings):
            yield replace(part, background=True)


Page = Callable[[Ground, Any, FindingIndex], Iterator[Part]]


def shown_by(kind: AnyKind, page: Page, ground: Ground, result: Any, findings: FindingIndex) -> list[Part]:
    """What an audit has to show; where the page of a plug-in breaks, that is shown, and the other pages stay."""
    try:
        return list(page(ground, result, findings))
    except Exception as error:
        if kind.origin is None:
            raise
        run = current_run()
        sentence = f"{plugin_title(kind.origin)} could not show what it found: {error_text(error, run.masked)}."
        run.notice(sentence)
        return [Part(kind.name, sentence, verdict="not measured")]


def stages_of(pipeline: Pipeline) -> list[str]:
    """The keys that a pipeline may ask for stages with, in the order of a reader's interest."""
    keys = [key.name for kind in pipeline.kinds for key in kind.keys]
    return [*keys[:4], "subjects", "attacks", "defenses", *keys[4:], "gates"]


def not_asked(pipeline: Pipeline) -> Iterator[str]:
    """The stages that the pipeline leaves out; the report says so, lest their silence be taken for a good sign."""
    for name in stages_of(pipeline):
        if not getattr(pipeline, name) and not (name == "labeling" and pipeline.source.votes is not None):
            yield name.replace("_", " ")


def lineage_of(record: RunRecord) -> Iterator[LineageRow]:
    """Every artifact that the run used, in the order of the stages."""
    for stage in record.stages:
        for handle in stage.outputs.values():
            rows = None if handle["rows"] is None else int(handle["rows"])
            made = (stage.title, handle["kind"], stage.key, handle["digest"][:16], rows)
            yield LineageRow(*made, stage.cached, stage.seconds, stage.summary)


def settings_of(pipeline: Pipeline) -> Iterator[SettingRow]:
    """Every option that the run was given or took by default; a stage that was left out has none."""
    shared = {name: getattr(pipeline, name) for name in ("source", "evaluation", "statistics")}
    for name, options in (shared | pipeline.parts).items():
        yield from settings_rows(name.replace("_", " "), options)
    for subject in pipeline.subjects:
        yield from settings_rows(f"subject {subject.name}", subject)
    for attack in pipeline.attacks:
        yield from settings_rows(f"attack {attack.called}", attack)
    for defense in pipeline.defenses:
        yield from settings_rows(f"defence {defense.called}", defense)
    for position, gate in enumerate(pipeline.gates, start=1):
        yield SettingRow("gates", str(position), gate.title())


def machine_of(run: Run) -> dict[str, str]:
    """Where the run ran."""
    return {
        "host": run.record.host,
        "system": f"{platform.system()} {platform.machine()}",
        "processor features": run.numeric_profile()["processor"],
        "workers": str(run.slots()),
    }
