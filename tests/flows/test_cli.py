"""The command line: it starts light, answers in one sentence, and its exit codes mean what they say."""

import errno
import json
import os
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import click
import pytest
from repository import ROOT

from assay.flows.cli import ALL, answer, assay
from assay.infra.errors import InputError, RunError
from assay.infra.storage.store import Store

HEAVY = {
    "numpy",
    "pyarrow",
    "pandas",
    "torch",
    "prefect",
    "dask",
    "distributed",
    "pydantic",
    "ruamel",
    "rich",
    "scipy",
    "sklearn",
    "snorkel",
    "great_expectations",
    "statsmodels",
    "transformers",
    "fsspec",
    "networkx",
    "asyncio",
}
GOOD = "pipelines:\n  night:\n    source: {dataset: sample/breast-cancer}\n    labeling: {functions: breast-cancer}\n"


def every_command() -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name, command in assay.commands.items():
        inner = command.commands if isinstance(command, click.Group) else {}
        found += [((name,), command), *(((name, other), sub) for other, sub in inner.items())]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))
    (tmp_path / "pipelines.yaml").write_text(GOOD)
    return tmp_path


@dataclass(frozen=True)
class Result:
    run: str = "2026-11-22-0200-k3f9"
    status: str = "done"
    report: str = "reports/index.html"
    findings: str = "findings.parquet"
    seconds: float = 1.5
    exit_code: int = 0


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stands in for the flow: the command line is under test, not the audit."""
    module = types.ModuleType("assay.flows.running")
    module.run_pipeline = lambda *_args, **_options: Result()
    monkeypatch.setitem(sys.modules, "assay.flows.running", module)
    return module


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["store", "clean", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from assay.flows.cli import answer; code = answer(sys.argv[1:]);"
        "print('\\n'.join(sorted(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    modules = done.stderr.split()
    assert not {name.partition(".")[0] for name in modules} & HEAVY
    ours = [name for name in modules if name.startswith("assay")]
    assert len(ours) <= 20, ours
    assert len(modules) < 220, len(modules)


@pytest.mark.parametrize("path", [path for path, _ in every_command()], ids=" ".join)
def test_every_command_has_one_line_of_help_and_an_example(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    command = dict(every_command())[path]
    first = (command.help or "").strip().splitlines()[0]
    assert first.endswith(".")
    assert len(first) <= 62
    assert answer([*path, "--help"]) == 0
    said = capsys.readouterr().out
    assert first in said
    if not isinstance(command, click.Group):
        assert f"assay {' '.join(path)}" in said.split("Example")[1]
        assert "--debug" in said


def test_the_commands_of_the_design_are_all_there() -> None:
    of_the_design = "run plan check list runs report compare gate deploy serve worker data export reproduce store"
    assert {command.name for command in ALL} == {
        *of_the_design.split(),
        "accept",
        "attest",
        "blame",
        "bundle",
        "commit-plan",
        "history",
        "audit",
        "init",
        "label",
        "log",
        "ledger",
        "notify",
        "rules",
        "schema",
        "verify",
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rum"], "There is no command 'rum'; did you mean run?"),
        (["run"], "Missing argument 'NAME'."),
        (["run", "night", "--sed", "1"], "No such option '--sed'"),
        (["run", "night", "--seed", "x"], "'x' is not a valid integer range."),
        (
            ["run", "nigth"],
            'There is no pipeline "nigth" in pipelines.yaml. Did you mean night?  (assay list shows all)',
        ),
        (["run", "night", "--set", "pruning.correlation=7"], "--set: pruning.correlation: 7 — expected a number"),
        (["run", "night", "--config", "none.yaml"], "There is no file none.yaml; say which one with --config FILE."),
        (["report"], "There is no run in"),
        (["gate"], "There is no run in"),
        (["compare", "a", "b"], "There is no run in"),
        (["export", "--to", "x"], "There is no run in"),
        (["reproduce", "pough-1"], "There is no table 'pough-1' to reproduce; did you mean pugh-1?"),
        (["store", "clear"], "There is no command 'clear'; did you mean clean?"),
        (["worker", "scheduler:8786"], "is no address of a scheduler"),
        (["worker", "tls://[fe80:8786"], "is no address of a scheduler"),
        (["worker", "tls://scheduler:high"], "is no address of a scheduler"),
        (["schema", "--to", "."], "Cannot write to .: Is a directory; name another file with --to."),
        (["worker", "tcp://10.0.0.1:8786"], "is not encrypted"),
        (["worker", "tls://10.0.0.1:8786"], "needs --tls-ca"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(
    folder: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(arguments) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert said.out == ""


def test_a_worker_that_shows_no_certificate_is_told_so_though_it_trusts_somebody(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", "ca.pem")  # as where `assay run` runs
    assert answer(["worker", "tls://10.0.0.1:8786"]) == 2
    assert "needs --tls-ca, --tls-cert and --tls-key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (InputError("The file a.csv is empty."), 2, "The file a.csv is empty.\n"),
        (RunError("The disk is full."), 3, "The disk is full.\n"),
        (ValueError("odd\nmore"), 3, "Assay has a bug: ValueError: odd — please run again with --debug"),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "a.csv"),
            3,
            "a.csv: File name too long; mend that, and run",
        ),
        (KeyboardInterrupt(), 130, "Interrupted. What was finished is kept"),
    ],
)
def test_errors_become_sentences_and_exit_codes(
    folder: Path,
    runner: types.ModuleType,
    error: BaseException,
    code: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_args: object, **_options: object) -> Result:
        raise error

    runner.run_pipeline = fail
    assert answer(["run", "night"]) == code
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said


def test_debug_shows_the_traceback(folder: Path, runner: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    runner.run_pipeline = lambda *_args, **_options: 1 // 0
    assert answer(["run", "night", "--debug"]) == 3
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "ZeroDivisionError" in said


@pytest.mark.parametrize("code", [0, 1])
def test_the_exit_code_is_that_of_the_run(folder: Path, runner: types.ModuleType, code: int) -> None:
    runner.run_pipeline = lambda *_args, **_options: Result(exit_code=code)
    assert answer(["run", "night"]) == code


def test_run_hands_over_what_was_asked(folder: Path, runner: types.ModuleType) -> None:
    seen: dict[str, object] = {}

    def note(project: object, pipeline: object, **options: object) -> Result:
        seen.update(options, project=project, pipeline=pipeline)
        return Result()

    runner.run_pipeline = note
    assert (
        answer(["run", "night", "--seed", "7", "--fresh", "--store", "there", "--set", "pruning.correlation=1/4"]) == 0
    )
    assert (seen["seed"], seen["fresh"]) == (7, True)
    assert seen["project"].store == str(folder / "there")
    assert seen["pipeline"].pruning.correlation == 0.25


def test_json_is_the_last_line_of_standard_output_and_nothing_else_is(
    folder: Path, runner: types.ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    def noisy(*_args: object, stream: TextIO, **_options: object) -> Result:
        print("a library prints")
        os.write(1, b"a child process prints\n")
        print("the run's own lines", file=stream)
        return Result()

    runner.run_pipeline = noisy
    assert answer(["run", "night", "--json"]) == 0
    said = capfd.readouterr()
    [line] = said.out.splitlines()
    assert json.loads(line) == {
        "run": "2026-11-22-0200-k3f9",
        "status": "done",
        "report": "reports/index.html",
        "findings": "findings.parquet",
        "seconds": 1.5,
    }
    for text in ("a library prints", "a child process prints", "the run's own lines"):
        assert text in said.err


def test_json_is_there_when_the_run_is_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(["run", "nigth", "--json"]) == 2
    said = capfd.readouterr()
    refused = json.loads(said.out)
    assert (refused["run"], refused["status"]) == (None, "refused")
    assert refused["error"] in said.err


def test_check_prints_what_was_understood(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["check"]) == 0
    said = capsys.readouterr().out
    for text in ("night", "sample/breast-cancer", "pruning, weak_labels", "CPU cores", "Everything is in order."):
        assert text in said
    assert not (folder / "artifacts").exists()


def test_check_prints_every_mistake_and_still_the_environment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pipelines.yaml").write_text(GOOD + "    pruning: {correlation: 7}\n    bogus: 1\n")
    assert answer(["check"]) == 2
    said = capsys.readouterr()
    assert [line.split(": ")[0] for line in said.err.splitlines()] == ["pipelines.yaml:5", "pipelines.yaml:6"]
    assert "CPU cores" in said.out


def test_check_finds_what_pipelines_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pipelines.yaml").write_text(
        GOOD + "  day:\n    source: {csv: missing.csv}\n    labeling: {functions: breast-cancr}\n"
        "  to-get:\n    source: {dataset: youtube-spam}\n    labeling: {functions: youtube-spam}\n"
    )
    assert answer(["check"]) == 2
    said = capsys.readouterr()
    first, second = said.err.splitlines()
    assert first.startswith("pipelines.yaml:6: source.csv: ")
    assert "missing.csv" in first
    assert "did you mean breast-cancer?" in second
    assert "pipelines.yaml:9: source.dataset: " in said.out
    assert "The data set youtube-spam is not here" in said.out


def test_check_where_there_is_no_file_counts_the_data_sets_that_are_not_here(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pipelines.yaml").unlink()
    answer(["check"])
    (sentence,) = [line for line in capsys.readouterr().out.splitlines() if " not here" in line]
    names = sentence.partition("(")[2].partition(")")[0].split(", ")
    assert {"youtube-spam", "weather-crowd", "cams"} < set(names)
    assert sentence.startswith(f"{len(names)} data sets ")


def test_check_names_a_store_that_cannot_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "taken").write_text("a file")
    assert answer(["check", "--store", "taken/store"]) == 2
    assert "taken" in capsys.readouterr().err


def test_list_shows_pipelines_and_their_sources(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["list"]) == 0
    assert "night     on request  sample/breast-cancer" in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_error_of_ours() -> None:
    ours = f"{sys.executable} -m assay.flows.cli list --config {ROOT / 'pipelines.yaml'}"
    script = f"{ours} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == ("141", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
@pytest.mark.parametrize("log", [">/dev/full", "--json 2>/dev/full", "| true"])
def test_a_night_outlives_its_log(folder: Path, log: str) -> None:
    ours = f"{sys.executable} -m assay.flows.cli run night --set compute.engine=serial"
    done = subprocess.run(
        ["bash", "-c", f"{ours} {log}; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [run.status for run in Store(str(folder / "artifacts")).runs()] == ["done"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
def test_an_exit_code_is_the_same_where_nobody_can_hear_why(folder: Path) -> None:
    ours = f"{sys.executable} -m assay.flows.cli run nigth --config {folder / 'pipelines.yaml'} 2>/dev/full"
    assert subprocess.run(["bash", "-c", ours], cwd=folder, timeout=120, check=False).returncode == 2
