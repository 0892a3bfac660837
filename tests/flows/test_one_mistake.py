"""A mistake in one pipeline of the file is that pipeline's, and the check's."""

from pathlib import Path

import pytest

from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project, load_usable
from assay.infra.errors import InputError

FILE = """
pipelines:
  good: {source: {dataset: sample/breast-cancer}}
  bad:
    source: {dataset: sample/breast-cancer}
    pruning: {correlation: 1.5}
    labelling: {}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipelines.yaml").write_text(FILE)
    return tmp_path / "pipelines.yaml"


def test_the_other_pipelines_run(file: Path) -> None:
    assert list(load_project(file, pipeline="good").pipelines) == ["good"]
    with pytest.raises(InputError, match=r"pipelines.yaml:6: pruning.correlation: 1.5"):
        load_project(file, pipeline="bad")


def test_what_is_usable_is_told_from_what_is_not(file: Path) -> None:
    project, refused = load_usable(file)
    assert list(project.pipelines) == ["good"]
    assert list(refused) == ["bad"]
    assert [line.partition(":")[2][:1] for line in refused["bad"].splitlines()] == ["6", "6", "7"]


def test_list_shows_both_and_check_refuses(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["list"]) == 0
    assert "bad       refused" in capsys.readouterr().out
    assert answer(["check"]) == 2
    assert "pipelines.yaml:7: labelling" in capsys.readouterr().err
    assert file.exists()


def test_a_mistake_outside_of_pipelines_is_everybodys(file: Path) -> None:
    file.write_text("compute: {engine: nowhere}\n" + FILE)
    with pytest.raises(InputError, match="there is no such engine"):
        load_project(file, pipeline="good")
    with pytest.raises(InputError, match="there is no such engine"):
        load_usable(file)
