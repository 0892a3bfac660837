"""`assay rules try`: what rules do on data, in numbers that can be counted by hand, again at every save."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_data import comments, patients, scans

from assay.flows.cli import answer
from assay.flows.rule_trial import saves

ROWS = """\
id,size,text,label
a,1,win money,spam
b,2,win a song,ham
c,3,a song,ham
d,30,hello,spam
e,31,nothing,ham
f,2,win it,spam
"""
RULES = """\
rules:
  - {name: large, when: {column: size, above: 10}, vote: spam}
  - {name: win, keywords: [win], vote: spam}
  - {name: song, pattern: "song", vote: ham}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rows.csv").write_text(
        ROWS + "".join(f"x{at},5,void,{'ham' if at % 2 else 'spam'}\n" for at in range(24))
    )
    (tmp_path / "rules.yaml").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert answer(["rules", "try", *arguments]) == 0
    return capsys.readouterr().out


def cells(text: str, rule: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(f"{rule} ")).split(None, 5)


def test_the_table_counts_what_can_be_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "rules.yaml", "--data", "rows.csv", "--show", "0")
    assert "rules.yaml on all 30 rows" in text
    assert cells(text, "large") == ["large", "spam", "6.7%", "0.0%", "0.0%", "50% [9, 91] of 2"]
    assert cells(text, "win") == ["win", "spam", "10.0%", "3.3%", "3.3%", "67% [21, 94] of 3"]
    assert cells(text, "song") == ["song", "ham", "6.7%", "3.3%", "3.3%", "100% [34, 100] of 2"]
    assert "Of 30 samples 20.0% have a vote, 3.3% several, 3.3% votes that conflict." in text


def block(text: str, rule: str) -> str:
    return text.split(f"\n\n{rule}\n")[1].split("\n\n")[0]


def test_samples_show_what_a_rule_votes_on_misses_and_stands_alone_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    song = block(said(capsys, "rules.yaml", "--data", "rows.csv", "--show", "3"), "song")
    assert "  votes on 2:\n    b  (gold: ham)  text win a song\n    c  (gold: ham)  text a song" in song
    assert "  stands alone on 1:\n    c  (gold: ham)  text a song" in song
    assert "  misses 13, 3 of them:" in song


def test_without_gold_a_rule_misses_what_others_call_its_class(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "rules.yaml", "--data", "rows.csv", "--label", "-", "--show", "9")
    assert "no gold: name its column with --label" in text
    assert cells(text, "win")[-1] == "–"
    assert "  misses 2:\n    d  text hello\n    e  text nothing" in block(text, "win")


def test_rules_in_python_and_the_source_of_a_pipeline_will_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(
        'CLASSES = ("ham", "spam")\ndef win(x): return 1 if "win" in x.text else -1\n'
        'def long(x): return 0 if len(x["text"]) > 1 / (x["size"] - 30) else -1\nRULES = [win, long]\n'
    )
    (folder / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {csv: rows.csv, id: id, label: label, masked: true}\n"
        "    labeling: {functions: mine.py}\n"
    )
    text = said(capsys, "mine.py", "--pipeline", "night", "--show", "2")
    assert cells(text, "win")[1:3] == ["spam", "10.0%"]
    assert "long raised on sample d: ZeroDivisionError" in text
    assert "(masked)" in text
    assert "win money" not in text


def test_pictures_are_shown_by_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scans(tmp_path, each=12)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text(
        "rules:\n  - {name: bright, when: {picture: brightness, above: 0.5}, vote: ill}\n"
        "  - {name: smooth, when: {picture: edges, below: 0.1}, vote: well}\n"
    )
    text = said(capsys, "rules.yaml", "--data", "scans", "--show", "1")
    assert cells(text, "smooth")[1] == "well"
    assert "    well/" in block(text, "smooth")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rules.yaml"], "Say what to try them on: --data PATH, or --pipeline NAME."),
        (["rules.yaml", "--data", "rows.csv", "--pipeline", "night"], "Say what to try them on"),
        (["none.yaml", "--data", "rows.csv"], "There is no file none.yaml with rules"),
        (["wrong.yaml", "--data", "rows.csv"], "wrong.yaml:2: rules.0.vot — unknown key; did you mean vote?"),
        (
            ["other.yaml", "--data", "rows.csv"],
            "votes for the class 'eggs', but the classes of the samples are ham, spam",
        ),
        (["rules.yaml", "--data", "nowhere.csv"], "There is no file nowhere.csv"),
        (["rules.yaml", "--data", "rows.csv", "--label", "lable"], "did you mean label?"),
    ],
)
def test_what_cannot_be_tried_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (folder / "wrong.yaml").write_text("rules:\n  - {pattern: a, vot: x}\n  - {pattern: b, vote: y}\n")
    (folder / "other.yaml").write_text("rules:\n  - {pattern: a, vote: eggs}\n  - {pattern: b, vote: ham}\n")
    assert answer(["rules", "try", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_saves_are_counted_and_a_moment_without_a_file_is_none(tmp_path: Path) -> None:
    file, done = tmp_path / "rules.yaml", list[str]()
    file.write_text("a")

    def between(_: float) -> None:
        step = len(done)
        done.append("")
        if step == 1:
            file.write_text("ab")
        elif step == 2:
            file.unlink()
        elif step == 3:
            file.write_text("abc")

    counted = saves(file, sleep=between)
    assert [next(counted) for _ in range(3)] == [0, 1, 2]
    assert len(done) == 4


def test_every_save_is_answered_and_a_mistake_does_not_end_it(folder: Path) -> None:
    asked = [
        sys.executable,
        "-m",
        "assay.flows.cli",
        "rules",
        "try",
        "rules.yaml",
        "--data",
        "rows.csv",
        "--show",
        "0",
        "--watch",
    ]
    out, err = folder / "out.txt", folder / "err.txt"
    with out.open("wb") as said_to, err.open("wb") as complained_to:
        process = subprocess.Popen(asked, cwd=folder, stdout=said_to, stderr=complained_to)
        try:
            wait_for(lambda: "100% [34, 100] of 2" in out.read_text())
            (folder / "rules.yaml").write_text(RULES.replace("vote: ham", "vot: ham"))
            wait_for(lambda: "did you mean vote?" in err.read_text())
            (folder / "rules.yaml").write_text(RULES.replace("above: 10", "above: 2.5"))
            wait_for(lambda: out.read_text().count("rules.yaml on all 30 rows") == 2)
            assert cells(out.read_text().split("rules.yaml on all")[2], "large")[2] == "90.0%"
        finally:
            process.kill()
            process.wait(30)


def wait_for(happened: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_init_wrote_can_be_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patients(tmp_path)
    comments(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert answer(["init", "--yes", "--data", "patients.csv"]) == 0
    capsys.readouterr()
    text = said(capsys, "rules.yaml", "--pipeline", "patients", "--show", "1")
    assert "high_temperature" in text
