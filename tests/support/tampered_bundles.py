"""Bundles that somebody has tampered with: every way in a table, with the reason by which it is refused."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from assay.flows.evidence.bundle import _entry
from assay.flows.evidence.envelope import merkle_root, signed_envelope
from assay.flows.evidence.statements import evidence_folder
from assay.flows.report.ledger import decided

Files = dict[str, bytes]


def new_keys(folder: Path, name: str) -> tuple[Ed25519PrivateKey, Path, Path]:
    """A key, and the PEM files of both of its halves."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return key, private, public


@dataclass(frozen=True)
class Honest:
    """Two honest bundles of different runs, signed by one key, and the key of somebody else."""

    path: Path
    other: Path
    key: Ed25519PrivateKey
    stranger: Ed25519PrivateKey
    public: Path
    stale: bytes
    """A plan that this key signed for the pipeline before the one that stood."""

    def files(self) -> Files:
        return files_in(self.path)


def files_in(path: Path) -> Files:
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """The zip that `assay bundle` would write of these files."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as bundle:
        for name in sorted(files):
            bundle.writestr(_entry(name, len(files[name])), files[name])
    return sink.getvalue()


def envelopes(files: Mapping[str, bytes]) -> tuple[str, str]:
    """The findings' and the test result's."""
    findings, result = sorted(name for name in files if name.endswith(".dsse.json"))
    return findings, result


def statement(content: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(base64.b64decode(json.loads(content)["payload"]))
    return value


def a_bit(honest: Honest, draw: random.Random) -> bytes:
    content = bytearray(honest.path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(content)


def a_bit_in_a_file(honest: Honest, draw: random.Random) -> bytes:
    files = honest.files()
    name = draw.choice([name for name in files if name not in envelopes(files)])
    content = bytearray(files[name])
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return zip_of(files | {name: bytes(content)})


def cut_short(honest: Honest, draw: random.Random) -> bytes:
    content = honest.path.read_bytes()
    return content[: draw.randrange(len(content))]


def swapped_files(honest: Honest, draw: random.Random) -> bytes:
    files = honest.files()
    one, other = draw.sample([name for name in files if name not in envelopes(files)], 2)
    if files[one] == files[other]:
        return a_bit(honest, draw)
    return zip_of(files | {one: files[other], other: files[one]})


def a_dropped_file(honest: Honest, draw: random.Random) -> bytes:
    files = honest.files()
    del files[draw.choice([name for name in files if name not in envelopes(files)])]
    return zip_of(files)


def an_added_file(honest: Honest, draw: random.Random) -> bytes:
    name = draw.choice(["../../etc/cron.d/x", "/etc/passwd", "stages/x/y/model.pkl", "runs/x.json", "a\\..\\b", "x\n"])
    return zip_of(honest.files() | {name: b"cos\nsystem\n(S'true'\ntR."})


def _resigned(honest: Honest, change: Callable[[dict[str, Any]], object], which: int, key: Ed25519PrivateKey) -> bytes:
    files = honest.files()
    name = envelopes(files)[which]
    said = statement(files[name])
    change(said["predicate"])
    return zip_of(files | {name: signed_envelope(said, key)})


def fewer_findings_by_a_stranger(honest: Honest, draw: random.Random) -> bytes:
    return _resigned(honest, lambda said: said["findings"].pop(draw.randrange(9)), 0, honest.stranger)


def fewer_findings_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    return _resigned(honest, lambda said: said["findings"].pop(draw.randrange(9)), 0, honest.key)


def better_numbers_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    return _resigned(honest, lambda said: said["findings"][draw.randrange(9)].update(value=0.999), 0, honest.key)


def fewer_gates_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    def other(said: dict[str, Any]) -> None:
        said[draw.choice(["passedTests", "failedTests"])].pop()

    return _resigned(honest, other, 1, honest.key)


def another_gate_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    name = f"subject.accuracy at least {draw.random():.2f}"
    return _resigned(honest, lambda said: said["passedTests"].append(name), 1, honest.key)


def fewer_files_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    def fewer(said: dict[str, Any]) -> None:
        del said["files"][draw.choice(sorted(said["files"]))]

    return _resigned(honest, fewer, 0, honest.key)


def _patched(honest: Honest, change: Callable[[dict[str, Any]], object], which: int) -> bytes:
    """A statement that was changed, under the signature of the old one."""
    files = honest.files()
    name = envelopes(files)[which]
    envelope, said = json.loads(files[name]), statement(files[name])
    change(said["predicate"])
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    envelope["payload"] = base64.b64encode(text.encode()).decode()
    content = json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode()
    return zip_of(files | {name: content})


def findings_dropped(honest: Honest, draw: random.Random) -> bytes:
    return _patched(honest, lambda said: said["findings"].pop(draw.randrange(9)), 0)


def other_gates(honest: Honest, draw: random.Random) -> bytes:
    def all_passed(said: dict[str, Any]) -> None:
        said.update(result="PASSED", passedTests=said["passedTests"] + said["failedTests"], failedTests=[])
        said["passedTests"].append(str(draw.random()))

    return _patched(honest, all_passed, 1)


def _of_another_run(honest: Honest, which: int, renamed: bool) -> bytes:
    files, others = honest.files(), files_in(honest.other)
    name, theirs = envelopes(files)[which], envelopes(others)[which]
    if renamed:
        return zip_of(files | {name: others[theirs]})
    del files[name]
    return zip_of(files | {theirs: others[theirs]})


def a_replayed_statement(honest: Honest, draw: random.Random) -> bytes:
    return _of_another_run(honest, draw.randrange(2), draw.random() < 0.5)


def both_statements_replayed(honest: Honest, draw: random.Random) -> bytes:
    files, others = honest.files(), files_in(honest.other)
    for name in envelopes(files):
        del files[name]
    return zip_of(files | {name: others[name] for name in envelopes(others)})


def another_key(honest: Honest, draw: random.Random) -> bytes:
    return _resigned(honest, lambda _: None, draw.randrange(2), honest.stranger)


def the_name_of_the_key(honest: Honest, draw: random.Random) -> bytes:
    """Somebody else's signature under the name of the trusted key."""
    files = honest.files()
    name = envelopes(files)[draw.randrange(2)]
    ours = json.loads(files[name])
    theirs = json.loads(signed_envelope(statement(files[name]), honest.stranger))
    theirs["signatures"][0]["keyid"] = ours["signatures"][0]["keyid"]
    return zip_of(files | {name: json.dumps(theirs, sort_keys=True, separators=(",", ":")).encode()})


def an_odd_envelope(honest: Honest, draw: random.Random) -> bytes:
    files = honest.files()
    name = envelopes(files)[draw.randrange(2)]
    envelope = json.loads(files[name])
    signature = envelope["signatures"][0]
    odd: list[Any] = [
        envelope | {"payloadType": "text/plain"},
        envelope | {"signatures": []},
        envelope | {"signatures": [signature, signature]},
        envelope | {"more": "unsigned"},
        envelope | {"payload": envelope["payload"] + "\n"},
        envelope | {"payload": None},
        [envelope],
        "[" * 100_000,
    ]
    chosen = draw.choice(odd)
    text = chosen if isinstance(chosen, str) else json.dumps(chosen, sort_keys=True, separators=(",", ":"))
    return zip_of(files | {name: text.encode()})


def no_statement(honest: Honest, draw: random.Random) -> bytes:
    files = honest.files()
    del files[envelopes(files)[draw.randrange(2)]]
    return zip_of(files)


def _rewritten(honest: Honest, change: Callable[[zipfile.ZipFile, Files], object]) -> bytes:
    sink, files = io.BytesIO(), honest.files()
    with zipfile.ZipFile(sink, "w") as bundle:
        change(bundle, files)
        for name in sorted(files):
            bundle.writestr(_entry(name, len(files[name])), files[name])
    return sink.getvalue()


def a_zip_bomb(honest: Honest, draw: random.Random) -> bytes:
    """Deflated zeros, a thousand to one."""
    zeros = bytes(draw.randrange(1 << 20, 4 << 20))
    return _rewritten(honest, lambda bundle, _: bundle.writestr("a", zeros, zipfile.ZIP_DEFLATED))


def a_link(honest: Honest, draw: random.Random) -> bytes:
    def link(bundle: zipfile.ZipFile, files: Files) -> None:
        name = sorted(files)[0]
        entry = _entry(name, 0)
        entry.external_attr = 0o120777 << 16
        bundle.writestr(entry, files.pop(name) if draw.random() < 0.5 else b"/etc/passwd")
        files.pop(name, None)

    return _rewritten(honest, link)


def a_name_twice(honest: Honest, draw: random.Random) -> bytes:
    files = honest.files()
    name = draw.choice(sorted(files))
    stand_in = name[:-1] + "\x01"  # sorts before it, and becomes it
    return zip_of(files | {stand_in: b"another"}).replace(stand_in.encode(), name.encode())


def a_front_or_a_tail(honest: Honest, draw: random.Random) -> bytes:
    more = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 99)))
    content = honest.path.read_bytes()
    return more + content if draw.random() < 0.5 else content + more


def a_time_or_a_comment(honest: Honest, draw: random.Random) -> bytes:
    sink, files = io.BytesIO(), honest.files()
    with zipfile.ZipFile(sink, "w") as bundle:
        for name in sorted(files):
            entry = _entry(name, 0)
            entry.date_time = (1980 + draw.randrange(1, 40), 2, 3, 4, 5, 6)
            bundle.writestr(entry, files[name])
        bundle.comment = b"" if draw.random() < 0.5 else b"see elsewhere"
    return sink.getvalue()


def another_order(honest: Honest, draw: random.Random) -> bytes:
    sink, files = io.BytesIO(), honest.files()
    names = sorted(files)
    while names == sorted(files):
        draw.shuffle(names)
    with zipfile.ZipFile(sink, "w") as bundle:
        for name in names:
            bundle.writestr(_entry(name, len(files[name])), files[name])
    return sink.getvalue()


def overlapping(honest: Honest, draw: random.Random) -> bytes:
    """Two entries over the same bytes, as in bombs that need no compression that is deep."""
    content = bytearray(honest.path.read_bytes())
    at, count, _ = _directory(content)
    places = []
    for _ in range(count):
        places.append(at)
        name, extra, comment = struct.unpack_from("<HHH", content, at + 28)
        at += 46 + name + extra + comment
    one, other = draw.sample(places, 2)
    content[other + 42 : other + 46] = content[one + 42 : one + 46]
    return bytes(content)


def _directory(content: bytearray) -> tuple[int, int, int]:
    end = content.rindex(b"PK\x05\x06")
    count, size, at = struct.unpack_from("<HII", content, end + 10)
    return at, count, size


def a_huge_size(honest: Honest, draw: random.Random) -> bytes:
    content = bytearray(honest.path.read_bytes())
    at, _, _ = _directory(content)
    struct.pack_into("<II", content, at + 20, 0xFFFFFFF0, draw.randrange(1 << 31, 0xFFFFFFF0))
    return bytes(content)


def rebuilt(honest: Honest, changed: Files, plan: dict[str, Any] | None = None) -> bytes:
    """The bundle with other files, which its signer has signed as if they had been there."""
    files = honest.files() | changed
    names = envelopes(files)
    said = [statement(files[name]) for name in names]
    sums = said[0]["predicate"]["files"]
    sums |= {name: hashlib.sha256(content).hexdigest() for name, content in changed.items()}
    for each in said:
        each["subject"][0]["digest"]["sha256"] = merkle_root(sums)
    for part in said[1]["predicate"]["configuration"]:
        part["digest"]["sha256"] = sums.get(f"{evidence_folder(said[0]['predicate']['run'])}/{part['name']}.json", "")
        part["digest"]["sha256"] = part["digest"]["sha256"] or sums[part["name"].partition(" ")[2]]
    said[0]["predicate"]["plan"] = said[0]["predicate"]["plan"] if plan is None else plan
    return zip_of(files | {name: signed_envelope(each, honest.key) for name, each in zip(names, said, strict=True)})


def _place(honest: Honest, name: str) -> str:
    return next(file for file in honest.files() if file.endswith(f"/evidence/{name}"))


def _with_record(honest: Honest, **changes: Any) -> Files:
    """The record of the run, said otherwise."""
    name = next(name for name in honest.files() if name.count("/") == 1 and name.startswith("runs/"))
    return {name: json.dumps(json.loads(honest.files()[name]) | changes).encode()}


def another_plan(honest: Honest, draw: random.Random) -> bytes:
    """The plan before the latest one, or a bit of the latest."""
    name = _place(honest, "plan.json")
    return zip_of(honest.files() | {name: honest.stale if draw.random() < 0.5 else honest.files()[name][:-1]})


def a_stale_plan_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """As if the run had begun under the plan before the latest: by the file alone, or in its record too."""
    changed = {_place(honest, "plan.json"): honest.stale}
    if draw.random() < 0.5:
        return rebuilt(honest, changed)
    planned = statement(honest.stale)["predicate"]
    (record,) = (json.loads(content) for content in _with_record(honest).values())
    plan = {"sha256": hashlib.sha256(honest.stale).hexdigest()}
    plan |= decided(planned, record["settings"], record["ingredients"])
    return rebuilt(honest, changed | _with_record(honest, plan=plan), plan)


def no_plan_by_the_signer(honest: Honest, _draw: random.Random) -> bytes:
    return rebuilt(honest, _with_record(honest, plan={}), {})


def gates_said_to_be_planned_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """A gate that came after the plan among those that stood before, or none that is gone."""
    plan = statement(honest.files()[envelopes(honest.files())[0]])["predicate"]["plan"]
    better = plan | ({"before": plan["before"] + plan["after"], "after": []} if draw.random() < 0.5 else {"gone": []})
    return rebuilt(honest, _with_record(honest, plan=better), better)


def other_settings_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """Settings with which the run did not begin."""
    (record,) = (json.loads(content) for content in _with_record(honest).values())
    level = {"statistics": {**record["settings"]["statistics"], "significance": draw.uniform(0.02, 0.5)}}
    return rebuilt(honest, _with_record(honest, settings=record["settings"] | level))


def _said_by_the_signer(
    honest: Honest, change: Callable[[dict[str, Any], dict[str, Any]], object], content: bytes = b""
) -> bytes:
    """Both statements (findings, test result), of that bundle or the honest one, said otherwise and signed again."""
    with zipfile.ZipFile(io.BytesIO(content or honest.path.read_bytes())) as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    names = envelopes(files)
    said = [statement(files[name]) for name in names]
    change(said[0], said[1])
    return zip_of(files | {name: signed_envelope(each, honest.key) for name, each in zip(names, said, strict=True)})


def a_failed_gate_among_those_that_passed_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """In the test result alone, or in the findings' statement too: the record still says that it failed."""
    both = draw.random() < 0.5

    def passed(findings: dict[str, Any], result: dict[str, Any]) -> None:
        said = result["predicate"]
        said.update(result="PASSED", passedTests=said["passedTests"] + said["failedTests"], failedTests=[])
        for gate in findings["predicate"]["gates"] if both else ():
            gate["outcome"] = "passed"

    return _said_by_the_signer(honest, passed)


def another_status_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    other = draw.choice([{"status": "done"}, {"seed": 7}, {"started": "2020-01-01T00:00:00+00:00"}, {"verdicts": []}])
    return _said_by_the_signer(honest, lambda findings, _: findings["predicate"].update(other))


def other_data_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """The digest of the data, or of the weights, of something else."""

    def swapped(findings: dict[str, Any], result: dict[str, Any]) -> None:
        at = draw.randrange(1, len(result["subject"]))
        for subjects in (findings["subject"], result["subject"], result["predicate"]["configuration"]):
            for subject in subjects:
                if subject["name"] == findings["subject"][at]["name"]:
                    subject["digest"] = {"sha256": "ab" * 32}

    return _said_by_the_signer(honest, swapped)


def gates_that_nobody_asked_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """As many gates as were asked, and easier ones, in the record and the log's last entry as well."""
    gates = [{"gate": f"subject.accuracy at least {draw.random():.1f}", "outcome": "passed", "sentence": "."}] * 2
    ((name, record),) = _with_record(honest, gates=gates).items()
    *before, last = honest.files()[_place(honest, "log.jsonl")].split(b"\n")
    last = json.dumps(json.loads(last) | {"record": hashlib.sha256(record).hexdigest()}).encode()
    changed = {name: record, _place(honest, "log.jsonl"): b"\n".join([*before, last])}

    def easier(findings: dict[str, Any], result: dict[str, Any]) -> None:
        findings["predicate"]["gates"] = gates
        result["predicate"].update(passedTests=[gate["gate"] for gate in gates], failedTests=[])

    return _said_by_the_signer(honest, easier, rebuilt(honest, changed))


def a_failed_gate_called_passed_everywhere_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """In the record, the log's last entry and both statements alike: only the findings say that it failed."""
    (record,) = (json.loads(content) for content in _with_record(honest).values())
    passed, failed = record["gates"]
    better = failed | draw.choice(
        [{"outcome": "passed", "raw": "passed", "sentence": "."}, {"outcome": "passed"}, {"outcome": "warned"}, {}]
    )
    more = {"status": "done", "gates": [passed, better], "judged": {"passed": 2, "failed": 0}}
    ((name, content),) = _with_record(honest, **more).items()
    *before, last = honest.files()[_place(honest, "log.jsonl")].split(b"\n")
    last = json.dumps(json.loads(last) | {"record": hashlib.sha256(content).hexdigest()}).encode()
    changed = {name: content, _place(honest, "log.jsonl"): b"\n".join([*before, last])}

    def alike(findings: dict[str, Any], result: dict[str, Any]) -> None:
        findings["predicate"].update({name: more[name] for name in ("status", "gates")})
        tests: dict[str, list[str]] = {"passedTests": [], "warnedTests": [], "failedTests": []}
        for gate in (passed, better):
            tests[f"{gate['outcome']}Tests"].append(gate["gate"])
        result["predicate"].update(tests, result="WARNED" if tests["warnedTests"] else "PASSED")

    return _said_by_the_signer(honest, alike, rebuilt(honest, changed))


def settings_beside_those_of_the_record_by_the_signer(honest: Honest, _draw: random.Random) -> bytes:
    """What the test result names as its settings are not those that the run had, gate for gate."""
    name = _place(honest, "settings.json")
    easier = honest.files()[name].replace(b'"at_least":1.0', b'"at_least":0.1')
    assert easier != honest.files()[name]
    return rebuilt(honest, {name: easier})


def _log(honest: Honest, draw: random.Random) -> Files:
    """The log with an entry changed, dropped or doubled, or two of them in each other's place."""
    name = _place(honest, "log.jsonl")
    lines = honest.files()[name].split(b"\n")
    at = draw.randrange(len(lines) - 1)
    swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
    changed = [*lines[:at], lines[at].replace(b'"by": "', b'"by": "x'), *lines[at + 1 :]]
    ways = [swapped, changed, [*lines[:at], *lines[at + 1 :]], [*lines[: at + 1], *lines[at:]]]
    return {name: b"\n".join(draw.choice(ways))}


def a_broken_log(honest: Honest, draw: random.Random) -> bytes:
    return zip_of(honest.files() | _log(honest, draw))


def a_broken_log_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    return rebuilt(honest, _log(honest, draw))


def a_log_cut_short_by_the_signer(honest: Honest, draw: random.Random) -> bytes:
    """As if the run had begun before there was a log."""
    name = _place(honest, "log.jsonl")
    lines = honest.files()[name].split(b"\n")
    return rebuilt(honest, {name: b"\n".join(lines[: draw.randrange(1, len(lines) - 2)])})


def no_zip(_honest: Honest, draw: random.Random) -> bytes:
    return draw.randbytes(draw.randrange(400))


_SHAPE = ("no bundle that can be read", "is not the zip that assay bundle makes")
_CHANGED = ("is no envelope as assay attest writes it", "its signature does not fit", "signed with another key")
_FILE = ("is not the file that was signed",)
TAMPERED: dict[Callable[[Honest, random.Random], bytes], tuple[str, ...]] = {
    a_bit: (*_SHAPE, *_CHANGED, *_FILE),
    a_bit_in_a_file: _FILE,
    cut_short: _SHAPE,
    swapped_files: (*_FILE, *_SHAPE),
    a_dropped_file: ("was signed and is missing",),
    an_added_file: ("was not signed: it was put into the bundle afterwards", *_SHAPE),
    fewer_findings_by_a_stranger: ("signed with another key",),
    fewer_findings_by_the_signer: ("not those of findings.parquet",),
    better_numbers_by_the_signer: ("not those of findings.parquet",),
    fewer_gates_by_the_signer: ("not those that the run was asked",),
    another_gate_by_the_signer: ("not those that the run was asked",),
    fewer_files_by_the_signer: ("not those of its Merkle root",),
    findings_dropped: ("its signature does not fit",),
    other_gates: ("its signature does not fit",),
    a_replayed_statement: ("of different runs",),
    both_statements_replayed: ("was not signed", *_FILE),
    another_key: ("signed with another key",),
    the_name_of_the_key: ("its signature does not fit",),
    an_odd_envelope: ("is no envelope as assay attest writes it",),
    no_statement: ("holds 1 statements",),
    a_zip_bomb: _SHAPE,
    a_link: _SHAPE,
    a_name_twice: _SHAPE,
    a_front_or_a_tail: _SHAPE,
    a_time_or_a_comment: _SHAPE,
    another_order: _SHAPE,
    overlapping: _SHAPE,
    a_huge_size: _SHAPE,
    no_zip: _SHAPE,
    another_plan: _FILE,
    a_stale_plan_by_the_signer: ("says of its plan is not so", "under the latest plan"),
    no_plan_by_the_signer: ("under the latest plan",),
    gates_said_to_be_planned_by_the_signer: ("says of its plan is not so",),
    other_settings_by_the_signer: ("did not begin with the settings",),
    a_failed_gate_among_those_that_passed_by_the_signer: ("or came out otherwise",),
    another_status_by_the_signer: ("not what the record of the run says",),
    other_data_by_the_signer: ("The data or weights that the statements name",),
    gates_that_nobody_asked_by_the_signer: ("not those that the run was asked",),
    a_failed_gate_called_passed_everywhere_by_the_signer: (
        "A gate is failed by the findings of the run, not ",
        "The run is said to be done, and its gates came out otherwise",
    ),
    settings_beside_those_of_the_record_by_the_signer: ("not what the record of the run says",),
    a_broken_log: _FILE,
    a_broken_log_by_the_signer: ("The log breaks at its entry",),
    a_log_cut_short_by_the_signer: ("under the latest plan",),
}
"""Every way, and what the reason has to say: one of these."""
