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


def test_missing_files_are_named_beside_the_mistakes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("pipelines:\n  bad:\n    source: {csv: nowhere.csv}\n    prunning: {}\n")
    assert answer(["check"]) == 2
    heard = capsys.readouterr().err
    assert "pipelines.yaml:4: prunning" in heard
    assert "pipelines.yaml:3: source.csv" in heard


CURATED = "source: {dataset: sample/breast-cancer}, labeling: {functions: breast-cancer}, weak_labels: {}, ordering: {}"
IMAGES = "source: {dataset: sample/digits}, attacks: [{attack: pgd, eps: [0.1, 4/255]}]"
NETWORK = "subject: {network: small-cnn, train: {epochs: 1}}"


@pytest.mark.parametrize(
    ("pipeline", "gate", "said"),
    [
        (f"{IMAGES}, {NETWORK}", "finding: subject.accuracy, of: gold, group: D10", "write clean"),
        (f"{IMAGES}, {NETWORK}", "finding: attack.accuracy, group: eps=0.2", "no attack has it"),
        (
            f"{CURATED}, subject: {{model: logistic}}",
            "finding: subject.accuracy, group: D11",
            "there are only D1 to D10",
        ),
        (
            "source: {dataset: sample/breast-cancer}, subject: {model: logistic}",
            "finding: subject.accuracy",
            "or add one",
        ),
    ],
    ids=["order", "eps", "sets", "no order"],
)
def test_gates_that_no_night_could_pass_are_refused(file: Path, pipeline: str, gate: str, said: str) -> None:
    file.write_text(f"pipelines:\n  night: {{{pipeline}, gates: [{{{gate}, at_least: 0.1}}]}}\n")
    with pytest.raises(InputError, match=said):
        load_project(file)


@pytest.mark.parametrize(
    ("pipeline", "gate"),
    [
        (f"{IMAGES}, {NETWORK}", "finding: attack.accuracy, of: pgd, group: eps=4/255"),
        (f"{IMAGES}, {NETWORK}", "finding: subject.accuracy, of: clean"),
        (f"{CURATED}, subject: {{model: logistic}}", "finding: subject.accuracy, of: gold, group: D10"),
    ],
    ids=["eps", "clean", "order"],
)
def test_gates_on_what_is_measured_are_accepted(file: Path, pipeline: str, gate: str) -> None:
    file.write_text(f"pipelines:\n  night: {{{pipeline}, gates: [{{{gate}, at_least: 0.1}}]}}\n")
    assert list(load_project(file).pipelines) == ["night"]


def test_an_explainer_that_looks_inside_needs_a_network(file: Path) -> None:
    file.write_text(
        "pipelines:\n  night:\n    source: {dataset: sample/reviews}\n    subject: {classifier: 'model.py:f'}\n"
        "    trust: {explainers: [lime, gradient]}\n"
    )
    with pytest.raises(InputError, match=r"pipelines.yaml:5: trust.explainers.1.*looks inside a network"):
        load_project(file)


def test_predictions_that_are_no_classes_are_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f'{{"id": "s{at}", "label": "{"ab"[at % 2]}", "told": [0.5, 0.5]}}\n' for at in range(30))
    (file.parent / "data.jsonl").write_text(rows)
    file.write_text(
        "pipelines:\n  night:\n    source: {jsonl: data.jsonl, id: id, label: label}\n"
        "    subject: {predictions: told}\n"
    )
    assert answer(["check"]) == 2
    assert "pipelines.yaml:4: subject.predictions" in capsys.readouterr().err
