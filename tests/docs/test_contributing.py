"""The stage that CONTRIBUTING.md builds is taken out of the page, and works."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_pages import ROOT, blocks

import assay.tasks
from assay.tasks.statistics.findings import Finding, FindingIndex

BLOCKS = [block for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "python"]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page's files in a folder, where `assay.tasks` finds the new room."""
    for block in BLOCKS:
        if block.name:
            (tmp_path / block.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
    (tmp_path / "tasks" / "balance" / "__init__.py").write_text('"""Balance."""\n')
    monkeypatch.setattr(assay.tasks, "__path__", [*assay.tasks.__path__, str(tmp_path / "tasks")])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("assay.tasks.balance")]:
        del sys.modules[name]


def test_the_stage_passes_the_test_written_for_it(room: Path, run: object) -> None:
    tests = runpy.run_path(str(room / "tests" / "tasks" / "balance" / "test_task.py"))
    claims = [value for name, value in tests.items() if name.startswith("test_")]
    assert claims
    for claim in claims:
        claim(run)


def test_its_doctest_holds_and_its_page_names_the_rare_class(room: Path) -> None:
    tried = doctest.testmod(importlib.import_module("assay.tasks.balance.shares"))
    assert (tried.attempted > 0, tried.failed) == (True, 0)
    page = importlib.import_module("assay.tasks.balance.page").page
    rare = Finding("balance.share", group="spam", value=0.05, low=0.0, high=0.2, n=20, verdict="rare")
    assert page(FindingIndex([rare])).sentence == "Rare among 1 classes: spam."


NEW_FILES = re.compile(r"`((?:(?:tests/)?tasks/balance/|flows/audits/balance)[^`]+)`")


def test_files_that_the_page_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:flows|tasks|data|tests|docs)/[^`\s]+)`|`(pyproject\.toml)`", text))
    there = {one or other for one, other in named} - set(NEW_FILES.findall(text))
    assert {"flows/audits/table.py", "tasks/attacks/table.py", "data/schemas.py", "pyproject.toml"} <= there
    assert [name for name in sorted(there) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("assay.flows.audits.table", ["KINDS"]),
        ("assay.tasks.attacks.settings", ["ImageAttack"]),
        ("assay.tasks.attacks.table", ["IMAGE_ATTACKS"]),
        ("assay.tasks.attacks.choice", ["ImageAttackChoice", "GeneratorTraining"]),
        ("assay.tasks.attacks.batch", ["Batch"]),
        ("assay.tasks.attacks.batch", ["Ledger"]),
        ("assay.tasks.corruptions.table", ["CORRUPTIONS"]),
        ("assay.tasks.corruptions.table", ["Corruption"]),
        ("assay.tasks.defenses.table", ["IMAGE_DEFENCES", "ImageDefenceChoice"]),
        ("assay.infra.user_code.choices", ["check_plugin"]),
        ("assay.tasks.subjects.settings", ["NETWORKS"]),
        ("assay.tasks.trust.explainers.table", ["EXPLAINERS"]),
        ("assay.tasks.trust.explainers.choice", ["ExplainerChoice"]),
        ("assay.tasks.weak_labels.table", ["LABELERS"]),
        ("assay.tasks.weak_labels.labelers", ["LabelerChoice"]),
        ("assay.tasks.attacks.table", ["TERM_ATTACKS"]),
        ("assay.tasks.attacks.table", ["TEXT_ATTACKS"]),
        ("assay.tasks.ingest.readers", ["READERS", "table_reader"]),
        ("assay.tasks.trust.explainers.documents", ["Document"]),
        ("assay.tasks.trust.explainers.documents", ["Explanation"]),
    ],
)
def test_what_the_page_says_to_add_to_is_there_under_that_name(place: str, names: list[str]) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    module = importlib.import_module(place)
    for name in names:
        assert f"`{name}`" in text
        assert hasattr(module, name), f"{place} has no {name}"
