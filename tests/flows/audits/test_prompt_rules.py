"""Labelling functions that ask a model: a data set is curated from prompts alone, and nothing is asked twice."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, chat_server
from direct_nights import latest, perform_night
from repository import ROOT
from service_processes import free_port

from assay.flows.configuration.loading import load_project
from assay.flows.rule_trial import Samples, Session, votes
from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source
from assay.tasks.statistics.findings import findings_of

WORDS = {"http": "spam", "subscribe": "spam", "win": "spam", "song": "ham", "nice": "ham"}
TEXTS = ("subscribe to http", "win a song at http", "a nice song", "nice", "subscribe to my nice song")


def project(folder: Path, server: ChatServer, more: str = "") -> Path:
    rows = [f"s{at:02d},{TEXTS[at % 5]} number {at},{'ham' if at % 5 in (2, 3) else 'spam'}" for at in range(60)]
    (folder / "texts.csv").write_text("\n".join(["id,text,answer", *rows]) + "\n")
    prompts = {word: f'Does it mention \\"{word}\\"? Yes or no. Text: {{text}}' for word in WORDS}
    rules = [f'  - {{name: asks {word}, prompt: "{prompts[word]}", vote: {vote}}}' for word, vote in WORDS.items()]
    asking = f"asking: {{url: '{server.at('asked')}', model: scripted, at_once: 8{more}}}"
    (folder / "rules.yaml").write_text("\n".join([asking, "rules:", *rules]) + "\n")
    (folder / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {csv: texts.csv, id: id, label: answer}\n"
        "    labeling: {functions: rules.yaml, fault_limit: 0.05}\n    weak_labels: {labelers: [majority]}\n"
        "    ordering: {datasets: 3}\n"
    )
    return folder


def test_five_prompts_curate_a_data_set(tmp_path: Path) -> None:
    with chat_server(tmp_path / "server") as server:
        perform_night(project(tmp_path, server), "night")
        findings = findings_of(*latest(tmp_path, "night"))
        by_metric = {(one.metric, one.of): one.value for one in findings}
        assert by_metric["labeling.functions", ""] == 5
        faults = next(one for one in findings if one.metric == "labeling.faults")
        assert faults.value is not None
        assert faults.value > 0  # of text 13 the model says "perhaps"
        sizes = {one.group for one in findings if one.metric == "ordering.accuracy"}
        assert sizes
        assert len(server.asked()) == 5 * 60
        asked = {one.of.split()[-1]: one.value for one in findings if one.metric == "services.questions"}
        assert asked == dict.fromkeys(WORDS, 60)


def test_rules_are_tried_before_a_run_and_asked_about_nothing_twice(tmp_path: Path) -> None:
    with chat_server(tmp_path / "server") as server:
        folder = project(tmp_path, server)
        samples = Samples(Source(csv="texts.csv", id="id", label="answer"), folder)
        session = Session(str(folder / "rules.yaml"), samples, 0)
        shown = session.say()
        assert "asks http       spam       40.0%" in shown
        assert session.say() == shown  # at the next save nothing is asked twice
        assert len(server.asked()) == 300


def test_a_rule_with_a_prompt_says_whom_it_asks(tmp_path: Path) -> None:
    with chat_server(tmp_path / "server") as server:
        folder = project(tmp_path, server)
        rules = (folder / "rules.yaml").read_text()
        for written, told in (
            (rules.partition("rules:")[1] + rules.partition("rules:")[2], "say whom to ask"),
            (rules.replace("model: scripted, ", ""), "needs `model`"),
            (rules.replace("{text}", "it"), r"has \{text\} where the text belongs"),
        ):
            (folder / "rules.yaml").write_text(written)
            with pytest.raises(InputError, match=told):
                perform_night(folder, "night")


def test_a_budget_that_is_used_up_ends_the_run_and_is_no_fault_of_a_rule(tmp_path: Path) -> None:
    with chat_server(tmp_path / "server") as server:
        folder = project(tmp_path, server, ", requests: 40")
        pipelines = folder / "pipelines.yaml"
        pipelines.write_text(pipelines.read_text().replace("fault_limit: 0.05", "fault_limit: 1.0"))
        with pytest.raises(InputError, match=r"asking.requests` allows"):
            perform_night(folder, "night")


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def test_the_stand_in_of_the_guide_answers_the_prompts_of_the_embedded_pipeline(tmp_path: Path) -> None:
    code = (ROOT / "docs" / "chat.md").read_text().partition("```python keywords.py\n")[2].partition("```")[0]
    port = free_port()
    (tmp_path / "keywords.py").write_text(code.replace("8099", str(port)))
    labeling = load_project(ROOT / "pipelines.yaml").pipeline("reviews-by-prompt").labeling
    assert labeling.asking is not None
    assert labeling.asking["url"] == "http://127.0.0.1:8099/v1/chat/completions"
    asking = {**labeling.asking, "url": f"http://127.0.0.1:{port}/v1/chat/completions"}
    texts = [{"text": "A superb film."}, {"text": "Lousy, and I was bored."}, {"text": "A film."}]
    with subprocess.Popen([sys.executable, "keywords.py"], cwd=tmp_path) as process:
        try:
            wait_for_port(port, process)
            voted = votes(labeling.model_copy(update={"asking": asking}), texts)
        finally:
            process.terminate()
    assert voted["praises"].tolist() == ["positive", None, None]
    assert voted["complains"].tolist() == [None, "negative", None]
    assert voted["was annoyed"].tolist() == [None, "negative", None]
