"""What a run asks of models that answer in words is said before it asks, and is what it then asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import chat_server
from direct_nights import latest, perform_night

from assay.flows.cli import answer
from assay.tasks.statistics.findings import findings_of

PROMPT = "Options: {options}. One word.\nText: {text}"


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
        assert f"at most {cost:g} in all" in heard
        assert not server.asked()
        perform_night(tmp_path, "night")
        findings = findings_of(*latest(tmp_path, "night"))
        counted = next(each.value for each in findings if each.metric == "services.requests")
        assert 0.85 * asked <= counted == len(server.asked()) <= asked  # a noisy text may be as another is
