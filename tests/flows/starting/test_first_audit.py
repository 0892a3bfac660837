"""`assay init`: what it wrote runs as it is, is in order, passes its own test, and overwrites nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from direct_nights import perform_night
from made_data import comments, patients, scans
from PIL import Image

from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.flows.starting.first_audit import NAMES
from assay.tasks.statistics.findings import Finding, findings_of


def written_from(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Path:
    monkeypatch.chdir(folder)
    assert answer(["init", "--yes", *arguments]) == 0
    return folder


def passes_its_own_test(folder: Path) -> bool:
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_rules.py"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode == 0 and " passed" in done.stdout


def rules_in(folder: Path) -> list[str]:
    """The lines of the rules that look at columns."""
    return [line for line in (folder / "rules.yaml").read_text().splitlines() if "column: " in line]


def night(folder: Path, name: str) -> list[Finding]:
    """What a night found in which every gate was kept; what was written is run as it is."""
    from assay.infra.storage.store import Store

    assert perform_night(folder, name).status == "done"
    store = Store(str(folder / "store"))
    return findings_of(store, store.runs(name)[-1])


def in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    capsys.readouterr()
    return answer(["check"]) == 0 and "Everything is in order." in capsys.readouterr().out


def test_a_table_becomes_an_audit_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patients(tmp_path)
    folder = written_from(tmp_path, monkeypatch, "--data", "patients.csv")
    said = capsys.readouterr().out
    assert "Label diagnosis: " in said
    assert "Id patient_id, unique" in said
    assert "Group site" in said
    assert "Left out: row (they name or count rows)" in said
    assert all((folder / name).is_file() for name in NAMES)
    assert in_order(folder, capsys)
    assert passes_its_own_test(folder)
    (subject,) = load_project(folder / "pipelines.yaml").pipelines["patients"].subjects
    assert subject.features == ("temperature", "height")
    found = night(folder, "patients")
    coverage = next(one.value for one in found if one.metric == "labeling.coverage" and not one.of)
    right = next(
        one.value for one in found if one.metric == "subject.accuracy" and one.of == "gold" and one.group == "D5"
    )
    assert coverage is not None
    assert coverage > 0.8
    assert right is not None
    assert right > 0.8
    by_rule = {one.of: one.value for one in found if one.metric == "labeling.accuracy"}
    assert len(by_rule) >= 3
    assert not any("height" in rule for rule in by_rule)
    assert all(value is not None and value > 0.7 for value in by_rule.values())


def test_what_another_model_said_is_audited_and_teaches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patients(tmp_path)
    frame = pd.read_csv(tmp_path / "patients.csv")
    said = frame["diagnosis"].where(frame.index % 5 != 0, "well")
    frame.assign(y_pred=said, score=(said == "ill") * 0.9).to_csv(tmp_path / "patients.csv", index=False)
    folder = written_from(tmp_path, monkeypatch, "--data", "patients.csv")
    assert "Predictions in y_pred: they are audited, and nothing is trained" in capsys.readouterr().out
    (subject,) = load_project(folder / "pipelines.yaml").pipelines["patients"].subjects
    assert (subject.name, subject.predictions) == ("theirs", "y_pred")
    assert not {"y_pred", "score"} & {line.split("column: ")[1].split(",")[0] for line in rules_in(folder)}
    found = [each for each in night(folder, "patients") if (each.metric, each.of) == ("subject.accuracy", "gold")]
    right = next(each for each in found if each.group == "D5")
    assert right.value == pytest.approx(float((said == frame["diagnosis"]).mean()))
    (tmp_path / "pipelines.yaml").unlink()
    written_from(tmp_path, monkeypatch, "--data", "patients.csv", "--keep", "--predictions", "-")
    (subject,) = load_project(folder / "pipelines.yaml").pipelines["patients"].subjects
    assert subject.predictions is None
    (tmp_path / "pipelines.yaml").unlink()
    assert answer(["init", "--yes", "--data", "patients.csv", "--keep", "--predictions", "pred"]) == 2
    assert "patients.csv has no column 'pred' for --predictions" in capsys.readouterr().err


@pytest.mark.slow
def test_texts_become_an_audit_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments(tmp_path)
    folder = written_from(tmp_path, monkeypatch, "--data", "comments.jsonl")
    assert in_order(folder, capsys)
    assert passes_its_own_test(folder)
    rules = (folder / "rules.yaml").read_text()
    assert "vote: spam" in rules
    assert "vote: ham" in rules
    assert "nice" not in rules  # said by either
    found = night(folder, "comments")
    assert all(one.value is not None and one.value > 0.6 for one in found if one.metric == "labeling.accuracy")
    right = next(one.value for one in found if one.metric == "subject.accuracy")
    assert right is not None
    assert right > 0.7
    assert any(one.metric.startswith("attack.") for one in found)


@pytest.mark.slow
def test_a_folder_of_images_becomes_an_audit_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scans(tmp_path)
    folder = written_from(tmp_path, monkeypatch, "--data", "scans")
    assert in_order(folder, capsys)
    assert passes_its_own_test(folder)
    found = night(folder, "scans")
    assert all(one.value is not None and one.value > 0.7 for one in found if one.metric == "labeling.accuracy")
    metrics = {one.metric for one in found}
    assert {"subject.accuracy", "attack.accuracy", "corruption.flip_probability"} <= metrics


def test_rows_that_will_be_rejected_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scans(tmp_path)
    (tmp_path / "scans" / "ill" / "broken.png").write_bytes(b"no picture")
    Image.new("RGBA", (5, 7)).save(tmp_path / "scans" / "ill" / "clear.png")
    written_from(tmp_path, monkeypatch, "--data", "scans")
    said = capsys.readouterr().out
    assert "1 of them does not fit and will be rejected, first ill/broken.png row 1 (the bytes are no image" in said
    assert "Shapes (channels, height, width): any×7×5, " in said


@pytest.mark.slow
def test_without_a_label_rules_are_guesses_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patients(tmp_path)
    folder = written_from(
        tmp_path, monkeypatch, "--data", "patients.csv", "--label", "-", "--classes", "well,ill", "--name", "night"
    )
    rules = (folder / "rules.yaml").read_text()
    assert "WHICH CLASS" in rules
    assert "IS A GUESS" in rules
    assert in_order(folder, capsys)
    found = night(folder, "night")
    assert any(one.metric == "subject.accuracy" and one.of == "weak" for one in found)


def test_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patients(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".gitignore").write_text("mine\n")
    assert answer(["init", "--yes", "--data", "patients.csv"]) == 2
    assert "has .gitignore already, and nothing is overwritten" in capsys.readouterr().err
    assert sorted(one.name for one in tmp_path.iterdir()) == [".gitignore", "patients.csv"]
    assert answer(["init", "--yes", "--data", "patients.csv", "--keep"]) == 0
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    before = {name: (tmp_path / name).read_bytes() for name in NAMES}
    assert answer(["init", "--yes", "--data", "patients.csv"]) == 2
    assert answer(["init", "--yes", "--data", "patients.csv", "--keep"]) == 2
    assert {name: (tmp_path / name).read_bytes() for name in NAMES} == before


def test_a_folder_of_its_own_names_the_data_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patients(tmp_path, delimiter=";")
    written_from(tmp_path, monkeypatch, "audits", "--data", "patients.csv")
    assert "cd audits; assay check" in capsys.readouterr().out
    source = load_project(tmp_path / "audits" / "pipelines.yaml").pipelines["patients"].source
    assert (source.csv, source.delimiter) == (("../patients.csv",), ";")


def test_the_same_data_gives_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patients(tmp_path)
    for place in ("one", "two"):
        written_from(tmp_path, monkeypatch, place, "--data", "patients.csv")
    for name in NAMES:
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


@pytest.mark.slow
def test_what_cannot_be_known_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = patients(tmp_path)
    file.write_text(file.read_text().replace("diagnosis", "state"))
    monkeypatch.chdir(tmp_path)
    asked = [sys.executable, "-m", "assay.flows.cli", "init"]
    done = subprocess.run(
        asked, cwd=tmp_path, input="patients.csv\nstate\n", capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Which column says what a sample is (" in done.stderr
    assert load_project(tmp_path / "pipelines.yaml").pipelines["patients"].source.label == "state"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "cannot be known from the data: say it with --data."),
        (["--data", "nowhere.csv"], "There is no file nowhere.csv (csv)"),
        (["--data", "notes.docx"], "notes.docx is no folder here, and has no ending of a table: give a file or a"),
        (["--data", "empty"], "empty is a folder without images or tables"),
        (
            ["--data", "unclear.csv"],
            "Which column says what a sample is (cough, state) cannot be known from the data: say it with --label.",
        ),
        (
            ["--data", "patients.csv", "--label", "diagnosys"],
            "has no column 'diagnosys' for --label; did you mean diagnosis?",
        ),
        (
            ["--data", "patients.csv", "--id", "site"],
            "has 24 different values in 240 rows of 'site', and an id names one sample",
        ),
        (
            ["--data", "patients.csv", "--label", "-"],
            "as in benign,malignant, cannot be known from the data: say it with --classes.",
        ),
        (["--data", "patients.csv", "--label", "-", "--classes", "ill"], "'ill' names fewer than two classes"),
        (["--data", "patients.csv", "--kind", "images"], "is a table, no folder of images"),
        (["--data", "patients.csv", "--kind", "texts"], "Which column holds the text"),
        (["--data", "patients.csv", "--name", "a b"], "'a b' names no pipeline"),
        (["--data", "scans", "--label", "x"], "A folder of images has no columns"),
        (["patients.csv", "--data", "patients.csv"], "patients.csv is a file: name a folder"),
        (["--data", "same.csv"], "Nothing of same.csv can be audited as it is"),
        (
            ["--data", "comma.csv"],
            "Read as words, as not all of their cells are numbers (1,5 is none, 1.5 is): x. Name",
        ),
        (["--data", "ragged.csv"], "do not fit, the first in ragged.csv row"),
        (["--data", "one.csv"], "(none has 2 to 20 values that repeat) cannot be known"),
        (["--data", "one.csv", "--label", "x"], "x has 1 different value in 60 rows, and classes are 2 to 127"),
        (["--data", "blank.csv", "--label", "x"], "blank.csv has no rows below its header."),
        (["--data", "list.json"], "list.json is a list: write one object a line (pandas:"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    file = patients(tmp_path)
    scans(tmp_path, each=3)
    (tmp_path / "empty").mkdir()
    (tmp_path / "unclear.csv").write_text(file.read_text().replace("diagnosis", "state"))
    (tmp_path / "same.csv").write_text("name,label\n" + "".join(f"n{at},{'ab'[at % 2]}\n" for at in range(60)))
    days = [f"n{at};2024-01-{at % 28 + 1:02d};{at},5;{'ab'[at % 2]}\n" for at in range(60)]
    (tmp_path / "comma.csv").write_text("name;day;x;label\n" + "".join(days))
    (tmp_path / "one.csv").write_text("x\n" + "5\n" * 60)
    (tmp_path / "blank.csv").write_text("name,x\n\n\n")
    (tmp_path / "list.json").write_text('[\n  {"name": "a",\n   "x": 1}\n]\n')
    (tmp_path / "ragged.csv").write_text(file.read_text() + "1,2\n" * 60)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert answer(["init", "--yes", *arguments]) == 2
    complaint = capsys.readouterr().err.strip()
    assert says in complaint
    assert "\n" not in complaint
    assert sorted(tmp_path.iterdir()) == before


def test_lines_of_objects_may_be_called_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    pd.read_csv(patients(tmp_path)).to_json(tmp_path / "patients.json", orient="records", lines=True)
    monkeypatch.chdir(tmp_path)
    assert answer(["init", "--yes", "--data", "patients.json", "--label", "diagnosis"]) == 0
    assert load_project(tmp_path / "pipelines.yaml").pipelines["patients"].source.jsonl == ("patients.json",)
