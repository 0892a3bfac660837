"""What is signed of a run can be checked by somebody else, elsewhere, and what was tampered with is refused."""

from __future__ import annotations

import base64
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from direct_nights import latest, perform_night, project_in
from planted_images import plant_images
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
from tampered_bundles import TAMPERED, Honest, files_in, new_keys, rebuilt

from assay.flows.cli import answer
from assay.flows.evidence.bundle import read_bundle, write_bundle
from assay.flows.evidence.earlier_nights import lacking_night
from assay.flows.evidence.envelope import ByCommand, key_id, merkle_root, read_private_key, tree_hash
from assay.flows.evidence.recompute import recompute
from assay.flows.evidence.statements import attest, commit_plan, statement_names
from assay.flows.report.all_nights import write_index
from assay.flows.report.gates import accept
from assay.flows.report.ledger import decided_in_words, ledger_of, note_decided, plan_name
from assay.infra.errors import InputError
from assay.infra.storage.log import entries_in, log_action, log_lines
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import findings_of, findings_table

NIGHT = """
compute: {engine: serial}
pipelines:
  night:
    source: {csv: patients.csv, id: id, label: ill, split: part}
    labeling: {functions: "rules.py:RULES"}
    weak_labels: {labelers: [majority]}
    subject: {model: logistic}
    gates:
      - {finding: subject.accuracy, of: clean, at_least: 0.5}
      - {finding: subject.accuracy, of: clean, at_least: 1.0}
"""
RULES = """
import pathlib
pathlib.Path("MARKER".replace("|", "/")).touch()  # no file that the rules stand on

def high(x): return 1 if x.x > 0.5 else -1
def low(x): return 0 if x.x < 0.6 else -1

CLASSES = ("0", "1")
RULES = [high, low]
"""


def plant(folder: Path, seed: int = 0) -> None:
    draw = random.Random(seed)
    rows = ["id,x,ill,part"]
    for number in range(200):
        x = draw.random()
        rows.append(f"{number},{x:.3f},{int(x + draw.gauss(0, 0.2) > 0.5)},{'train' if number % 2 else 'test'}")
    folder.mkdir(exist_ok=True)
    (folder / "patients.csv").write_text("\n".join(rows))
    (folder / "rules.py").write_text(RULES.replace("MARKER", str(folder.parent / "ran").replace("/", "|")))
    (folder / "pipelines.yaml").write_text(NIGHT)


def bundled(folder: Path, private: Path, target: Path, results: bool = True) -> Path:
    """The bundle of the latest night, signed."""
    store, record = latest(folder, "night")
    attest(store, record, private)
    write_bundle(store, record, target, results)
    return target


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a night on record, whose second gate came after the plan; the key's files stand beside it."""
    folder = tmp_path_factory.mktemp("signer") / "team"
    plant(folder)
    _, private, _ = new_keys(folder.parent, "signer")
    pipelines = folder / "pipelines.yaml"
    for gates in (NIGHT.partition("    gates:")[0], NIGHT.replace("1.0", "0.9")):
        pipelines.write_text(gates)
        commit_plan(project_in(folder, "night"), "night", private)
    pipelines.write_text(NIGHT)
    perform_night(folder, "night")
    return folder


@pytest.fixture(scope="module")
def honest(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Honest:
    """Two bundles of one signer, read in a folder where there is nothing else."""
    mail, private, public = tmp_path_factory.mktemp("mail"), night.parent / "signer.pem", night.parent / "signer.pub"
    key = read_private_key(private)
    stranger, _, _ = new_keys(mail, "stranger")
    path = bundled(night, private, mail / "night.zip")
    again = night.parent / "again"
    plant(again, seed=1)
    perform_night(again, "night")
    store, _ = latest(night, "night")
    stale, _ = (entry["plan"] for entry in entries_in(log_lines(store)) if entry["action"] == "commit-plan")
    first = store.folder.read(plan_name("night", stale))
    return Honest(path, bundled(again, private, mail / "again.zip"), key, stranger, public, first)


def tampered(honest: Honest, times: int, file: Path) -> dict[str, int]:
    """How often each way was tried; every one of them has been refused, with its reason."""
    draw, tried = random.Random(45), dict[str, int]()
    ways = [*TAMPERED] * (1 + times // len(TAMPERED))
    for change in ways[:times]:
        file.write_bytes(change(honest, draw))
        with pytest.raises(InputError) as refusal:
            read_bundle(file, honest.public)
        assert any(reason in str(refusal.value) for reason in TAMPERED[change]), (change.__name__, str(refusal.value))
        tried[change.__name__] = tried.get(change.__name__, 0) + 1
    return tried


def test_tampered_bundles_are_refused_each_with_its_reason(honest: Honest, tmp_path: Path) -> None:
    tried = tampered(honest, 2 * len(TAMPERED), tmp_path / "tampered.zip")
    assert min(tried.values()) >= 2
    assert read_bundle(honest.path, honest.public).run == read_bundle(honest.path, honest.public).record.id


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_thousand_tampered_bundles_are_refused_and_a_hundred_honest_ones_pass(
    honest: Honest, night: Path, tmp_path: Path
) -> None:
    assert sum(tampered(honest, 1000, tmp_path / "tampered.zip").values()) == 1000
    for number in range(100):
        path = bundled(night, night.parent / "signer.pem", tmp_path / "honest.zip", results=number % 2 == 0)
        assert len(read_bundle(path, honest.public).claims["findings"]) > 9


def test_another_implementation_of_dsse_accepts_both_statements(honest: Honest) -> None:
    public = honest.key.public_key()
    files = files_in(honest.path)
    for name in statement_names(read_bundle(honest.path, honest.public).run):
        envelope = Envelope.from_dict(json.loads(files[name]))
        assert envelope.verify([SSlibKey.from_crypto(public, keyid=key_id(public))], 1)
        assert json.loads(envelope.payload)["_type"] == "https://in-toto.io/Statement/v1"


def test_gates_stand_one_to_one_in_the_test_result_and_subjects_are_sha256(honest: Honest, night: Path) -> None:
    files, run = files_in(honest.path), read_bundle(honest.path, honest.public).run
    said = json.loads(base64.b64decode(json.loads(files[statement_names(run)[0]])["payload"]))
    result = said["predicate"]
    assert said["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert (result["result"], len(result["passedTests"]), len(result["failedTests"])) == ("FAILED", 1, 1)
    assert [part["name"] for part in result["configuration"][:4]] == ["settings", "code", "environment", "plan"]
    assert {subject["name"].split(" ")[0] for subject in said["subject"]} == {"run", "data", "weights"}
    assert all(len(subject["digest"]["sha256"]) == 64 for subject in said["subject"])


def test_the_tree_is_that_of_rfc_9162() -> None:
    leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    root = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    assert tree_hash([bytes.fromhex(leaf) for leaf in leaves]).hex() == root
    assert merkle_root({"a": "1", "b": "2"}) != merkle_root({"a": "2", "b": "1"})


def test_a_part_is_reproduced_elsewhere_from_the_bundle_and_the_data_alone(
    honest: Honest, night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, away, marker = tmp_path / "data", tmp_path / "away", night.parent / "ran"
    data.mkdir()
    shutil.copy(night / "patients.csv", data)
    shutil.move(night, away)
    marker.unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)
    asked = ["verify", str(honest.path), "--key", str(honest.public)]
    try:
        assert answer(asked) == 0
        assert "nothing was computed anew" in capsys.readouterr().out
        assert not marker.exists()
        assert answer([*asked, "--recompute", "30%", "--seed", "7", "--data", str(data)]) == 0
        heard = capsys.readouterr()
        assert "Verdict   reproduced: bit by bit" in heard.out
        assert "drawn by seed 7" in heard.out
        assert "rules.py" in heard.err
    finally:
        shutil.move(away, night)


def test_images_that_a_table_names_are_read_where_the_data_lie(tmp_path: Path) -> None:
    folder = tmp_path / "team"
    folder.mkdir()
    perform_night(plant_images(folder, count=60), "night")
    _, private, public = new_keys(tmp_path, "signer")
    checked = read_bundle(bundled(folder, private, tmp_path / "night.zip"), public)
    (tmp_path / "data").mkdir()
    for name in ("scans", "scans.csv", "weights.safetensors"):
        shutil.move(folder / name, tmp_path / "data" / name)
    came = recompute(checked, 0.3, 0, tmp_path / "data", Progress())
    assert came.verdict == "reproduced", came.where
    shutil.copy(tmp_path / "data" / "scans" / "0001.png", tmp_path / "data" / "scans" / "0002.png")
    with pytest.raises(InputError, match="The data here are not those of the run"):
        recompute(checked, 0.3, 0, tmp_path / "data", Progress())


def test_other_data_are_refused(honest: Honest, night: Path) -> None:
    checked = read_bundle(honest.path, honest.public)
    with pytest.raises(InputError, match="The data here are not those of the run"):
        recompute(checked, 0.05, 0, night.parent / "again", Progress())


def test_on_another_processor_findings_are_held_against_their_intervals(
    honest: Honest, night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.infra.stages.runs.numeric_profile", lambda _: {"processor": "another"})
    came = recompute(read_bundle(honest.path, honest.public), 0.05, 0, night, Progress())
    assert came.verdict == "consistent"
    assert "other keys here" in came.where


def test_a_made_up_result_that_its_signer_signed_is_not_reproduced(tmp_path: Path) -> None:
    plant(tmp_path / "team")
    perform_night(tmp_path / "team", "night")
    store, record = latest(tmp_path / "team", "night")
    (weights,) = [stage for stage in record.stages if stage.stage == "train_subject"]
    manifest = store.manifest(weights.stage, weights.key)
    assert manifest is not None
    file = max(manifest.files, key=lambda name: name.endswith(".safetensors"))
    content = bytearray(store.folder.read(file))
    content[-1] ^= 1
    store.folder.write(file, bytes(content))
    _, private, public = new_keys(tmp_path, "liar")
    checked = read_bundle(bundled(tmp_path / "team", private, tmp_path / "lie.zip"), public)
    came = recompute(checked, 1.0, 0, tmp_path / "team", Progress())
    assert (came.verdict, came.drawn) == ("not reproduced", came.units)
    assert "1 part differ" in came.where
    assert manifest.title in came.where


def test_a_finding_that_its_signer_made_up_is_not_reproduced(tmp_path: Path) -> None:
    plant(tmp_path / "team")
    perform_night(tmp_path / "team", "night")
    store, record = latest(tmp_path / "team", "night")
    (gold,) = [finding for finding in findings_of(store, record) if finding.metric == "subject.accuracy"][:1]
    made_up = findings_table([*findings_of(store, record), replace(gold, of="elsewhere", value=1.0)])
    with store.folder.writing(f"runs/{record.id}/findings.parquet") as sink:
        pq.write_table(made_up, sink)
    _, private, public = new_keys(tmp_path, "liar")
    checked = read_bundle(bundled(tmp_path / "team", private, tmp_path / "lie.zip"), public)
    came = recompute(checked, 0.05, 0, tmp_path / "team", Progress())
    assert came.verdict == "not reproduced"
    assert "subject.accuracy elsewhere" in came.where


def hmac(check: bool, secret: str = "k") -> ByCommand:
    """A tool of somebody's own that signs, or checks, without a key in a file."""
    signed = f"openssl dgst -sha256 -hmac {secret} -binary"
    return ByCommand("ada@example.com", f"sh -c '{signed} | cmp - SIGNATURE'" if check else signed)


@pytest.mark.usefixtures("honest")
def test_a_command_signs_and_another_one_checks(night: Path, tmp_path: Path) -> None:
    store, record = latest(night.parent / "again", "night")
    attest(store, record, hmac(check=False))
    write_bundle(store, record, tmp_path / "night.zip", results=False)
    assert read_bundle(tmp_path / "night.zip", hmac(check=True)).signer == "ada@example.com"
    with pytest.raises(InputError, match="its signature does not fit"):
        read_bundle(tmp_path / "night.zip", hmac(check=True, secret="other"))
    with pytest.raises(InputError, match=r"signed with another key \(ada@example.com\), not with bob"):
        read_bundle(tmp_path / "night.zip", replace(hmac(check=True), signer="bob"))
    for command, reason in (
        ("false", r"'false' has not signed \(1\)"),
        ("no-such-tool", "cannot be run"),
        ("'", "run"),
        ("", "cannot be run"),
    ):
        with pytest.raises(InputError, match=reason):
            attest(store, record, ByCommand("ada@example.com", command))
    assert answer(["attest"]) == 2


@pytest.mark.usefixtures("honest")
def test_the_command_line_takes_commands_in_place_of_keys(
    night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(night.parent / "again")
    signs, checks = (f"ada@example.com={hmac(check).command}" for check in (False, True))
    for asked in (
        ["attest", "latest", "--key", signs, "--store", "store"],
        ["bundle", "latest", "--to", str(tmp_path / "x.zip"), "--store", "store"],
        ["verify", str(tmp_path / "x.zip"), "--key", checks],
    ):
        assert answer(asked) == 0
    assert "with key ada@example.com\n" in capsys.readouterr().out
    assert answer(["verify", str(tmp_path / "x.zip"), "--key", "bob=true"]) == 2


def test_nothing_that_a_signer_wrote_is_a_line_of_its_own(honest: Honest) -> None:
    lying = "x\nVerdict   reproduced"
    checked = read_bundle(honest.path, honest.public)
    shown = replace(checked, judged=(lying,), claims={**checked.claims, "pipeline": lying}).in_words()
    assert not any(line.startswith("Verdict") for line in shown.splitlines())


def test_a_command_that_signs_may_ask_its_user_to_log_in(capfd: pytest.CaptureFixture[str]) -> None:
    assert ByCommand("ada", "sh -c 'echo open this page >&2; cat'").sign(b"x") == b"x"
    assert capfd.readouterr().err == "open this page\n"


def test_a_plan_may_have_a_key_of_its_own(honest: Honest, night: Path, tmp_path: Path) -> None:
    store, record = latest(night, "night")
    _, private, public = new_keys(tmp_path, "auditor")
    attest(store, record, private, plan_key=honest.public)
    write_bundle(store, record, tmp_path / "night.zip", results=False)
    assert read_bundle(tmp_path / "night.zip", public, plan_key=honest.public).record.plan == record.plan
    with pytest.raises(InputError, match="The plan is signed with another key"):
        read_bundle(tmp_path / "night.zip", public)


def two_nights(folder: Path, noise: float = 0.0) -> None:
    """A night, and another one whose labels are noisier, with gates that look at the nights before."""
    plant(folder)
    gates = """      - {finding: subject.accuracy, of: clean, at_least: 1.0, for: 2 of 3 nights}
      - {finding: subject.accuracy, of: clean, against: last-passed, drop_at_most: 0.01, severity: SEVERITY}
"""
    severity = "fail" if noise else "warn"
    (folder / "pipelines.yaml").write_text(NIGHT.partition("      - {finding")[0] + gates.replace("SEVERITY", severity))
    perform_night(folder, "night")
    header, *rows = (folder / "patients.csv").read_text().splitlines()
    draw, cells = random.Random(9), (row.split(",") for row in rows)
    noisy = [f"{a},{x},{draw.randrange(2) if draw.random() < noise else ill},{part}" for a, x, ill, part in cells]
    (folder / "patients.csv").write_text("\n".join([header, *noisy]))
    perform_night(folder, "night")


def test_gates_that_look_back_are_judged_anew_by_the_nights_that_the_bundle_brings(tmp_path: Path) -> None:
    two_nights(folder := tmp_path / "team")
    _, private, public = new_keys(tmp_path, "signer")
    path = bundled(folder, private, tmp_path / "night.zip")
    first, second = (run.id for run in latest(folder, "night")[0].runs())
    over_nights, on_change = read_bundle(path, public).judged
    assert over_nights.startswith("failed: subject.accuracy (of clean, subject")
    assert over_nights.endswith("Failed on 2 of the latest 3 nights; 2 fail the run.")
    assert on_change.startswith("passed: subject.accuracy (of clean")
    assert f"run {first}" in on_change
    checked = read_bundle(bundled(folder, private, tmp_path / "small.zip", results=False), public)
    over_nights, on_change = checked.judged
    assert over_nights.startswith("failed: subject.accuracy (of clean, subject")
    assert over_nights.endswith(
        "Not judged anew: on how many nights before; needs nights before; its signer has them: assay bundle --results."
    )
    assert on_change.startswith("passed, not judged anew: subject.accuracy (of clean) drop against last-passed")
    assert "\nGates     failed: " in checked.in_words()
    files = files_in(path)
    listed = next(name for name in files if name.endswith("/judged-by.json"))
    assert f"runs/{first}.json" in json.loads(files[listed])
    without = json.dumps([name for name in json.loads(files[listed]) if name != f"runs/{first}.json"]).encode()
    honest = Honest(path, path, read_private_key(private), read_private_key(private), public, b"")
    (tmp_path / "fewer.zip").write_bytes(rebuilt(honest, {listed: without}))
    with pytest.raises(InputError, match=f"run {first} began before {second} and is not among the nights"):
        read_bundle(tmp_path / "fewer.zip", public)


def test_a_night_or_an_acceptance_that_is_another_than_the_log_says_is_no_judge(tmp_path: Path) -> None:
    two_nights(folder := tmp_path / "team")
    store, record = latest(folder, "night")
    first = store.runs()[0]
    _, private, public = new_keys(tmp_path, "signer")
    accept(store, first, "the first night")
    attest(store, first, private)
    path = bundled(folder, private, tmp_path / "night.zip")
    assert "not judged anew" not in "".join(read_bundle(path, public).judged)
    files = files_in(path)
    listed = next(name for name in files if name.endswith(f"{record.id}/evidence/judged-by.json"))
    (accepted,) = (name for name in files if name.startswith("accepted/"))
    without = json.dumps([name for name in json.loads(files[listed]) if name != accepted]).encode()
    honest = Honest(path, path, read_private_key(private), read_private_key(private), public, b"")
    (tmp_path / "fewer.zip").write_bytes(rebuilt(honest, {listed: without}))
    with pytest.raises(InputError, match="what was accepted of night is not what the log says"):
        read_bundle(tmp_path / "fewer.zip", public)
    measured = f"runs/{first.id}/findings.parquet"
    for name, why in (
        (accepted, "what was accepted of night is not what the log says"),
        (measured, f"findings of run {first.id}, which gates look at, was signed before and is another now"),
    ):
        kept = store.folder.read(name)
        changed = store.folder.read(f"runs/{record.id}/findings.parquet")
        if name == accepted:
            changed = json.dumps(json.loads(kept) | {"level": "new"}).encode()
        store.folder.write(name, changed)
        assert why in attest(store, record, private)
        store.folder.write(name, kept)
    assert "cannot be judged anew" not in attest(store, record, private)
    begun = [entry for entry in entries_in(log_lines(store)) if entry.get("run") != record.id]
    assert "does not say when run" in lacking_night(begun, record, {})


def test_a_gate_on_change_that_its_signer_calls_passed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_nights(folder := tmp_path / "team", noise=0.8)
    store, record = latest(folder, "night")
    *_, on_change = record.gates
    assert on_change["outcome"] == "failed"
    on_change |= {"outcome": "passed", "raw": "passed"}
    store.save_run(record)
    _, private, public = new_keys(tmp_path, "liar")
    assert "cannot be judged anew: some come out otherwise" in attest(store, record, private)
    write_bundle(store, record, tmp_path / "night.zip", results=True)
    assert "not judged anew" in read_bundle(tmp_path / "night.zip", public).judged[-1]
    monkeypatch.setattr("assay.flows.evidence.earlier_nights.comes_out_alike", lambda *_: True)
    path = bundled(folder, private, tmp_path / "night.zip")
    with pytest.raises(InputError, match="A gate is failed by the findings of the run, not passed"):
        read_bundle(path, public)


@pytest.mark.usefixtures("honest")
def test_the_key_is_written_nowhere_and_a_bundle_is_the_same_every_time(night: Path, tmp_path: Path) -> None:
    again = night.parent / "again"
    _, private, public = new_keys(tmp_path, "key")
    first = bundled(again, private, tmp_path / "first.zip").read_bytes()
    store, record = latest(again, "night")
    write_bundle(store, record, tmp_path / "second.zip", results=True)
    assert (tmp_path / "second.zip").read_bytes() == first
    secret = base64.b64decode("".join(private.read_text().splitlines()[1:-1]))[-32:]
    kept = [path.read_bytes() for path in [*again.rglob("*"), tmp_path / "first.zip"] if path.is_file()]
    assert not any(secret in content or base64.b64encode(secret) in content for content in kept)
    without = bundled(again, private, tmp_path / "third.zip", results=False)
    assert not read_bundle(without, public).has_results
    assert not any(name.startswith("ingredients/") for name in files_in(without))


def test_the_record_the_page_and_the_statement_say_which_gates_stood_before(honest: Honest, night: Path) -> None:
    store, record = latest(night, "night")
    checked = read_bundle(honest.path, honest.public)
    assert checked.record.plan == checked.claims["plan"] == record.plan
    assert record.plan["before"] == ["subject.accuracy (of clean) at least 0.5"]
    assert record.plan["after"] == ["subject.accuracy (of clean) at least 1"]
    assert record.plan["gone"] == ["subject.accuracy (of clean) at least 0.9"]
    assert record.plan["changed"] == []
    sentence = f"1 of 2 gates stood in the plan {record.plan['sha256']}"
    assert sentence in checked.in_words()
    assert f"Log       {len(checked.log)} entries; 0 runs of night had begun before the plan" in checked.in_words()
    assert sentence in store.folder.read(f"reports/{record.id}/index.html").decode()


def test_a_plan_that_the_reader_was_given_beforehand_has_to_be_that_of_the_run(honest: Honest, night: Path) -> None:
    _, record = latest(night, "night")
    assert read_bundle(honest.path, honest.public, record.plan["sha256"]).run == record.id
    with pytest.raises(InputError, match=f"began under {record.plan['sha256']}, not a1b2"):
        read_bundle(honest.path, honest.public, "a1b2")
    with pytest.raises(InputError, match="began under no plan, not a1b2"):
        read_bundle(honest.other, honest.public, "a1b2")


def test_runs_before_the_plan_are_counted_since_their_numbers_may_have_been_known(tmp_path: Path) -> None:
    plant(tmp_path / "team")
    _, private, public = new_keys(tmp_path, "signer")
    for said in ("0 runs of night had begun before this one", "1 run of night had begun before the plan"):
        perform_night(tmp_path / "team", "night")
        assert said in read_bundle(bundled(tmp_path / "team", private, tmp_path / "x.zip"), public).in_words()
        commit_plan(project_in(tmp_path / "team", "night"), "night", private)


def test_a_page_of_nights_is_written_whatever_stands_in_the_log(tmp_path: Path) -> None:
    store = Store(str(tmp_path)).open()
    for about in ({"run": "../../x", "key": "k"}, {"run": ["x"], "key": "k"}, {}):
        log_action(store, "attest", **about)
        write_index(store)
        assert ledger_of(store).broken


def test_rules_and_settings_that_changed_since_the_plan_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "team"
    plant(folder)
    _, private, public = new_keys(tmp_path, "signer")
    commit_plan(project_in(folder, "night"), "night", private)
    (folder / "rules.py").write_text((folder / "rules.py").read_text().replace("0.6", "0.7"))
    (folder / "pipelines.yaml").write_text(
        NIGHT.replace("    gates:", "    statistics: {significance: 0.05}\n    gates:")
    )
    perform_night(folder, "night")
    checked = read_bundle(bundled(folder, private, tmp_path / "night.zip"), public)
    assert checked.claims["plan"]["changed"] == ["statistics", "rules.py"]
    store, record = latest(folder, "night")
    *_, begun, signed = entries_in(log_lines(store))
    assert (begun["action"], begun["plan"], begun["changed"]) == ("run", record.plan["sha256"], [])
    assert (signed["action"], signed["run"]) == ("attest", record.id)
    place = plan_name("night", record.plan["sha256"])
    for content in (b"{", store.folder.read(place) + b" "):  # a night does not end by either
        store.folder.write(place, content)
        note_decided(store, swapped := replace(record, plan={"sha256": record.plan["sha256"]}))
        assert "not in the store as it was signed" in decided_in_words(swapped.plan)
    store.folder.remove(place)
    perform_night(folder, "night")
    assert "is not in the store as it was signed" in decided_in_words(latest(folder, "night")[1].plan)


def test_the_page_of_all_nights_shows_what_is_signed_rewritten_or_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "team"
    plant(folder)
    perform_night(folder, "night")
    perform_night(folder, "night")
    store, record = latest(folder, "night")
    first = store.runs()[0].id
    monkeypatch.chdir(folder)
    asked = ["ledger", "--store", "store"]

    def shown() -> tuple[int, str, str]:
        write_index(store)
        return answer(asked), capsys.readouterr().out, store.folder.read("reports/index.html").decode()

    code, listed, page = shown()
    assert (code, listed.count("not signed")) == (0, 2)
    assert "signed" not in page.partition("<main")[2]
    _, private, public = new_keys(tmp_path, "signer")
    attest(store, record, private)
    code, listed, page = shown()
    assert (code, listed.count("signed with key"), listed.count("not signed")) == (0, 1, 1)
    assert page.count("This run is signed with key") == 1

    kept = store.folder.read(f"runs/{record.id}.json")
    store.folder.write(f"runs/{record.id}.json", kept.replace(b'"gate failed"', b'"done"'))
    code, listed, page = shown()
    assert (code, f"Run {record.id} is rewritten since it was signed: record." in listed) == (1, True)
    assert "This run is rewritten since it was signed: record." in page
    attest(store, store.run(record.id), private)  # signing again does not make it what it was
    code, listed, page = shown()
    assert (code, f"Run {record.id} is rewritten since it was signed: record." in listed) == (1, True)
    write_bundle(store, store.run(record.id), tmp_path / "rewritten.zip", results=False)
    with pytest.raises(InputError, match="was signed before with another record"):
        read_bundle(tmp_path / "rewritten.zip", public)
    store.folder.write(f"runs/{record.id}.json", kept)

    store.folder.remove(f"runs/{first}.json")
    code, listed, page = shown()
    assert code == 1
    assert all(f"Run {first}, begun by" in text and "is gone" in text for text in (listed, page))
    log_action(store, "clean", runs=[first])
    assert shown()[0] == 0

    store.folder.write("log/000000002.json", store.folder.read("log/000000002.json") + b" ")
    code, listed, page = shown()
    assert (code, "The log breaks at its entry 3" in listed, "The log breaks at its entry 3" in page) == (1, True, True)
    assert answer(["log", "--store", "store"]) == 2
    with pytest.raises(InputError, match="The log breaks at its entry 3"):
        attest(store, record, private)


def test_a_clean_up_is_logged_before_it_takes_a_run_away(tmp_path: Path) -> None:
    plant(tmp_path / "team")
    for _ in range(2):
        perform_night(tmp_path / "team", "night")
    store, record = latest(tmp_path / "team", "night")
    first = store.runs()[0].id
    clean(store, keep=1)
    assert [run.id for run in store.runs()] == [record.id]
    assert entries_in(log_lines(store))[-1]["runs"] == [first]


def test_what_cannot_be_signed_or_read_is_said(night: Path, tmp_path: Path) -> None:
    store, record = latest(night, "night")
    _, private, _ = new_keys(tmp_path, "key")
    with pytest.raises(InputError, match="The plan is signed with another key"):
        attest(store, record, private)
    private, public = night.parent / "signer.pem", night.parent / "signer.pub"
    with pytest.raises(InputError, match="holds no private key"):
        attest(store, record, public)
    with pytest.raises(InputError, match="holds no public key"):
        read_bundle(tmp_path / "x.zip", private)
    with pytest.raises(InputError, match=r"Cannot read .*none\.pem"):
        attest(store, record, tmp_path / "none.pem")
    with pytest.raises(InputError, match="only a run that came to its end"):
        attest(store, replace(record, status="broken"), private)
    with pytest.raises(InputError, match="not signed yet"):
        write_bundle(store, replace(record, id="2026-11-22-0200-none"), tmp_path / "x.zip", results=False)
    attest(store, record, private)
    page = f"reports/{record.id}/index.html"
    whole = store.folder.read(page)
    store.folder.write(page, whole + b" ")
    try:
        with pytest.raises(InputError, match="has changed since run"):
            write_bundle(store, record, tmp_path / "x.zip", results=False)
    finally:
        store.folder.write(page, whole)
    assert not (tmp_path / "x.zip").exists()
