"""CONTRIBUTING's two recipes, followed to the letter in a copy of the house; what they add is used by a night."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_pages import blocks
from repository import ROOT

STOREYS = ("assay", "flows", "tasks", "data", "infra")
KIND_FILES = {
    "flows/audits/balance.py",
    "tasks/balance/__init__.py",
    "tasks/balance/metrics.py",
    "tasks/balance/page.py",
    "tasks/balance/settings.py",
    "tasks/balance/shares.py",
    "tasks/balance/task.py",
}
LINES = {
    "flows/audits/table.py": (
        "from assay.flows.audits.balance import BALANCE\n",
        "_SINGLE: tuple[AnyKind, ...] = (\n",
        "    BALANCE,\n",
    ),
    "tasks/attacks/table.py": (
        "from assay.tasks.attacks.waves import WAVES\n",
        "    ImageAttackChoice,\n    (",
        "WAVES, ",
    ),
}
"""Per table: the import, how the table begins, and what is put into it there."""
PIPELINES = """
compute: {engine: serial, gpu: never}
pipelines:
  spread: &spread
    source: {dataset: sample/breast-cancer}
    labeling: {functions: breast-cancer}
    weak_labels: {labelers: [majority]}
    balance: {smallest: 0.4}
    gates: [{finding: balance.share, group: benign, at_least: 0.1}]
  refused:
    <<: *spread
    gates: [{finding: balance.share, group: benign, at_most: 0.1}]
  striped:
    source: {dataset: sample/digits}
    evaluation: {limit: 20, split: train, train: test}
    subjects: [{name: net, network: small-cnn, width: 0.25, train: {epochs: 6}}]
    attacks: [waves: {eps: [0, 0.3], periods: 3}]
    gates: [{finding: attack.accuracy, of: waves, group: eps=0.3, at_least: 0}]
"""
NIGHTS = """
import json, sys
from pathlib import Path
from direct_nights import findings_of, latest, perform_night
told = {}
for name in sys.argv[2:]:
    folder = Path(sys.argv[1])
    result = perform_night(folder, name)
    findings = [(one.metric, one.of, one.group, one.value) for one in findings_of(*latest(folder, name))]
    told[name] = {"code": result.exit_code, "page": Path(result.report).read_text(), "findings": findings}
print(json.dumps(told))
"""


@dataclass(frozen=True)
class Night:
    """How a night ended, its page, and its findings."""

    code: int
    page: str
    findings: list[tuple[str, str, str, float | None]]


def put_in(house: Path) -> None:
    """The recipes' files, and their lines, in a copy of the house."""
    for block in blocks(ROOT / "CONTRIBUTING.md"):
        if block.name and not block.name.startswith("tests/"):
            (house / block.name).parent.mkdir(parents=True, exist_ok=True)
            (house / block.name).write_text(block.text, encoding="utf-8")
    (house / "tasks" / "balance" / "__init__.py").write_text('"""Whether a class is rare."""\n')
    for table, (imported, beginning, line) in LINES.items():
        text = (house / table).read_text(encoding="utf-8")
        first, at = text.index("from assay."), text.index(beginning) + len(beginning)
        (house / table).write_text(text[:first] + imported + text[first:at] + line + text[at:], encoding="utf-8")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    house = tmp_path_factory.mktemp("house")
    for storey in STOREYS:
        shutil.copytree(ROOT / storey, house / storey, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    put_in(house)
    return house


@pytest.fixture(scope="module")
def nights(house: Path) -> dict[str, Night]:
    folder = house / "team"
    folder.mkdir()
    (folder / "pipelines.yaml").write_text(PIPELINES)
    path = os.pathsep.join([str(house), str(ROOT / "tests" / "support")])
    done = subprocess.run(
        [sys.executable, "-c", NIGHTS, str(folder), "spread", "refused", "striped"],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {name: Night(**night) for name, night in json.loads(done.stdout.splitlines()[-1]).items()}


def test_a_recipe_touches_its_own_files_and_one_table(house: Path) -> None:
    def files(root: Path) -> set[str]:
        return {
            str(path.relative_to(root))
            for storey in STOREYS[1:]
            for path in (root / storey).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    assert files(house) - files(ROOT) == {*KIND_FILES, "tasks/attacks/waves.py"}
    changed = {name: diff for name in files(ROOT) if (diff := added_to(house, name))}
    assert set(changed) == set(LINES)
    for table, (imported, _, word) in LINES.items():
        first, line = (added for added in changed[table] if added.startswith("+"))
        assert first == f"+{imported}"
        assert word.strip() in line


def added_to(house: Path, name: str) -> list[str]:
    """The lines by which a file of the copy differs."""
    ours, theirs = (ROOT / name).read_bytes(), (house / name).read_bytes()
    if ours == theirs:
        return []
    lines = difflib.ndiff(ours.decode().splitlines(keepends=True), theirs.decode().splitlines(keepends=True))
    return [line[0] + line[2:] for line in lines if line[0] in "+-"]


@pytest.mark.slow
def test_the_new_kind_of_audit_is_a_key_of_a_pipeline_with_its_part_of_the_report(nights: dict[str, Night]) -> None:
    shares = {group: value for metric, _, group, value in nights["spread"].findings if metric == "balance.share"}
    assert set(shares) == {"malignant", "benign"}
    assert sum(share or 0.0 for share in shares.values()) == pytest.approx(1.0)
    assert "No class is rare." in nights["spread"].page or "Rare among 2 classes: " in nights["spread"].page
    assert "balance" in nights["striped"].page.split("not asked for")[-1]


def test_a_gate_on_its_finding_lets_the_night_pass_or_fail(nights: dict[str, Night]) -> None:
    assert (nights["spread"].code, nights["refused"].code) == (0, 1)


def test_the_new_attack_is_named_in_a_pipeline_and_measured_like_ours(nights: dict[str, Night]) -> None:
    measured = {
        group for metric, of, group, _ in nights["striped"].findings if (metric, of) == ("attack.accuracy", "waves")
    }
    assert {"eps=0", "eps=0.3"} <= measured
    assert nights["striped"].code == 0
    assert "waves" in nights["striped"].page
