"""Every example of docs/images.md is taken from the page and runs; its tables say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_pages import ROOT, blocks
from page_examples import perform, pipelines_in, save_and_run

from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.table import IMAGE_ATTACKS, PRESETS
from assay.tasks.corruptions.table import LISTED
from assay.tasks.subjects.networks.building import _NETWORKS
from assay.tasks.subjects.settings import NETWORKS

PAGE = ROOT / "docs" / "images.md"
TEXT = PAGE.read_text(encoding="utf-8")
CODE = [block for block in blocks(PAGE) if block.language == "python" and block.name]
FILES = [block.text for block in blocks(PAGE) if block.name == "pipelines.yaml"]
EXAMPLES = [(name, text) for text in FILES for name in pipelines_in(text)]
TWO = "two-networks"


def table_under(head: str) -> list[list[str]]:
    """The rows of the table that begins with this head, cell by cell."""
    rows = TEXT.split(head)[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it who saved every file and ran the two scripts."""
    place = tmp_path_factory.mktemp("images")
    return save_and_run(place, CODE, ["make_images.py", "train_net.py", "make_vit.py"], imported=["net"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_runs_every_image_enters_and_the_named_split_is_audited(folder: Path, name: str, text: str) -> None:
    made, findings = perform(folder, name, text)
    assert (made.results["data"].samples.rows, made.results["data"].rejects.rows) == (160, 0)
    examination = made.results["subjects"]
    assert (examination.training.rows, examination.evaluation.rows) == (120, 30 if name == TWO else 40)
    clean = [one.value for one in findings if one.metric == "subject.accuracy" and not one.group]
    assert len(clean) == (2 if name == TWO else 1)
    assert all(value is not None and value > 0.9 for value in clean)


def test_networks_that_are_brought_and_trained_are_attacked_corrupted_and_compared(folder: Path) -> None:
    text = next(text for name, text in EXAMPLES if name == TWO)
    measured = {(one.metric, one.subject) for one in perform(folder, TWO, text)[1] if one.value is not None}
    for metric in ("attack.accuracy", "attack.transfer", "attack.red_flag", "corruption.flip_probability"):
        assert {(metric, "theirs"), (metric, "ours")} <= measured
    assert ("corruption.relative_flip_probability", "ours") in measured


def test_the_records_lie_where_the_page_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = perform(folder, *EXAMPLES[0])
    attacked = made.results["attacks"].attacked["subject"]["fgsm"].audited.attacked
    shown = next(block.text for block in blocks(PAGE) if block.text.startswith("from glob")).splitlines()
    monkeypatch.chdir(folder)
    loaded: dict[str, object] = {}
    exec("\n".join(shown[:2]), loaded)
    records = eval(shown[2].replace("37df7b4815fc", attacked.key[:12]), loaded)
    assert set(records["eps"]) == {0.0, 4 / 255}
    assert len(records) == 2 * 40


def test_the_page_shows_every_way_in_which_images_and_labels_come() -> None:
    together = "\n".join(FILES)
    for written in ("images:", "image: file", "image: png", "image: values", "labels: [", "labels: findings"):
        assert written in together


def test_the_networks_of_the_page_are_those_there_are_with_the_smallest_image_they_take() -> None:
    said = {name: int(row[2]) for row in table_under("| by name |") for name in re.findall(r"`([^`]+)`", row[0])}
    assert said == {name: smallest for name, (_, smallest) in _NETWORKS.items()}
    assert set(said) == set(NETWORKS)


def test_the_attacks_of_the_page_are_those_there_are() -> None:
    assert {row[0].strip("`") for row in table_under("| attack | what")} == set(IMAGE_ATTACKS.words)


def test_the_presets_of_the_page_are_those_of_the_code() -> None:
    said = {
        name: (int(eps), int(steps))
        for name, eps, steps in re.findall(r"`(xu-pgd-\d+)` \((?:ε = )?(\d+)/255, (\d+)", TEXT)
    }
    there = {name: (round(one.eps[0] * 255), one.steps) for name, one in PRESETS.items() if isinstance(one, PGD)}
    assert said == there
    assert all(f"`{name}`" in TEXT for name in PRESETS)


def test_the_perturbations_of_the_page_are_those_there_are_with_their_sequences() -> None:
    rows = {row[0].strip("`"): row[1] for row in table_under("| perturbation | sequence |")}
    assert rows == {made.word: made.kind for made in LISTED}
