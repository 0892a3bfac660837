"""docs/moving-in.md is walked through as it stands: data, init, run, rules, votes of prompts, Python, schedule."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_pages import ROOT, blocks
from page_examples import save_and_run

from assay.flows.audits.curation_flow import read_rules
from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.infra.storage.store import Store

PAGE = ROOT / "docs" / "moving-in.md"
FILES = {block.name: block for block in blocks(PAGE) if block.name}
CONSOLES = [block.text for block in blocks(PAGE) if block.language == "console"]
COMMANDS = [line.removeprefix("$ assay ") for text in CONSOLES for line in text.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it who made the data and had a first audit written."""
    return save_and_run(tmp_path_factory.mktemp("moving-in"), [FILES["make_data.py"]], ["make_data.py"])


@pytest.mark.slow  # the tour walks from init to a schedule in every CI
@pytest.mark.timeout(600)
def test_the_page_is_walked_through(
    folder: Path, on_teams_prefect: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)

    def does(command: str) -> str:
        assert command in COMMANDS, command
        capsys.readouterr()
        assert answer(command.split()) == 0
        return capsys.readouterr().out

    first = does("init --data patients.csv --yes")
    assert first.splitlines() == [line for line in CONSOLES[1].splitlines()[1:] if not line.startswith("$")]
    assert "Everything is in order." in does("check")
    assert "2 of 2 gates passed" in does("run patients")
    assert passes(folder, "test_rules.py")
    (folder / "rules.yaml").write_text(FILES["rules.yaml"].text)
    assert "Of 300 samples " in does("rules try rules.yaml --pipeline patients --show 2")
    (folder / "test_my_rules.py").write_text(FILES["test_my_rules.py"].text)
    assert passes(folder, "test_my_rules.py")
    save_and_run(folder, [FILES["ask_llm.py"], FILES["votes.yaml"]], ["ask_llm.py"])
    assert "coverage" in does("run by-prompts --config votes.yaml")
    assert "ask: 20 tasks" in does("export patients --label-studio 20 --to ask")
    save_and_run(folder, [FILES["answer.py"], FILES["answered.yaml"]], ["answer.py"])
    assert "18 samples have people's gold (18 new, 2 skipped)" in does("run answered --config answered.yaml")
    assert "lake: votes (600 rows), weak_labels (300 rows)" in does("export patients --lake lake")
    save_and_run(folder, [FILES["read_lake.py"]], ["read_lake.py"])
    (folder / "night.py").write_text(FILES["night.py"].text)
    done = subprocess.run([sys.executable, "night.py"], cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(folder / "artifacts" / "reports"))
    text = (folder / "pipelines.yaml").read_text()
    (folder / "pipelines.yaml").write_text(text.replace("# schedule:", "schedule:"))
    assert "0 2 * * *" in does("list")
    assert COMMANDS[-1] == "serve"  # which stays at work: tests/flows/test_deployments.py
    assert {run.pipeline for run in Store(str(folder / "artifacts")).runs()} == {"patients", "by-prompts", "answered"}


@pytest.mark.slow
def test_its_first_command_audits_a_model(
    on_teams_prefect: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_and_run(tmp_path, [FILES["make_data.py"], FILES["model.py"]], ["make_data.py"])
    monkeypatch.chdir(tmp_path)
    assert COMMANDS[0].startswith("audit ")
    assert answer(COMMANDS[0].split()) == 0
    said = capsys.readouterr().out
    assert "Label diagnosis: ill 120, well 180" in said
    assert "the next night is assay run patients" in said
    assert set(load_project(tmp_path / "pipelines.yaml").pipelines) == {"patients"}


def passes(folder: Path, name: str) -> bool:
    """Whether every test of a file passes; there is at least one."""
    tests = [one for called, one in runpy.run_path(str(folder / name)).items() if called.startswith("test_")]
    for test in tests:
        test()
    return bool(tests)


def test_every_form_of_rule_on_the_page_is_one(tmp_path: Path) -> None:
    for name in ("rules.yaml", "others.yaml"):
        (tmp_path / name).write_text(FILES[name].text)
        assert len(read_rules(tmp_path / name).rules) >= 3


def test_the_votes_of_prompts_are_a_pipeline(tmp_path: Path) -> None:
    (tmp_path / "pipelines.yaml").write_text(FILES["votes.yaml"].text)
    assert load_project(tmp_path / "pipelines.yaml").pipelines["by-prompts"].source.votes == ("votes.csv",)
