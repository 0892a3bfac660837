"""`assay bundle` writes one zip with what was signed of a run; `assay verify` reads one that anybody may have written.

The zip is read only if it is, byte for byte, the one that `assay bundle` makes of its files: stored, in the order of
their names, each once. So nothing is unpacked, nothing can swell, and there is no place for a second meaning. Files are
looked into only after a key that the reader trusts has signed for them.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.flows.evidence import statements as evidence
from assay.flows.evidence.earlier_nights import budget_in, comes_out_alike, gates_of, lacking_night, need_earlier_nights
from assay.flows.evidence.envelope import (
    ByCommand,
    PublicKey,
    canonical_json,
    key_id,
    merkle_root,
    read_public_key,
    statement_in,
    unverified_statement,
)
from assay.flows.report.gates import Past, judge_night
from assay.flows.report.ledger import beginning_in, decided, decided_in_words, runs_before, settings_digest
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.folders import Folder, require_regular
from assay.infra.storage.log import Entry, entries_in
from assay.infra.storage.store import Store
from assay.tasks.reporting.numerals import in_bytes, plural
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.statistics.gates import judge

_PIECE_BYTES, _LARGEST_STATEMENT = 1 << 20, 256 << 20


def write_bundle(store: Store, record: RunRecord, target: Path, results: bool) -> str:
    """Write the bundle of a signed run, with `results` also the tables that its stages made; returns a sentence."""
    statements = evidence.statement_names(record.id)
    if not all(map(store.folder.exists, statements)):
        raise InputError(f"Run {record.id} is not signed yet: assay attest {record.id} --key FILE signs it.")
    signed = unverified_statement(store.folder.read(statements[1]), statements[1])["predicate"]["files"]
    carried = [name for name in signed if results or not evidence.is_result(name)]
    with Folder(str(target.absolute().parent)).writing(target.name) as sink, zipfile.ZipFile(sink, "w") as bundle:
        for name in sorted([*carried, *statements]):
            content = store.folder.read(name) if store.folder.exists(name) else b""
            if name in signed and hashlib.sha256(content).hexdigest() != signed[name]:
                what = "has changed" if store.folder.exists(name) else "is gone"
                raise InputError(f"{store.url}/{name} {what} since run {record.id} was signed: sign it again.")
            bundle.writestr(_entry(name, len(content)), content)
    without = "" if results else "; --results adds the tables, so that parts can be computed anew"
    return f"{target}: {len(carried)} of {len(signed)} files, {in_bytes(target.stat().st_size)}{without}"


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    """The one way in which a file stands in a bundle: stored, without a time, an ordinary file."""
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.external_attr, entry.file_size = 3, 0o100644 << 16, size
    return entry


@dataclass(frozen=True)
class Bundle:
    """A bundle whose signatures, files and findings fit together."""

    path: Path
    signer: str
    result: Mapping[str, Any]
    """The predicate of the test result."""
    claims: Mapping[str, Any]
    """That of the findings: what was measured, and the sha256 of every file of the run."""
    carried: frozenset[str]
    record: RunRecord
    log: Sequence[Entry]
    """That of the store, up to the signing."""
    judged: Sequence[str] = ()
    """Every gate, judged anew by the run's findings; or what that would take."""

    @property
    def run(self) -> str:
        """The run that it is about."""
        return str(self.claims["run"])

    @property
    def has_results(self) -> bool:
        """Whether it carries the tables that stages made."""
        return any(map(evidence.is_result, self.carried))

    def in_words(self) -> str:
        """What was signed and what of it is here, in lines."""
        counts = [f"{len(self.result[f'{outcome}Tests'])} {outcome}" for outcome in ("passed", "warned", "failed")]
        claims, tables = self.claims, "tables among them" if self.has_results else "without tables"
        plan = decided_in_words(claims["plan"]) or "none: nobody can tell whether gates and rules stood before the run"
        lines = [
            f"Run       {self.run}, {claims['pipeline']}, begun {claims['started']}, seed {claims['seed']}",
            f"Signed    {len(claims['findings'])} findings; gates: {', '.join(counts)}; with key {self.signer}",
            *(f"Gates     {gate}" for gate in self.judged or ["none was asked"]),
            f"Plan      {plan}",
            f"Log       {plural(len(self.log), 'entry', 'entries')}; {runs_before(self.log, self.record)}",
            f"Files     {len(self.carried)} of {len(claims['files'])} are here as they were signed, {tables}",
        ]
        return "\n".join(" ".join(line.splitlines()) for line in lines)  # whatever a signer wrote, no line of its own

    def copy_to(self, store: Store, names: Iterator[str]) -> None:
        """Put files of the run where they lie in a store."""
        with zipfile.ZipFile(self.path) as bundle:
            for name in names:
                content = bundle.read(name)
                if hashlib.sha256(content).hexdigest() != self.claims["files"][name]:
                    raise InputError(f"{self.path} was changed while it was read.")
                store.folder.write(name, content)


def read_bundle(
    path: Path, key: Path | ByCommand, plan: str | None = None, plan_key: Path | ByCommand | None = None
) -> Bundle:
    """The bundle in a file, whoever wrote it; raises with the reason where anything of it is not as this key signed (or
    its plan not as `plan_key`), or where its run did not begin under the `plan` that the reader had beforehand."""
    import pyarrow.parquet as pq

    trusted = read_public_key(key)
    with _opened(path) as bundle:
        checksums = _checksums(path, bundle)
        envelopes = [name for name in checksums if name.endswith(".dsse.json")]
        if len(envelopes) != 2 or any(bundle.getinfo(name).file_size > _LARGEST_STATEMENT for name in envelopes):
            raise InputError(f"{path} holds {len(envelopes)} statements, and a bundle has two of at most 256 MiB.")
        envelopes.sort(key=lambda name: name.rpartition("/")[2])
        measured, result = (statement_in(bundle.read(name), trusted, name) for name in envelopes)
        _require_one_run(result, measured, envelopes)
        claims = measured["predicate"]
        carried = {name: checksum for name, checksum in checksums.items() if name not in envelopes}
        _require_files(carried, claims)
        record = RunRecord.from_json(json.loads(bundle.read(f"runs/{claims['run']}.json")))
        log = entries_in(bundle.read(evidence.log_name(record.id)).split(b"\n"))
        findings = findings_from(pq.read_table(io.BytesIO(bundle.read(f"runs/{record.id}/findings.parquet"))))
        read = Bundle(path, key_id(trusted), result["predicate"], claims, frozenset(carried), record, log)
        _require_plan(bundle, read, read_public_key(plan_key) if plan_key else trusted)
        _require_same_account(bundle, read, findings, result["subject"])
        if plan is not None and plan != record.plan.get("sha256"):
            raise InputError(f"Run {record.id} began under {record.plan.get('sha256', 'no plan')}, not {plan}.")
        return replace(read, judged=_judged_anew(read, findings))


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The zip; what is wrong with it or with what it says becomes one sentence."""
    require_regular(path)
    try:
        with zipfile.ZipFile(path) as bundle:
            yield bundle
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever reading what a stranger wrote raises
        raise InputError(f"{path} is no bundle that can be read ({type(error).__name__}: {error}).") from None


def _checksums(path: Path, bundle: zipfile.ZipFile) -> dict[str, str]:
    """The sha256 of every file; raises where the zip is not the one that these files make."""
    entries, checksums = bundle.infolist(), dict[str, str]()
    unlike = InputError(f"{path} is not the zip that assay bundle makes of its files: somebody else has written it.")
    names = [entry.filename for entry in entries]
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    if not stored or names != sorted(set(names)) or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise unlike  # before anything is read: it could swell
    with tempfile.TemporaryFile() as again:
        with zipfile.ZipFile(again, "w") as rebuilt:
            for entry in entries:
                digest = hashlib.sha256()
                with bundle.open(entry) as source, rebuilt.open(_entry(entry.filename, entry.file_size), "w") as sink:
                    while piece := source.read(_PIECE_BYTES):
                        digest.update(piece)
                        sink.write(piece)
                checksums[entry.filename] = digest.hexdigest()
        again.seek(0)
        with path.open("rb") as given:
            if hashlib.file_digest(given, "sha256").digest() != hashlib.file_digest(again, "sha256").digest():
                raise unlike
    return checksums


def _require_one_run(result: Mapping[str, Any], findings: Mapping[str, Any], envelopes: list[str]) -> None:
    kinds = [(statement["_type"], statement["predicateType"]) for statement in (result, findings)]
    if kinds != [(evidence.STATEMENT, evidence.TEST_RESULT), (evidence.STATEMENT, evidence.ALL_FINDINGS)]:
        raise InputError("The two statements are not a test result and its findings.")
    run = findings["predicate"]["run"]
    root = merkle_root(findings["predicate"]["files"])
    subject = {"name": f"run {run}", "digest": {"sha256": root}}
    if result["subject"] != findings["subject"] or sorted(envelopes) != sorted(evidence.statement_names(run)):
        raise InputError("The two statements are of different runs: one of them was signed for another bundle.")
    if findings["subject"][0] != subject:
        raise InputError("The files that the statement lists are not those of its Merkle root.")


def _require_files(carried: Mapping[str, str], claims: Mapping[str, Any]) -> None:
    """Every file that is there was signed as it is, and none is missing; of tables all are there, or none."""
    signed = claims["files"]
    for name, checksum in carried.items():
        if name not in signed:
            raise InputError(f"{name!r} was not signed: it was put into the bundle afterwards.")
        if checksum != signed[name]:
            raise InputError(f"{name} is not the file that was signed.")
    with_results = any(map(evidence.is_result, carried))
    for name in signed:
        if name not in carried and (with_results or not evidence.is_result(name)):
            raise InputError(f"{name} was signed and is missing: the bundle is not complete.")


def _require_same_account(
    bundle: zipfile.ZipFile, read: Bundle, findings: list[Finding], subjects: list[dict[str, Any]]
) -> None:
    """What is said twice is said alike: findings, gates and their outcomes, data and weights, and the settings."""
    record, files = read.record, read.claims["files"]
    account = evidence.all_findings(record, findings, files)
    if account["findings"] != read.claims["findings"]:
        raise InputError("The findings of the statement are not those of findings.parquet.")
    if evidence.test_result(record, subjects, files) != read.result:
        raise InputError("The gates of the test result are not those that the run was asked, or came out otherwise.")
    settings = bundle.read(f"{evidence.evidence_folder(record.id)}/settings.json")
    if account != read.claims or settings != canonical_json(record.settings):
        raise InputError("The statements are not what the record of the run says.")
    if any(files.get(about["name"].partition(" ")[2]) != about["digest"]["sha256"] for about in subjects[1:]):
        raise InputError("The data or weights that the statements name are not those of the bundle.")


def _judged_anew(read: Bundle, findings: list[Finding]) -> list[str]:
    """What the findings of a run make of its gates, a line each; raises where its record says otherwise. A bound on
    change, and how often a gate had failed before, need the nights before."""
    record, lines = read.record, list[str]()
    gates = gates_of(record)
    if [gate.title() for gate in gates] != [gate["gate"] for gate in record.gates]:
        raise InputError("The gates of the record are not those that the run was asked.")
    with tempfile.TemporaryDirectory() as place:
        past = Past(Store(place), record)
        lacking = _lay_nights(read, past.store) if need_earlier_nights(record) else ""
        results = judge_night(gates, findings, past, budget_in(record))
        for gate, recorded, alone, anew in zip(gates, record.gates, judge(gates, findings), results, strict=True):
            outcome, unknown = recorded["outcome"], f"needs nights before; {lacking}."
            if lacking and gate.is_on_change and alone.passed:
                lines.append(f"{outcome}, not judged anew: {gate.title()}: {unknown}")
                continue
            over_nights = bool(lacking) and gate.nights[1] > 1 and not alone.passed
            alike = comes_out_alike(
                replace(anew, outcome="failed") if over_nights and outcome == "failed" else anew, recorded
            )
            if not alike:
                raise InputError(f"A gate is {anew.outcome} by the findings of the run, not {outcome}: {anew.sentence}")
            count = f" Not judged anew: on how many nights before; {unknown}" if over_nights else ""
            lines.append(f"{outcome}: {alone.sentence if over_nights else anew.sentence}{count}")
    if (record.status == "done") != all(gate["outcome"] not in ("failed", "not asked") for gate in record.gates):
        raise InputError(f"The run is said to be {record.status}, and its gates came out otherwise.")
    return lines


def _lay_nights(read: Bundle, store: Store) -> str:
    """Put into an empty store what the gates of the run were judged by; returns why that cannot be had."""
    listed = evidence.nights_name(read.run)
    if listed not in read.carried:
        return "the bundle has none of them"
    with zipfile.ZipFile(read.path) as bundle:
        names = [str(name) for name in json.loads(bundle.read(listed))]
    if not read.carried.issuperset(names):
        return "its signer has them: assay bundle --results"
    if lacking := lacking_night(read.log, read.record, {name: read.claims["files"][name] for name in names}):
        raise InputError(f"The gates cannot have been judged so: {lacking}.")
    read.copy_to(store, iter(names))
    return ""


def _require_plan(bundle: zipfile.ZipFile, read: Bundle, key: PublicKey) -> None:
    """The run began under the latest plan of its pipeline, and says truly what of it that had."""
    record, run = read.record, read.run
    begun, standing = beginning_in(read.log, record)
    if begun and begun["settings"] != settings_digest(record.settings):
        raise InputError(f"Run {run} did not begin with the settings of its record, as the log says.")
    if record.plan.get("sha256", "") != standing:
        raise InputError(f"Run {run} did not begin under the latest plan of {record.pipeline} in the log.")
    if record.plan:
        envelope = bundle.read(f"{evidence.evidence_folder(run)}/plan.json")
        planned = statement_in(envelope, key, "The plan")["predicate"]
        about = {"sha256": hashlib.sha256(envelope).hexdigest()}
        if record.plan != about | decided(planned, record.settings, record.ingredients):
            raise InputError(f"What run {run} says of its plan is not so: another plan stood, or other gates.")
    signing = {"action": "attest", "run": run, "key": read.signer, "record": read.claims["files"][f"runs/{run}.json"]}
    if not signing.items() <= read.log[-1].items():
        raise InputError(f"The log does not end where run {run} was signed as it is.")
    signings = [entry for entry in read.log if (entry["action"], entry.get("run")) == ("attest", run)]
    if any(entry["record"] != signing["record"] for entry in signings):
        raise InputError(f"Run {run} was signed before with another record: it was rewritten in between.")
