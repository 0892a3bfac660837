"""What a run asks of models that answer in words is said before it asks, and is what it then asks."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from chat_server import chat_server
from direct_nights import latest, perform_night

from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.flows.forecast.plan import expected_questions
from assay.tasks.statistics.findings import findings_of

PIPELINE = """
pipelines:
  night:
    source: {csv: texts.csv, id: id, label: answer, columns: {day: time}}
    subject:
      {name: chat, classifier: "https://host/v1/chat/completions", text: text,
       asking: {model: m, prompt: prompt.txt, answers: {spam: [], ham: []}, logprobs: true}}
    %s
"""
PROMPT = "Options: {options}. One word.\nText: {text}"


@pytest.mark.parametrize(
    ("settings", "share", "questions"),
    [
        ("evaluation: {column: part}", 1.0, 60),
        ("evaluation: {column: part}", 0.1, 6),
        ("evaluation: {column: day, since: 2026-01-11}", 1.0, 50),
        ("evaluation: {column: part, limit: 5}", 1.0, 5),
    ],
)
def test_questions_are_about_what_a_run_would_audit(
    tmp_path: Path, settings: str, share: float, questions: int
) -> None:
    (tmp_path / "prompt.txt").write_text(PROMPT)
    (tmp_path / "pipelines.yaml").write_text(PIPELINE % settings)
    pipeline = load_project(tmp_path / "pipelines.yaml", pipeline="night").pipeline("night")
    days = [datetime(2026, 1, 1) + timedelta(at // 5) for at in range(100)]
    parts = ["test" if at % 5 < 3 else "train" for at in range(100)]
    samples = pa.table({"text": ["a song"] * 100, "day": days, "part": parts})
    (sentence,) = expected_questions(pipeline, tmp_path, lambda: (samples, 100), share)
    assert f"chat: {questions} questions," in sentence
    assert "nobody knows" not in sentence


def test_pictures_are_counted_with_every_frame_and_every_question_of_an_attack(tmp_path: Path) -> None:
    (tmp_path / "look.txt").write_text("Cat or dog? {image}" + "!" * 21)
    (tmp_path / "pipelines.yaml").write_text(
        """
pipelines:
  night:
    source: {parquet: pictures.parquet, id: id, image: image, label: answer}
    evaluation: {holdout: 0.9}
    subject:
      name: seer
      network: "https://host/v1/chat/completions"
      asking: {model: m, prompt: look.txt, answers: {cat: [], dog: []}, repeats: 3, price: {input: 10, output: 20}}
    corruptions: {perturbations: [gaussian-noise, brightness], severities: [3], frames: 5}
    attacks: [{attack: hopskipjump, eps: [0, 2], queries: 100}]
"""
    )
    pipeline = load_project(tmp_path / "pipelines.yaml", pipeline="night").pipeline("night")
    samples = pa.table({"id": list(map(str, range(100)))})
    (sentence,) = expected_questions(pipeline, tmp_path, lambda: (samples, 100), 1.0)
    asked = 90 * (3 + 2 * 1 * 5 + 100 + 2)  # what the attack made is asked about afresh, twice
    tokens = asked * (255 + 40 // 4)
    cost = (10 * tokens + 20 * asked * 16) / 1e6
    said = sentence.replace("\u202f", "")
    assert said.startswith(f"seer: {asked} questions, about {tokens:,} tokens sent and up to {asked * 16:,} received")
    assert f", about {cost:.4f} at most" in said


def test_what_the_oracle_asks_is_named_as_not_counted(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text(PROMPT)
    (tmp_path / "pipelines.yaml").write_text(PIPELINE % "trust: {}")
    pipeline = load_project(tmp_path / "pipelines.yaml", pipeline="night").pipeline("night")
    samples = pa.table({"text": ["a song"] * 8, "split": ["test"] * 8})
    (sentence,) = expected_questions(pipeline, tmp_path, lambda: (samples, 8), 1.0)
    assert sentence.endswith("; without what trust will ask, which nobody knows before.")


@pytest.mark.slow
def test_a_plan_says_the_questions_and_the_cost_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(tmp_path / "server") as server:
        texts = [f"s{at:02d},a nice song number {at},ham,{'train' if at < 4 else 'test'}" for at in range(24)]
        texts[0] = "s00,win http number 0,spam,train"
        (tmp_path / "texts.csv").write_text("\n".join(["id,text,answer,part", *texts]) + "\n")
        (tmp_path / "prompt.txt").write_text(PROMPT)
        asking = (
            "{model: scripted, prompt: prompt.txt, answers: {spam: [], ham: []}, repeats: 2, at_once: 8, "
            "price: {input: 10, output: 20}}"
        )
        noise = "{attack: noise, kinds: [casing], severities: [1, 3]}"
        attacks = f"[orbit, injection, {noise}, {{attack: distractors, texts: 5}}]"
        (tmp_path / "pipelines.yaml").write_text(
            "compute: {engine: serial}\npipelines:\n  night:\n"
            "    source: {csv: texts.csv, id: id, label: answer, split: part}\n"
            f"    subject: {{name: chat, model: '{server.at()}', text: text, asking: {asking}}}\n"
            f"    attacks: {attacks}\n"
        )
        monkeypatch.chdir(tmp_path)
        assert answer(["plan", "night"]) == 0
        heard = capsys.readouterr().out
        # 20 texts: twice as they are, 1 order, 3 instructions and once afresh, 2 of noise; 5 of them with 3 distractors
        asked = 20 * (2 + 1 + 3 + 1 + 2) + 5 * 3
        letters = len(PROMPT) + sum(len(line.split(",")[1]) for line in texts) / 24
        sent = round(asked * letters / 4)
        cost = (10 * sent + 20 * 16 * asked) / 1e6
        assert f"chat: {asked} questions, about {sent:,} tokens sent and up to {16 * asked:,} received" in heard
        assert f", about {cost:g} at most" in heard
        assert not server.asked()
        perform_night(tmp_path, "night")
        findings = findings_of(*latest(tmp_path, "night"))
        counted = next(each.value for each in findings if each.metric == "services.requests")
        assert 0.85 * asked <= counted == len(server.asked()) <= asked  # a noisy text may be as another is
