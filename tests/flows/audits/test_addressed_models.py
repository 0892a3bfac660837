"""Models by address through the whole chain: what they look at is found out, and what has no gradient is only asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from chat_server import ChatServer, chat_server
from image_project import image_project
from model_files import onnx_of_columns, onnx_of_images, skops_of
from model_server import ModelServer, model_server

from assay.flows.audit import Audit, audit
from assay.flows.audits.images import IMAGES
from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_from
from assay.tasks.subjects.addresses.services import asked_services, service_findings

TABLES = """
compute: {{engine: serial}}
pipelines:
  night:
    source: {{csv: rows.csv, id: id, label: answer, columns: {{links: int, begs: int}}}}
    labeling: {{functions: rules.py}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{datasets: 3}}
    subjects:
      - {{name: onnx, model: spam.onnx, features: [links, begs]}}
      - {{name: skops, model: spam.skops}}
      - name: plain
        model: "{url}/versioned/predict"
        features: [links, begs]
        asking: {{version_header: X-Model-Version}}
      - {{name: kserve, model: "{url}/ok/v2/models/spam", features: [links, begs]}}
"""
UNEVEN = (0.45, 0.35)
"""What a link and begging say of spam, so that no row is as likely the one as the other."""
RULES = """
CLASSES = ("ham", "spam")
def links(x): return 1 if x.links else -1
def begs(x): return 1 if x.begs else -1
def neither(x): return 0 if not x.links else -1
RULES = [links, begs, neither]
"""


class Night(NamedTuple):
    """What a run made, and what its page says of attacks on images."""

    made: Audit
    findings: list[Finding]
    run: Run
    said: str


def performed(folder: Path, name: str) -> Night:
    """One pipeline, run in this process; nothing fails."""
    project = load_project(folder / "pipelines.yaml", pipeline=name, overrides=["compute.engine=serial"])
    progress = Progress()
    run = Run(name, Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute)
    with run:
        made = audit(project.pipeline(name), project.folder)
        assert made.failures == ()
        assert made.findings is not None
        findings = findings_from(collect(made.findings, None))
        attacks = made.results.get("attacks")
        pages = [] if attacks is None else IMAGES.page(made.ground, attacks, FindingIndex(findings))
        said = " ".join(page.sentence for page in pages)
        run.record.status = "done"
    return Night(made, findings, run, said)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with model_server(tmp_path_factory.mktemp("served")) as started:
        yield started


@pytest.fixture
def tables(tmp_path: Path, server: ModelServer) -> Path:
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(0)
    spam = draw.random(120) < 0.4
    links, begs = (draw.random(120) < np.where(spam, 0.8, 0.2) for _ in range(2))
    lines = [f"s{at},{int(links[at])},{int(begs[at])},{'spam' if spam[at] else 'ham'}" for at in range(120)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,links,begs,answer", *lines]) + "\n")
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "pipelines.yaml").write_text(TABLES.format(url=server.url))
    onnx_of_columns(tmp_path / "spam.onnx", each=UNEVEN)
    import pandas as pd

    rows = pd.DataFrame({"links": links.astype(int), "begs": begs.astype(int)})
    skops_of(tmp_path / "spam.skops", LogisticRegression().fit(rows, np.where(spam, "spam", "ham")))
    server.serves(links=UNEVEN[0], begs=UNEVEN[1])
    (server.folder / "asked.jsonl").unlink(missing_ok=True)
    return tmp_path


def accuracies(findings: list[Finding]) -> dict[str, list[float | None]]:
    measured = [one for one in findings if one.metric == "subject.accuracy"]
    return {name: [one.value for one in measured if one.subject == name] for name in {one.subject for one in measured}}


def test_four_addresses_of_tables_are_measured_and_a_second_night_asks_only_a_few(
    tables: Path, server: ModelServer
) -> None:
    _, findings, _, _ = performed(tables, "night")
    found = accuracies(findings)
    assert set(found) == {"onnx", "skops", "plain", "kserve"}
    assert found["onnx"] == found["plain"] == found["kserve"]  # the same function, at three addresses
    first = server.samples()
    asked = [json.loads(line)["samples"] for line in (server.folder / "asked.jsonl").read_text().splitlines()]
    assert [samples for samples in asked if samples] == [4, 4]  # each in one request, and for nothing before
    assert first == 8  # four rows that differ, of which each service was told once
    _, again, run, _ = performed(tables, "night")
    assert accuracies(again) == found
    assert server.samples() == 2 * first  # a canary of the rows, by which a changed model would be noticed
    assert "32 samples, drawn anew tonight, answered as before" in run.record.asked_again["plain"]
    server.serves(links=0.0, begs=0.0)  # the version says nothing of it
    _, changed, run, _ = performed(tables, "night")
    assert "answered otherwise than before" in run.record.asked_again["kserve"]
    assert accuracies(changed)["kserve"] != found["kserve"] == accuracies(changed)["onnx"]


PICTURES = """
compute: {{engine: serial}}
pipelines:
  asked:
    source: {{images: scans}}
    evaluation: {{holdout: 0.3, limit: 9}}
    subjects:
      - {{name: onnx, model: bands.onnx}}
      - {{name: served, model: "{url}/ok/predict", asking: {{batch: 64}}}}
    attacks:
      - autoattack-apart: {{eps: 0.5}}
    corruptions: {{perturbations: [gaussian-noise], severities: [1], frames: 3}}
  mixed:
    source: {{images: scans}}
    evaluation: {{holdout: 0.3, limit: 9}}
    subjects:
      - {{name: theirs, network: "networks.py:build", weights: theirs.safetensors}}
      - {{name: onnx, model: bands.onnx}}
    attacks:
      - fgsm: {{eps: 0.5, keep: 0}}
      - square: {{eps: 0.5, queries: 20, keep: 0}}
    diagnostics: {{images: 1, tsne_samples: 20}}
    smoothing: {{sigma: 0.25}}
"""


@pytest.fixture
def images(tmp_path: Path, server: ModelServer) -> Path:
    image_project(tmp_path)
    onnx_of_images(tmp_path / "bands.onnx")
    (tmp_path / "pipelines.yaml").write_text(PICTURES.format(url=server.url))
    server.serves()
    return tmp_path


def test_images_at_addresses_get_the_attacks_that_need_no_gradient(images: Path) -> None:
    text = (
        (images / "pipelines.yaml")
        .read_text()
        .replace("autoattack-apart: {eps: 0.5}", "pgd: {eps: 0.5}\n      - square: {eps: 0.5, queries: 20}")
    )
    (images / "pipelines.yaml").write_text(text)
    _, findings, run, said = performed(images, "asked")
    clean = {one.subject: one.value for one in findings if one.metric == "subject.accuracy" and one.of == "clean"}
    assert clean == {"onnx": 1.0, "served": 1.0}
    attacked = {(one.subject, one.of) for one in findings if one.metric == "attack.accuracy"}
    assert attacked == {("onnx", "square"), ("served", "square")}
    told = "is only asked and has no gradient: pgd, which follows one, was left out"
    assert [one.partition(",")[0] for one in run.record.notices if told in one] == [
        "onnx is only asked and has no gradient: pgd",
        "served is only asked and has no gradient: pgd",
    ]
    assert "onnx and served are only asked and have no gradient: pgd, which follows one, was left out" in said
    flags = {
        one.of: (one.n, one.verdict) for one in findings if one.metric == "attack.red_flag" and one.subject == "onnx"
    }
    assert flags["zero-gradients"][0] == 0
    assert any(one.metric == "corruption.flip_probability" and one.subject == "served" for one in findings)


def test_beside_a_network_only_the_network_is_attacked_by_its_gradient_and_looked_into(images: Path) -> None:
    made, findings, _, _ = performed(images, "mixed")
    attacked = {(one.subject, one.of) for one in findings if one.metric == "attack.accuracy"}
    assert {("theirs", "fgsm"), ("theirs", "square"), ("onnx", "square")} <= attacked
    assert ("onnx", "fgsm") not in attacked
    assert list(made.results["diagnostics"].subjects) == ["theirs"]


def test_autoattack_apart_is_left_with_what_needs_no_gradient(images: Path) -> None:
    project = load_project(images / "pipelines.yaml", pipeline="asked")
    assert [one.called for one in project.pipeline("asked").attacks] == ["apgd-ce", "apgd-t", "fab-t", "square"]


@pytest.mark.parametrize(
    ("pipeline", "told"),
    [
        (
            "attacks: [pgd]",
            "pgd follows gradients, and onnx is only asked and has none: add an attack that needs none (square, ",
        ),
        ("attacks: [{gap: {eps: 0.1}}]", "gap follows gradients, and onnx is only asked"),
        ("attacks: [square], defenses: [{maadvt: {eps: 0.1}}]", "trains a subject, and onnx comes as it is"),
        ("attacks: [square], diagnostics: {}", "looks inside a network, and onnx is only asked"),
    ],
)
def test_what_needs_a_gradient_is_refused_before_anything_runs(
    images: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pipeline: str, told: str
) -> None:
    monkeypatch.chdir(images)
    subject = "{name: onnx, model: bands.onnx}"
    (images / "pipelines.yaml").write_text(
        f"pipelines:\n  night: {{source: {{images: scans}}, subject: {subject}, {pipeline}}}\n"
    )
    assert answer(["check"]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("model: nowhere.onnx", 'There is no file "'),
        ("model: scans", "there is no such model"),
        ("model: bands.joblib", "Assay opens none: load it where you trust it"),
        ("model: 'https://host/x', asking: {headers: {Authorization: NOT_SET_ANYWHERE}}", "NOT_SET_ANYWHERE"),
        ("model: 'https://', asking: {}", "names no host to ask"),
        ("model: 'http://127.0.0.1:1/v2/models/x', asking: {retries: 0}", "did not answer (Connection refused)"),
        ("model: 'https://host/x', asking: {cost: 1}", "`cost` needs the `price` of a request"),
        ("model: bands.onnx, train: {epochs: 1}", "has `train`, but bands.onnx comes as it is"),
    ],
)
def test_a_wrong_address_is_refused_with_its_line(
    images: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subject: str, told: str
) -> None:
    monkeypatch.chdir(images)
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    (images / "pipelines.yaml").write_text(
        f"pipelines:\n  night:\n    source: {{images: scans}}\n    subject: {{{subject}}}\n"
    )
    assert answer(["check"]) == 2
    heard = capsys.readouterr().err
    assert "pipelines.yaml:4:" in heard
    assert told in heard


def test_the_secret_of_an_endpoint_is_nowhere_in_the_store(
    tables: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPAM_AUTHORIZATION", "Bearer right")
    text = TABLES.format(url=server.url)
    secret = "asking: {headers: {Authorization: SPAM_AUTHORIZATION}}"
    subject = f'{{name: closed, model: "{server.url}/closed/predict", features: [links, begs], {secret}}}'
    (tables / "pipelines.yaml").write_text(text[: text.index("      - {name: onnx")] + f"      - {subject}\n")
    _, findings, run, _ = performed(tables, "night")
    assert set(accuracies(findings)) == {"closed"}
    written = [path for path in Path(run.store.url).rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if b"Bearer right" in path.read_bytes()]
    assert run.record.to_text().count("Bearer") == 0


def test_texts_at_an_address_are_attacked_by_asking(tmp_path: Path, server: ModelServer) -> None:
    draw = np.random.default_rng(0)
    rows = ["id,text,answer"]
    for at in range(60):
        spam = bool(draw.random() < 0.5)
        rows.append(
            f"s{at},{'please subscribe http win' if spam else 'a nice song'} number {at},{'spam' if spam else 'ham'}"
        )
    (tmp_path / "texts.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {csv: texts.csv, id: id, label: answer}\n    evaluation: {holdout: 0.4}\n"
        f'    subject: {{name: served, model: "{server.url}/ok/v2/models/reader", text: text}}\n'
        "    attacks: [{attack: noise, severities: [1]}]\n"
    )
    server.serves()
    _, findings, _, _ = performed(tmp_path, "night")
    right = {one.of: one.value for one in findings if one.metric == "subject.accuracy"}
    assert right["clean"] == 1.0
    assert any(one.metric.startswith("attack.") and one.of == "noise" for one in findings)


@pytest.fixture(scope="module")
def chatting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    with chat_server(tmp_path_factory.mktemp("chatting")) as started:
        yield started


PROMPT = "Is it spam or ham? One word.\nText: {text}"


def asked_in_words(
    folder: Path, url: str, attacks: str, asking: str = "", texts: int = 100, prompt: str = PROMPT
) -> Night:
    """A night on texts whose classes the scripted model knows, half of them audited."""
    rows = ["id,text,answer,part"]
    for at in range(texts):
        said = "please subscribe http win" if at % 2 else "a nice song"
        part = "train" if at < 4 else "test"
        rows.append(f"s{at:03d},{said} number {at},{'spam' if at % 2 else 'ham'},{part}")
    (folder / "texts.csv").write_text("\n".join(rows) + "\n")
    (folder / "prompt.txt").write_text(prompt)
    (folder / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {csv: texts.csv, id: id, label: answer, split: part}\n"
        f'    subject:\n      name: chat\n      model: "{url}"\n      text: text\n      asking: {{model: scripted, '
        f"prompt: prompt.txt, at_once: 8, answers: {{spam: [], ham: []}}{asking}}}\n    attacks: {attacks}\n"
    )
    return performed(folder, "night")


def test_answers_in_words_that_are_none_are_wrong_in_every_number(tmp_path: Path, chatting: ChatServer) -> None:
    chatting.serves()
    night = asked_in_words(tmp_path, chatting.at("mixed"), "[{attack: noise, severities: [1]}]")
    findings = FindingIndex(night.findings)
    right, none = (findings.get(f"subject.{name}", "chat", "clean") for name in ("accuracy", "unanswered"))
    assert right is not None
    assert none is not None
    assert (right.value, none.value, right.n) == (pytest.approx(69 / 96), pytest.approx(27 / 96), 96)
    for withheld in ("subject.auc", "subject.ece", "attack.auc"):
        assert not [each for each in findings.select(withheld) if each.value is not None]
    asked = asked_services(night.made.ground.pipeline.subjects)
    counted = FindingIndex(service_findings(asked, night.run.id, night.run.store, masked=False))
    assert counted.select("services.refused")[0].verdict.startswith("such as \u201cI'm sorry")
    assert counted.select("services.tokens", group="sent")[0].value == 100 * len(chatting.asked())


@pytest.mark.parametrize("flips", [0.0, 0.05])
def test_what_changes_by_itself_is_measured_and_no_attack_gets_the_credit(
    tmp_path: Path, chatting: ChatServer, flips: float
) -> None:
    chatting.serves(flips=flips)
    attacks = "[{attack: noise, kinds: [punctuation], severities: [1]}]"
    findings = FindingIndex(asked_in_words(tmp_path, chatting.at(), attacks, ", repeats: 4", texts=204).findings)
    (floor,) = findings.select("attack.flips_by_chance")
    (above,) = findings.select("attack.above_chance")
    assert floor.low is not None
    assert floor.high is not None
    assert floor.low <= 2 * flips * (1 - flips) <= floor.high  # two draws that fall apart
    assert floor.value == 0 or flips
    assert above.verdict == "no more than chance"
    assert (above.value == 0) == (flips == 0)


def test_instructions_in_the_data_work_on_as_many_texts_as_the_model_obeys(
    tmp_path: Path, chatting: ChatServer
) -> None:
    chatting.serves(obeys=0.3)
    night = asked_in_words(tmp_path, chatting.at(), "[injection]", texts=204)
    (rate,) = FindingIndex(night.findings).select("attack.success_rate", of="injection")
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < 0.3 < rate.high
    shown = night.made.results["texts"].attacked["chat"]["injection"].shown
    assert shown is not None
    assert shown.rows == 6


def test_a_model_that_obeys_nobody_is_turned_by_no_instruction(tmp_path: Path, chatting: ChatServer) -> None:
    chatting.serves()
    findings = FindingIndex(asked_in_words(tmp_path, chatting.at(), "[{injection: {place: start}}]").findings)
    (rate,) = findings.select("attack.success_rate", of="injection")
    assert rate.value == 0


OPTIONS = "Options: {options}. One word.\nText: {text}"


@pytest.mark.slow
@pytest.mark.parametrize(("ordered", "flips"), [(0.12, 0.0), (0.0, 0.0), (0.12, 0.05)])
def test_on_how_many_texts_the_order_of_options_decides(
    tmp_path: Path, chatting: ChatServer, ordered: float, flips: float
) -> None:
    chatting.serves(ordered=ordered, flips=flips)
    asking = ", repeats: 2, price: {input: 10, output: 0}"
    night = asked_in_words(tmp_path, chatting.at(), "[orbit]", asking, texts=204, prompt=OPTIONS)
    findings = FindingIndex(night.findings)
    (depends,), (above,) = (findings.select(f"attack.{name}", of="orbit") for name in ("depends", "above_chance"))
    truth = ordered * (1 - 4 * flips * (1 - flips))  # as much oftener two answers differ that are drawn apart
    assert above.low <= truth <= above.high
    assert above.verdict == ("more than chance" if ordered else "no more than chance")
    if not flips:
        assert depends.low <= ordered <= depends.high
        assert (depends.value == 0) == (not ordered)
    (agreement,) = findings.select("attack.agreement")
    assert (agreement.value == 1) == (not flips)
    counted = service_findings(
        asked_services(night.made.ground.pipeline.subjects), night.run.id, night.run.store, masked=False
    )
    cost = next(each.value for each in counted if each.metric == "services.cost")
    assert cost == pytest.approx(0.001 * len(chatting.asked()))  # variants are counted with the question


@pytest.mark.slow
def test_a_question_is_put_otherwise_only_where_the_prompt_says_how(
    tmp_path: Path, chatting: ChatServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chatting.serves()
    asked_in_words(tmp_path, chatting.at(), "[]")
    monkeypatch.chdir(tmp_path)
    text = (tmp_path / "pipelines.yaml").read_text()
    for attack, told in (
        ("orbit", "does not say where its options stand, whose order `orbit` changes: write {options}"),
        ("example-order", "fewer than two examples"),
        ("paraphrases", "names no other prompt"),
        ("{paraphrases: {prompts: [nowhere.txt]}}", "There is no file"),
    ):
        (tmp_path / "pipelines.yaml").write_text(text.replace("attacks: []", f"attacks: [{attack}]"))
        assert answer(["check"]) == 2
        heard = capsys.readouterr().err
        assert told in heard
        assert "pipelines.yaml:" in heard
