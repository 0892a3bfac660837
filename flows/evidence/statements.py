"""What is signed, as in-toto statements. `assay commit-plan`, before a run: what a pipeline asks. `assay attest`, after
it, two: its gates as a test result, and all of its findings.

Both of these name the same subjects: the run (the Merkle root over the sha256 of every file of it), the data and the
weights of models. Additive digests of tables are for caching: who wants two tables with one such digest can make them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.flows.audit import primary_claims
from assay.flows.configuration.loading import Project
from assay.flows.evidence.earlier_nights import ACCEPTED, files_judged_by, need_earlier_nights
from assay.flows.evidence.envelope import (
    ByCommand,
    canonical_json,
    key_id,
    merkle_root,
    read_private_key,
    read_public_key,
    signed_envelope,
    statement_in,
)
from assay.flows.forecast.plan import check_inputs, walk_plan
from assay.flows.report.all_nights import write_index
from assay.flows.report.gates import require_whole
from assay.flows.report.ledger import SIGNED_FILES, checksum_of, plan_name, settings_digest
from assay.flows.report.records import artifacts_of
from assay.flows.reproduce.published import is_whole, published_form
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Manifest, RunRecord
from assay.infra.storage.log import entries_in, log_action, log_lines
from assay.infra.storage.store import INGREDIENTS, MANIFESTS, Store
from assay.infra.user_code.references import Ingredients
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import Finding, findings_of

STATEMENT, PLAN = "https://in-toto.io/Statement/v1", "urn:assay:plan:v0.1"
TEST_RESULT, ALL_FINDINGS = "https://in-toto.io/attestation/test-result/v0.1", "urn:assay:findings:v0.1"
CONFIGURATION = ("settings", "code", "environment")
"""What a run was computed with, a file each; beside them lie its plan, where it has one, and the store's log."""
MANIFEST, _ = MANIFESTS
_OUTCOMES = {"passed": "passedTests", "failed": "failedTests"}


def evidence_folder(run_id: str) -> str:
    """Where a store keeps what is signed of a run."""
    return f"runs/{run_id}/evidence"


def log_name(run_id: str) -> str:
    """The store's log as it was when the run was signed, an entry a line."""
    return f"{evidence_folder(run_id)}/log.jsonl"


def nights_name(run_id: str) -> str:
    """Which files the gates of a run were judged by, where they look at the nights before."""
    return f"{evidence_folder(run_id)}/judged-by.json"


def configuration_names(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """What the test result names as what a run was judged with; its plan too, where it has one."""
    return (*CONFIGURATION, "plan") if plan else CONFIGURATION


def statement_names(run_id: str) -> tuple[str, str]:
    """The files of the two envelopes: the test result, and the findings."""
    return f"{evidence_folder(run_id)}/test-result.dsse.json", f"{evidence_folder(run_id)}/findings.dsse.json"


def commit_plan(project: Project, name: str, key: Path | ByCommand) -> str:
    """Sign what a pipeline asks and keep it in the store, for the runs to come; returns a sentence on it."""
    pipeline, store, signer = project.pipeline(name), Store(project.store).open(), read_private_key(key)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    aside = RunRecord("", name, at, 0, "", 0)
    noted = Ingredients(store, aside, -1, lambda: None)
    noted.count_from(project.folder)
    check_inputs(project, pipeline)
    walk_plan(project, pipeline, noted=noted)
    settings = pipeline.model_dump(mode="json")
    files = {str(file["name"]): file["sha256"] for file in aside.ingredients}
    claims = [claim.model_dump(mode="json", exclude_none=True) for claim in primary_claims(pipeline)]
    predicate = {"pipeline": name, "at": at, "settings": settings, "claims": claims, "files": files}
    subject = _named(f"pipeline {name}", settings_digest(settings))
    envelope = signed_envelope(_statement([subject], PLAN, predicate), signer)
    sha256, signed_by = hashlib.sha256(envelope).hexdigest(), key_id(signer.public_key())
    store.folder.write(plan_name(name, sha256), envelope)
    log_action(store, "commit-plan", pipeline=name, plan=sha256, key=signed_by)
    return (
        f"{store.url}/{plan_name(name, sha256)}: {plural(len(pipeline.gates), 'gate')}, all settings and "
        f"{plural(len(files), 'file')} of {name}, signed with key {signed_by}\n"
        f"Hand this out before the night, for assay verify --plan: {sha256}"
    )


def attest(store: Store, record: RunRecord, key: Path | ByCommand, plan_key: Path | ByCommand | None = None) -> str:
    """Sign both statements and leave them beside the run; returns a sentence on them. A plan is signed with the same
    key, or with that of the public `plan_key`."""
    if not is_whole(require_whole(record, "signed")):
        raise InputError(f"Run {record.id} is {record.status}: only a run that came to its end is signed.")
    signer = read_private_key(key)
    signed_by = key_id(signer.public_key())
    entries = entries_in(log_lines(store))  # with a break in it nobody could verify the bundle
    for name, content in _configuration(store, record).items():
        if name == "plan":
            statement_in(content, read_public_key(plan_key) if plan_key else signer.public_key(), "The plan")
        store.folder.write(f"{evidence_folder(record.id)}/{name}.json", content)
    judged_by, lacking = files_judged_by(store, record, entries) if need_earlier_nights(record) else ([], "")
    if judged_by:
        judged_by.append(nights_name(record.id))
        store.folder.write(nights_name(record.id), canonical_json(judged_by))
    files = {name: checksum_of(store, name) for name in (*files_of_run(store, record), *judged_by)}
    if gone := [name for name, checksum in files.items() if not checksum]:
        raise InputError(f"{store.url}/{gone[0]} is gone, so the run is not whole: run the pipeline again.")
    checksums = {name: files[file.format(record.id)] for name, file in SIGNED_FILES.items()}
    entry = log_action(store, "attest", run=record.id, pipeline=record.pipeline, key=signed_by, **checksums)
    store.folder.write(log_name(record.id), b"\n".join(log_lines(store)[: entry["number"]]))
    files[log_name(record.id)] = checksum_of(store, log_name(record.id))
    subjects = [_named(f"run {record.id}", merkle_root(files))]  # and its data and the weights of its models
    for about, kind in (("data", "Samples"), ("weights", "SubjectFiles")):
        of_kind = [file for handle in artifacts_of(record, kind) for file in store.output(handle).files]
        subjects += [_named(f"{about} {file}", files[file]) for file in sorted(set(of_kind))]
    findings = all_findings(record, findings_of(store, record), files)
    predicates = {TEST_RESULT: test_result(record, subjects, files), ALL_FINDINGS: findings}
    for name, (kind, predicate) in zip(statement_names(record.id), predicates.items(), strict=True):
        store.folder.write(name, signed_envelope(_statement(subjects, kind, predicate), signer))
    write_index(store)
    return (
        f"{store.url}/{evidence_folder(record.id)}: run {record.id} signed with key {signed_by}, "
        f"{plural(len(files), 'file')}, {plural(len(findings['findings']), 'finding')}, "
        f"{plural(len(record.gates), 'gate')}"
        + (f"\nGates that look at nights before cannot be judged anew: {lacking}" if lacking else "")
    )


def files_of_run(store: Store, record: RunRecord) -> Iterator[str]:
    """Every file that a run is made of: its record, findings and page, what it was computed with and from, and what
    its stages made. (What is signed has the log besides.)"""
    yield from (f"runs/{record.id}.json", f"runs/{record.id}/findings.parquet")
    yield from (f"{evidence_folder(record.id)}/{name}.json" for name in configuration_names(record.plan))
    page = f"reports/{record.id}/index.html"
    yield from (name for name in [page] if store.folder.exists(name))
    yield from sorted({f"{INGREDIENTS}/{file['sha256']}" for file in record.ingredients if file["kept"]})
    for stage, key in dict.fromkeys((stage.stage, stage.key) for stage in record.stages):
        manifest = manifest_of(store, stage, key)
        yield f"{store.place(stage, key)}/{MANIFEST}"
        yield from sorted(name for output in manifest.outputs.values() for name in output.files)


def is_result(name: str) -> bool:
    """Whether a file of a run is a table, or a file of the team's own, rather than a record of what was done."""
    return not name.startswith(("runs/", "reports/", ACCEPTED)) and not name.endswith(f"/{MANIFEST}")


def manifest_of(store: Store, stage: str, key: str) -> Manifest:
    """The manifest of a stage of a run; raises where a clean-up has taken it."""
    manifest = store.manifest(stage, key)
    if manifest is None:
        raise InputError(f"The results of stage {stage} are not in the store any more: run the pipeline again.")
    return manifest


def _configuration(store: Store, record: RunRecord) -> dict[str, bytes]:
    """What the run was computed with, in the files whose sha256 the statement names."""
    plans = {"plan": plan_name(record.pipeline, record.plan["sha256"])} if record.plan else {}
    for name in plans.values():
        if not store.folder.exists(name):
            raise InputError(f"{store.url}/{name}, the plan that run {record.id} began under, is gone: put it back.")
    form = published_form(store, record)
    versions = {stage.stage: manifest_of(store, stage.stage, stage.key).version for stage in record.stages}
    values = {
        "settings": form["settings"],
        "code": {"commits": form["commits"], "stages": versions, "own": record.ingredients},
        "environment": {name: form[name] for name in ("seed", "versions", "profile")},
    }
    written = {name: canonical_json(value) for name, value in values.items()}
    return written | {name: store.folder.read(file) for name, file in plans.items()}


def test_result(record: RunRecord, subjects: list[dict[str, Any]], files: Mapping[str, str]) -> dict[str, Any]:
    """The gates one to one, and what they were judged with; see in-toto's predicate `test-result`."""
    tests: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
    for gate in record.gates:
        tests[_OUTCOMES.get(str(gate["outcome"]), "warnedTests")].append(str(gate["gate"]))
    result = "FAILED" if record.status != "done" else "WARNED" if tests["warnedTests"] else "PASSED"
    made_with = {name: files[f"{evidence_folder(record.id)}/{name}.json"] for name in configuration_names(record.plan)}
    described = [_named(name, checksum) for name, checksum in made_with.items()]
    return {"result": result, "configuration": [*described, *subjects[1:]], **tests}


def all_findings(record: RunRecord, findings: list[Finding], files: Mapping[str, str]) -> dict[str, Any]:
    """What is signed of a run: what it was, its findings, and the sha256 of every file."""
    names = ("pipeline", "started", "seed", "status", "verdicts", "gates", "plan")
    about = {name: getattr(record, name) for name in names}
    return {"run": record.id, **about, "findings": [finding_row(finding) for finding in findings], "files": dict(files)}


def finding_row(finding: Finding) -> dict[str, Any]:
    """A finding as a statement has it: what is no finite number stands there as text."""
    row = asdict(finding)
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def _statement(subjects: list[dict[str, Any]], kind: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    return {"_type": STATEMENT, "subject": subjects, "predicateType": kind, "predicate": predicate}


def _named(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}
