"""Every example of docs/bring-your-own.md is taken from the page and runs through the real loader and chain."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from markdown_pages import ROOT, blocks
from page_examples import perform, pipelines_in, save_and_run

PAGE = ROOT / "docs" / "bring-your-own.md"
CODE = [block for block in blocks(PAGE) if block.language == "python"]
FILES = [block.text for block in blocks(PAGE) if block.name == "pipelines.yaml"]
EXAMPLES = [(name, text) for text in FILES for name in pipelines_in(text)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it who saved every file and ran the two scripts."""
    return save_and_run(tmp_path_factory.mktemp("own"), CODE, ["make_data.py", "train_net.py"], imported=["net"])


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_runs_and_every_row_enters(folder: Path, name: str, text: str) -> None:
    made, findings = perform(folder, name, text)
    assert (made.results["data"].samples.rows, made.results["data"].rejects.rows) == (300, 0)
    if name == "texts":
        assert "subjects" in made.results
        right = next(one for one in findings if one.metric == "subject.accuracy")
        assert right.value is not None
        assert right.value > 0.7
        return
    assert made.results["curation"].table is not None
    assert any(one.metric == "labeling.coverage" for one in findings)
    assert ("ordering" in text.split(f"  {name}:")[1].split("\n\n")[0]) == bool(made.results["curation"].orders)


def test_the_page_shows_every_way_to_bring_samples_rules_and_models() -> None:
    together = "\n".join(FILES)
    for written in (
        "parquet:",
        "csv:",
        "jsonl:",
        "votes:",
        "predictions:",
        "weights:",
        "model: logistic",
        "features:",
        "classifier:",
    ):
        assert written in together


def test_all_three_forms_of_rules_give_the_same_votes(folder: Path) -> None:
    text = next(text for name, text in EXAMPLES if name == "plain-rules")
    coverage = {
        name: {
            one.of or one.group: one.value
            for one in perform(folder, name, text)[1]
            if one.metric == "labeling.coverage"
        }
        for name in ("plain-rules", "snorkel-rules")
    }
    assert coverage["plain-rules"] == coverage["snorkel-rules"]


def test_every_subject_of_the_models_example_is_measured(folder: Path) -> None:
    text = next(text for name, text in EXAMPLES if name == "four-models")
    measured = {
        one.subject: one.value for one in perform(folder, "four-models", text)[1] if one.metric == "subject.accuracy"
    }
    assert set(measured) == {"night", "net", "theirs", "logistic"}
    assert all(value is not None and 0.5 < value <= 1.0 for value in measured.values())


def test_a_rulebook_is_six_lines_or_fewer() -> None:
    for name in ("rules.py", "column_rules.py"):
        assert len(next(block.text for block in CODE if block.name == name).splitlines()) <= 6


def test_every_file_named_on_the_page_is_on_it_and_is_python() -> None:
    assert [block.name for block in CODE] == [
        "make_data.py", "rules.py", "column_rules.py", "snorkel_rules.py", "model.py", "net.py", "train_net.py",
        "reader.py",
    ]  # fmt: skip
    for block in CODE:
        ast.parse(block.text)
