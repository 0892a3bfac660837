"""The tour and the tutorials: each is walked from an empty folder, and all are read for mistakes without running."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_pages import ROOT, blocks
from page_walk import Walk, commands_of

from assay.flows.configuration.loading import load_project

TOUR = ROOT / "docs" / "tour.md"
TUTORIALS = sorted(page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.name != "index.md")
WALKED = [TOUR, *TUTORIALS]
IDS = [page.stem for page in WALKED]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow) for page in WALKED], ids=IDS)
def test_a_reader_walks_from_an_empty_folder_to_a_scheduled_night(
    page: Path,
    tmp_path: Path,
    on_teams_prefect: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    done = Walk(tmp_path, capsys).through(page)
    assert any(one.startswith("assay run ") for one in done)
    assert any(one.schedule for one in load_project(tmp_path / "pipelines.yaml").pipelines.values())


@pytest.mark.parametrize("page", WALKED, ids=IDS)
def test_a_page_ends_with_a_schedule_that_somebody_serves(page: Path) -> None:
    assert [step.command for step in commands_of(page)][-1] == "assay serve"


@pytest.mark.parametrize("page", WALKED, ids=IDS)
def test_every_pipeline_of_a_page_loads_and_asks_only_for_pipelines_that_it_has(page: Path, tmp_path: Path) -> None:
    """Its rules and models lie beside them; the data need not be there."""
    known: set[str] = set()
    for block in blocks(page):
        if block.name and "pipelines:" not in block.text:
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
    for block in blocks(page):
        if block.language == "yaml" and "pipelines:" in block.text:
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
            known |= set(load_project(tmp_path / block.name).pipelines)
    asked = {step.command.split()[2] for step in commands_of(page) if step.command.startswith("assay run ")}
    assert asked <= known


def imported(text: str) -> Iterator[tuple[str, str | None]]:
    """The modules that a script imports, with the names that it takes out of them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def is_there(module: str) -> bool:
    """Whether a module can be imported, without importing the packages that it lies in."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or not rest:
        return spec is not None
    places = [Path(place, *rest) for place in spec.submodule_search_locations or ()]
    return any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)


@pytest.mark.parametrize("page", WALKED, ids=IDS)
def test_every_script_of_a_page_compiles_and_what_it_imports_is_there(page: Path) -> None:
    scripts = {block.name: block.text for block in blocks(page) if block.language == "python"}
    for name, text in scripts.items():
        compile(text, name, "exec")
        for module, taken in imported(text):
            if f"{module}.py" in scripts:
                continue
            assert is_there(module), f"{name} imports {module}"
            if taken is not None and module.partition(".")[0] == "assay":
                assert hasattr(importlib.import_module(module), taken), f"{name} imports {taken} from {module}"


@pytest.mark.parametrize("page", WALKED, ids=IDS)
def test_every_script_of_a_page_is_run_on_it(page: Path) -> None:
    ran = {step.command.split()[1] for step in commands_of(page) if step.command.startswith("python ")}
    assert {block.name for block in blocks(page) if block.name.startswith("make_")} <= ran
