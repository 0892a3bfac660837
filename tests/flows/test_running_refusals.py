"""Bad input, as a person meets it: exit code 2, one sentence that says what to do, and nothing half-written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Command, environment, records
from team_project import team_project

from assay.flows.cli import answer
from assay.infra.errors import InputError
from assay.infra.prefect import server
from assay.infra.storage.store import Store

pytestmark = pytest.mark.xdist_group("prefect")


class Project:
    """A team's project that is about to be spoilt, and what `assay run` says to it."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capfd = team_project(folder), capfd
        self.store = folder / "artifacts"
        self.edit("pipelines.yaml", "workers: 2, partitions: 4", "engine: serial, partitions: 4")

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in a file of the project."""
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / file).write_text(text.replace(old, new))

    def patients(self, text: str) -> None:
        """Other patients."""
        (self.folder / "patients.csv").write_text(text)

    def from_parquet(self, **columns: object) -> Path:
        """Patients from a Parquet file with these columns beside an id and a label."""
        ids = [f"p{number:03d}" for number in range(300)]
        plain = {"id": ids, "temperature": np.full(300, 37.5), "pulse": np.full(300, 80.0), "cough": np.zeros(300)}
        table = pa.table(plain | {"label": ["ill", "well"] * 150} | columns)
        pq.write_table(table, self.folder / "patients.parquet")
        self.edit("pipelines.yaml", "csv: patients.csv", "parquet: patients.parquet")
        return self.folder / "patients.parquet"

    def refused(self, *arguments: str, code: int = 2) -> str:
        """The one sentence that a run is refused with, or breaks with; no stage that failed left a manifest."""
        self._capfd.readouterr()
        ended = answer(["run", "night", *arguments])
        said = self._capfd.readouterr()
        assert ended == code, said
        lines = said.err.splitlines()
        assert len(lines) == 1, lines
        assert "Traceback" not in said.out
        for record in records(self.store):
            assert record["status"] == {2: "refused", 3: "broken"}[code]
            assert len(record["failures"]) == 1
            assert record["failures"][0].endswith(lines[0])  # after the name of the audit that was refused
        assert list(self.store.glob("leases/*")) == []
        assert list(self.store.rglob("*.tmp-*")) == []
        return lines[0]

    def committed(self) -> set[str]:
        """The stages that have a manifest."""
        return {file.parents[1].name for file in self.store.glob("stages/*/*/manifest.json")}


@pytest.fixture
def project(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "team", capfd)
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to start a Prefect server fails the test."""

    def launch(self: object) -> None:
        raise AssertionError("a Prefect server was started for input that is wrong")

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr(server.PrefectServer, "launch", launch)


def missing(project: Project) -> None:
    (project.folder / "patients.csv").unlink()


def empty(project: Project) -> None:
    project.patients("")


def unknown_key(project: Project) -> None:
    project.edit("pipelines.yaml", "pruning:", "prunning:")


def unknown_name(project: Project) -> None:
    project.edit("pipelines.yaml", "  night:", "  nights:")


def broken_import(project: Project) -> None:
    project.edit("rules.py", "import signal", "import signall")


def unwritable(project: Project) -> None:
    project.store.write_text("a file where the store should be a folder")


def gpu_required(project: Project) -> None:
    project.edit("pipelines.yaml", "engine: serial", "engine: serial, gpu: required, gpu_workers: 0")


def wrong_type(project: Project) -> None:
    project.edit("pipelines.yaml", "datasets: 5", "datasets: five")


def truncated(project: Project) -> None:
    file = project.from_parquet()
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


AT_ONCE: list[tuple[Callable[[Project], None], tuple[str, ...]]] = [
    (missing, ("There is no file patients.csv", "it was looked for at")),
    (empty, ("patients.csv", "is empty: it has no header and no rows")),
    (truncated, ("pipelines.yaml:", "patients.parquet", "write or copy it again")),
    (unknown_key, ("pipelines.yaml:8", "prunning", "pruning")),
    (wrong_type, ("pipelines.yaml:10", "five", "expected a whole number")),
    (unknown_name, ('There is no pipeline "night" in pipelines.yaml. Did you mean nights?',)),
    (broken_import, ("rules.py", "line 3", "signall")),
    (unwritable, ("Cannot read", "artifacts: not a directory", "--store")),
    (gpu_required, ("compute.gpu is required", "no CUDA device", "compute.gpu: preferred")),
]


@pytest.mark.usefixtures("no_server")
@pytest.mark.parametrize(("spoil", "says"), AT_ONCE, ids=[spoil.__name__ for spoil, _ in AT_ONCE])
def test_what_can_be_seen_at_once_is_answered_before_anything_starts(
    project: Project, spoil: Callable[[Project], None], says: tuple[str, ...]
) -> None:
    spoil(project)
    sentence = project.refused()
    for words in says:
        assert words in sentence
    assert project.committed() == set()
    assert not project.store.is_dir()


def test_the_command_itself_answers_without_a_server_or_a_worker(project: Project, tmp_path: Path) -> None:
    missing(project)
    command = Command.start(["run", "night", "--json"], folder=project.folder, env=environment(tmp_path / "home"))
    assert command.wait() == 2
    assert command.answer["status"] == "refused"
    assert command.err.splitlines() == [command.answer["error"]]
    assert list((tmp_path / "home").rglob("*")) == []  # where a server's database would lie
    assert not project.store.exists()


def repeated_id(project: Project) -> None:
    rows = (project.folder / "patients.csv").read_text().splitlines()[1:]
    project.edit("patients.csv", rows[7], f"{rows[7]}\n{rows[7]}")


def wrong_dtype(project: Project) -> None:
    project.edit("pipelines.yaml", "label: label}", "label: label, columns: {pulse: int}}")
    project.edit("patients.csv", ",1,ill\n", "x,1,ill\n")


def not_a_number(project: Project) -> None:
    gaps = np.where(np.arange(300) % 3 == 0, np.nan, 37.5)
    project.from_parquet(temperature=gaps)
    project.edit("pipelines.yaml", "label: label}", "label: label, required: temperature}")


def unknown_class(project: Project) -> None:
    project.edit("pipelines.yaml", "label: label}", "label: label, classes: [ill, well]}")
    project.edit("patients.csv", ",ill\n", ",sick\n")


def raising_rule(project: Project) -> None:
    project.edit("rules.py", 'samples["cough"] == 1', 'samples["coughs"] == 1')


IN_A_STAGE: list[tuple[Callable[[Project], None], tuple[str, ...], set[str]]] = [
    (repeated_id, ("p007", "patients.csv"), set()),
    (wrong_dtype, ("patients.csv row 2", "is not a whole number", "max_rejects"), set()),
    (not_a_number, ("temperature", "max_rejects"), set()),
    (unknown_class, ("sick", "ill, well"), set()),
    (raising_rule, ("coughing raised on", "coughs", "labeling.fault_limit"), {"ingest"}),
]


@pytest.mark.usefixtures("on_prefect")
@pytest.mark.parametrize(("spoil", "says", "stays"), IN_A_STAGE, ids=[spoil.__name__ for spoil, *_ in IN_A_STAGE])
def test_what_only_reading_finds_stops_the_stage_and_keeps_what_was_finished(
    project: Project, spoil: Callable[[Project], None], says: tuple[str, ...], stays: set[str]
) -> None:
    spoil(project)
    sentence = project.refused()
    for words in says:
        assert words in sentence
    assert project.committed() == stays
    assert len(records(project.store)) == 1


@pytest.mark.usefixtures("on_prefect")
def test_a_run_without_a_record_is_not_called_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A store that takes nothing, as one that is mounted read-only, has no run whose history could be written."""

    def refuse(*_: object, **__: object) -> None:
        raise InputError("Cannot write to the store: read-only file system.")

    monkeypatch.setattr(Store, "save_run", refuse)
    monkeypatch.setattr("assay.flows.nights.after_run.append_to_history", refuse)
    assert answer(["run", "night"]) == 2
    said = capfd.readouterr()
    assert "read-only file system" in said.err
    assert "The run is kept" not in said.out + said.err


@pytest.mark.usefixtures("on_prefect")
def test_a_full_disk_is_said_in_a_sentence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.replace

    def full(source: str, target: str) -> None:
        if "apply_labeling_functions" in str(target):
            raise OSError(errno.ENOSPC, "No space left on device")
        really(source, target)

    monkeypatch.setattr(os, "replace", full)
    sentence = project.refused(code=3)  # nothing is wrong with what was asked
    assert sentence == f"Cannot write to {project.store}: no space is left there. Make room and run again."
    assert project.committed() == {"ingest"}


@pytest.mark.usefixtures("on_prefect")
def test_what_ends_a_run_after_its_report_is_what_is_told_of_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_store: Store) -> None:
        raise InputError("Cannot write to the store: no space is left there.")

    monkeypatch.setattr("assay.flows.running.write_index", full)
    sentence = project.refused()
    (record,) = Store(str(project.store)).runs()
    assert (record.status, record.worst) == ("refused", sentence)


@pytest.mark.usefixtures("on_prefect")
def test_a_ragged_row_is_rejected_by_its_line_and_the_rest_goes_on(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = (project.folder / "patients.csv").read_text().splitlines()
    rows[100] += ",one cell too many"
    project.patients("\n".join(rows) + "\n")
    assert answer(["run", "night", "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["status"] == "done"
    [record] = records(project.store)
    [reject] = pq.read_table(record["stages"][0]["outputs"]["rejects"]["uri"]).to_pylist()
    assert reject["file"] == "patients.csv"
    assert reject["row"] == 101
    assert record["stages"][0]["outputs"]["samples"]["rows"] == 399
    assert "399 samples, 1 rejected" in record["stages"][0]["summary"]


@pytest.mark.usefixtures("on_prefect")
def test_a_rule_that_raises_now_and_then_is_counted(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    (project.folder / "rare.py").write_text(
        "from assay.tasks.labeling.rules import sample_rule\n\nCLASSES = ('ill', 'well')\n\n"
        "@sample_rule\ndef warm(x):\n    return 1 // (x.id != 'p007')\n\n"
        "@sample_rule\ndef fast(x):\n    return int(x.pulse < 90)\n\n"
        "@sample_rule\ndef hot(x):\n    return int(x.temperature < 38)\n"
    )
    assert answer(["run", "night", "--set", "labeling.functions=rare.py"]) == 0
    [record] = records(project.store)
    [labelled] = [stage for stage in record["stages"] if stage["stage"] == "apply_labeling_functions"]
    assert labelled["summary"] == "3 rules voted on 400 samples · 1 faults in warm"
