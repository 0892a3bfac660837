"""A model in words that gives no answer is named before a run begins, after one question."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import chat_server

from assay.flows.audits.services import silent
from assay.flows.configuration.loading import load_project

PIPELINE = """
pipelines:
  night:
    source: {csv: texts.csv, id: id, label: answer}
    subject:
      {name: chat, classifier: "%s", text: text, %s
       asking: {model: m, prompt: prompt.txt, answers: {spam: [], ham: []}}}
"""


def said(folder: Path, url: str, more: str = "") -> list[str]:
    (folder / "prompt.txt").write_text("Spam or ham?\nText: {text}")
    (folder / "pipelines.yaml").write_text(PIPELINE % (url, more))
    pipeline = load_project(folder / "pipelines.yaml", pipeline="night").pipeline("night")
    return [str(missing.error) for missing in silent(pipeline, folder, retries=0)]


def test_each_way_of_not_answering_is_said_after_one_question(tmp_path: Path) -> None:
    with chat_server(tmp_path / "server") as server:
        assert said(tmp_path, server.at()) == []
        assert len(server.asked()) == 1
        assert said(tmp_path, server.at(), "version: 1,") == []
        assert len(server.asked()) == 1
        server.serves(key="Bearer right")
        (sentence,) = said(tmp_path, server.at())
        assert "does not let Assay in (401)" in sentence
        server.serves()
        (sentence,) = said(tmp_path, server.at("closed"))
        assert "refuses what it is asked (400)" in sentence
        url = server.at()
    (sentence,) = said(tmp_path, url)
    assert "did not answer (Connection refused)" in sentence


@pytest.mark.parametrize("code", [404])
def test_a_model_that_does_not_exist_is_one_of_the_reasons(code: int) -> None:
    from assay.tasks.subjects.addresses.client import _refusal

    assert "no such model (404)" in _refusal(code, {})
