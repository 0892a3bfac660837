"""Escapes and marks of direction planted wherever text comes from: none of them reaches the terminal."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import pytest

from assay.flows.cli import answer
from assay.infra.terminal import PlainProgress, ShownStage, TerminalProgress, columns, echo, json_text, printable

EVIL = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e\u2066\u200f"
OBEYED = set("\x1b\x07\x9b\u202e\u2066\u200f")
CSV = f"id,x,label,{EVIL}\n" + "".join(f"s{at},{at},{'ab'[at % 2]}{EVIL},1\n" for at in range(30))


def said(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capfd.readouterr()
    code = answer(arguments)
    heard = capfd.readouterr()
    assert not OBEYED & set(heard.out + heard.err)
    return code, heard.out + heard.err


def project(folder: Path, **pipeline: object) -> None:
    source = {"csv": "data.csv", "id": "id", "label": "label"}
    (folder / "data.csv").write_text(CSV, encoding="utf-8")
    file = {"compute": {"engine": "serial"}, "pipelines": {"night": {"source": source, **pipeline}}}
    (folder / "pipelines.yaml").write_text(json.dumps(file))


def test_descriptions_do_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    project(tmp_path, description=f"patients {EVIL}")
    code, heard = said(capfd, "list")
    assert code == 0
    assert "patients" in heard


def test_errors_of_builders_do_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(f"raise ValueError({EVIL!r} + 'told')\n")
    project(tmp_path, subject={"model": "model.py:f"})
    code, heard = said(capfd, "check")
    assert code == 2
    assert "told" in heard
    assert not OBEYED & set(said(capfd, "check", "--debug")[1])


@pytest.mark.parametrize("label", ["lable", f"{EVIL}x"], ids=["plain", "planted"])
def test_columns_and_settings_that_are_not_there_do_not_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], label: str
) -> None:
    monkeypatch.chdir(tmp_path)
    project(tmp_path, source={"csv": "data.csv", "label": label})
    code, heard = said(capfd, "check")
    assert code == 2
    assert "has no column" in heard


def test_classes_and_verdicts_do_not_reach_it() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream)
    progress.notice(f"Verdict   {EVIL} is right on 88 %")
    progress.stage_done(ShownStage(1, f"ingest {EVIL}", EVIL), f"classes a{EVIL}", 1.0)
    assert not OBEYED & set(stream.getvalue())
    bars = TerminalProgress(stream)
    bars._print(f"classes a{EVIL}")
    assert not OBEYED & set(stream.getvalue())


def test_json_keeps_what_it_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    echo(json_text({"error": EVIL}))
    heard = capsys.readouterr().out
    assert not OBEYED & set(heard)
    assert json.loads(heard) == {"error": EVIL}
    assert not OBEYED & set(columns(["a"], [[EVIL]]))


def test_lines_and_letters_of_all_languages_stay() -> None:
    text = "grün\tδ = 0.5\n日本 … אב 88 %"
    assert printable(text) == text


def test_nothing_is_said_past_the_filter() -> None:
    root = Path(__file__).parents[2]
    doors = {"infra/terminal.py", "flows/commands/options.py"}
    for path in [*root.glob("flows/**/*.py"), *root.glob("infra/**/*.py"), *root.glob("tasks/**/*.py")]:
        name = str(path.relative_to(root))
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        printing = [one for one in calls if isinstance(one, ast.Name) and one.id == "print"]
        echoing = [
            one for one in calls if isinstance(one, ast.Attribute) and ast.unparse(one) in ("click.echo", "click.secho")
        ]
        assert name in doors or not [*printing, *echoing], name
