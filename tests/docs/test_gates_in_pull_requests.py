"""What gates show in a pull request, and that the action and the GitLab snippet do it: both run here as plain shell."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

from assay.data.templates import filled
from assay.flows.cli import answer
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding
from tests.support.finished_runs import leave_run
from tests.support.repository import ROOT

CONFIG = """\
store: store
pipelines:
  breast-cancer:
    source: {dataset: sample/breast-cancer}
    labeling: {functions: breast-cancer}
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 10}
    gates:
      - {finding: ordering.auc, of: ours, group: majority, at_least: 0.5}
      - {finding: ordering.trend_p, of: ours, group: majority, at_most: 0.01}
      - {finding: ordering.trend_p, of: ours, at_most: 0.02, severity: warn}
"""
LINE = CONFIG.splitlines().index("    gates:") + 3
FOUND = [
    Finding("ordering.auc", of="ours", group="majority", value=0.62, low=0.55, high=0.69, n=569),
    Finding("ordering.trend_p", of="ours", group="majority", value=0.2, n=569, verdict="none | <b>shown</b>"),
]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a finished run in its store, one of whose gates fails and one of which warns."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    Path("pipelines.yaml").write_text(CONFIG)
    leave_run(Store("store").open(), "breast-cancer", FOUND)
    return tmp_path


def test_the_summary_of_a_job_is_appended_to_and_failures_stand_at_their_lines(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = job / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert answer(["gate", "latest", "--markdown", "out/gates.md"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(f"::error file=pipelines.yaml,line={LINE},title=") for line in lines)
    assert any(line.startswith(f"::warning file=pipelines.yaml,line={LINE + 1},title=") for line in lines)
    assert sum(line.startswith("::") for line in lines) == 2
    text = (job / "out" / "gates.md").read_text()
    assert summary.read_text() == f"before\n{text}\n"
    rows = [line for line in text.splitlines() if line.startswith("| ") and "gate" not in line]
    assert [row.split(" | ")[0] for row in rows] == ["| ❌ failed", "| ⚠️ warned", "| ✅ passed"]
    assert "1 of 3 gates failed" in text


def test_nothing_of_a_finding_is_markup_in_the_summary(job: Path) -> None:
    config = CONFIG.replace("at_most: 0.01", "verdict: adverse")
    Path("pipelines.yaml").write_text(config)
    assert answer(["gate", "latest", "--markdown", "gates.md"]) == 1
    row = next(line for line in Path("gates.md").read_text().splitlines() if "has the verdict" in line)
    assert "<b>" not in row.replace(r"\<b\>", "")
    assert len(re.findall(r"(?<!\\)\|", row)) == 4  # the table's own


def test_outside_of_github_nothing_is_marked(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["gate", "latest"]) == 1
    assert "::" not in capsys.readouterr().out


def test_a_summary_that_cannot_be_written_is_one_sentence(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    assert answer(["gate", "latest"]) == 2
    assert "GITHUB_STEP_SUMMARY" in capsys.readouterr().err


def shell(job: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script where pip does nothing, and `assay run` finds its run in the store and its gates failed."""
    tools = job / "tools"
    tools.mkdir()
    real = f'exec "{sys.executable}" -m assay.flows.cli "$@"'
    stand_ins = {
        "pip": "exit 0",
        "assay": f'if [ "$1" = run ]; then exit 1; fi\n{real}',
        "python": f'if [ "$2" = pip ]; then exit 0; fi\nexec "{sys.executable}" "$@"',
    }
    for name, code in stand_ins.items():
        (tools / name).write_text(f"#!/bin/bash\n{code}\n")
        (tools / name).chmod(0o755)
    path = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=job,
        env={**os.environ, **path, **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("pipeline", ["", "breast-cancer"])
def test_the_action_judges_a_run_and_tells_the_job(job: Path, pipeline: str) -> None:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    given = {name: str(one["default"]) for name, one in action["inputs"].items()} | {"pipeline": pipeline}
    scripts, variables = [], {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(job / "summary.md")}
    for step in action["runs"]["steps"]:
        scripts.append(step["run"])
        for name, value in step["env"].items():
            variables[name] = given[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value)[1]]
    done = shell(job, "\n".join(scripts), **variables)
    assert done.returncode == 1, done.stderr
    assert f"::error file=pipelines.yaml,line={LINE}" in done.stdout
    assert "1 of 3 gates failed" in (job / "summary.md").read_text()
    assert len(ElementTree.parse(job / "assay-gates.xml").findall(".//failure")) == 1
    assert (job / "assay-gates.sarif").is_file()


def test_the_job_of_a_first_audit_tells_its_gates_once(job: Path) -> None:
    told = filled("github.yml", data="data.csv", tested="", name="breast-cancer")
    steps = YAML(typ="safe").load(told)["jobs"]["audit"]["steps"]
    run, gate = (step["run"] for step in steps[-2:])
    done = shell(job, f"{run}\n{gate}", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(job / "summary.md"))
    assert done.returncode == 1, done.stderr
    assert (job / "summary.md").read_text().count("1 of 3 gates failed") == 1


def test_sarif_has_a_result_per_gate_at_its_line(job: Path) -> None:
    assert answer(["gate", "latest", "--sarif", "gates.sarif"]) == 1
    [run] = json.loads((job / "gates.sarif").read_text())["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert [result["level"] for result in run["results"]] == ["none", "error", "warning"]
    assert {result["ruleId"] for result in run["results"]} == rules == {"assay/ordering.auc", "assay/ordering.trend_p"}
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["region"]["startLine"] for place in places] == [LINE - 1, LINE, LINE + 1]
    assert {place["artifactLocation"]["uri"] for place in places} == {"pipelines.yaml"}


def test_the_gitlab_component_runs_and_judges(job: Path) -> None:
    head, body = (ROOT / "templates" / "audit.yml").read_text().split("\n---\n")
    inputs = {name: said.get("default") for name, said in YAML(typ="safe").load(head)["spec"]["inputs"].items()}
    given = {**inputs, "pipeline": "breast-cancer", "install": "assay.whl"}
    audit = YAML(typ="safe").load(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: given[match[1]], body))["assay"]
    done = shell(job, "\n".join(audit["script"]), **audit["variables"])
    assert done.returncode == 1, done.stderr
    named = [*audit["artifacts"]["paths"], audit["artifacts"]["reports"]["junit"]]
    assert all((job / name).stat().st_size for name in named)


def test_the_hook_checks_what_a_commit_changes(job: Path) -> None:
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"] for hook in hooks} == {"assay-check", "assay-check-installed"}
    assert all(re.search(hook["files"], "audits/pipelines.yaml") for hook in hooks)
    assert all(answer(hook["entry"].split()[1:]) == 0 for hook in hooks)
    (job / "pipelines.yaml").write_text(CONFIG.replace("datasets: 10", "datasets: ten"))
    assert all(answer(hook["entry"].split()[1:]) == 2 for hook in hooks)


def test_the_gitlab_snippet_judges_a_run_and_leaves_its_artifacts(job: Path) -> None:
    page = (ROOT / "docs" / "nightly.md").read_text()
    (block,) = [one for one in re.findall(r"```yml\n(.*?)```", page, re.DOTALL) if one.startswith("# .gitlab-ci.yml")]
    audit = YAML(typ="safe").load(block)["audit"]
    done = shell(job, "\n".join(audit["script"]))
    assert done.returncode == 1, done.stderr
    named = [*audit["artifacts"]["paths"], audit["artifacts"]["reports"]["junit"]]
    assert all((job / name).stat().st_size for name in named)
