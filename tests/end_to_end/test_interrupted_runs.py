"""Runs that are hit: a worker killed, the whole run killed, Ctrl-C. What was finished stays, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Command, digests, environment, records, stages, still_there
from team_project import team_project

from assay.flows.audit import audit
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

pytestmark = pytest.mark.xdist_group("interrupted-runs")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return team_project(tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def undisturbed(team: Path) -> dict[str, str]:
    """The digests of a run in one process, one partition after the other, that nothing happens to."""
    project = load_project(
        team / "pipelines.yaml", pipeline="night", overrides=["compute.engine=serial"], store=str(team / "undisturbed")
    )
    progress = Progress()
    with Run(
        "night", Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute
    ) as run:
        assert audit(project.pipeline("night"), project.folder).failures == ()
        run.record.status = "done"
    [record] = records(team / "undisturbed")
    return digests(record)


@pytest.fixture
def marks(team: Path) -> Iterator[Path]:
    """Files by which a test tells the team's rules and model what to do; see team_project."""
    yield team / "marks"
    for mark in (team / "marks").iterdir():
        mark.unlink()


def run_night(team: Path, home: Path, store: str) -> Command:
    marks = environment(home, TEAM_MARKS=str(team / "marks"))
    return Command.start(["run", "night", "--json", "--store", store], folder=team, env=marks)


def finished(store: Path, stage: str) -> list[Path]:
    """The partitions of an uncommitted stage that are done."""
    return list(store.glob(f"stages/{stage}/*/marks/*/*.json"))


@pytest.mark.slow
def test_a_worker_killed_during_labelling_changes_no_digest(
    team: Path, home: Path, marks: Path, undisturbed: dict[str, str]
) -> None:
    (marks / "kill").touch()
    night = run_night(team, home, "worker-killed")
    assert night.wait() == 0, night.err
    assert (marks / "killed").exists()
    assert "Traceback" not in night.err
    [record] = records(team / "worker-killed")
    assert record["status"] == "done"
    assert digests(record) == undisturbed
    [lost] = [notice for notice in record["notices"] if "was lost" in notice]
    assert lost.startswith("Worker cpu-")
    assert "Done again: " in lost
    assert night.err.count(lost) == 1


def test_a_run_that_was_killed_goes_on_where_it_was(
    team: Path, home: Path, marks: Path, undisturbed: dict[str, str]
) -> None:
    store = team / "run-killed"
    (marks / "hold").touch()
    first = run_night(team, home, store.name)
    first.until(
        lambda: (marks / "held").exists() and len(finished(store, "predict_samples")) == 3,
        "three of four partitions predicted",
    )
    family = first.offspring()
    names = [" ".join(one.cmdline()) for one in family]
    assert any("uvicorn" in name or "prefect" in name for name in names), names
    first.kill()
    assert still_there(family) == []

    (marks / "hold").unlink()
    second = run_night(team, home, store.name)
    assert second.wait() == 0, second.err
    killed, resumed = records(store)
    assert killed["status"] == "crashed"
    assert "without a word" in killed["failures"][0]
    assert digests(resumed) == undisturbed
    done = stages(resumed)
    committed = list(stages(killed))
    assert [name.split()[1] for name in committed][:2] == ["ingest", "apply_labeling_functions"]
    assert [done[name]["cached"] for name in committed] == [True] * len(committed)
    [predicted] = [stage for stage in resumed["stages"] if stage["stage"] == "predict_samples"]
    assert (predicted["partitions_reused"], predicted["partitions_computed"]) == (3, 1)


@pytest.mark.slow
def test_an_interrupted_run_says_so_in_a_sentence_and_leaves_nobody_behind(team: Path, home: Path, marks: Path) -> None:
    store = team / "interrupted"
    (marks / "hold").touch()
    night = run_night(team, home, store.name)
    night.until(lambda: (marks / "held").exists(), "a partition at work")
    family = night.offspring()
    night.interrupt()
    assert night.wait(60) == 130
    assert night.err.splitlines()[-1].startswith("Interrupted. What was finished is kept")
    assert "Traceback" not in night.err
    assert still_there(family) == []
    [record] = records(store)
    assert (record["status"], record["failures"]) == ("broken", ["Interrupted (Ctrl-C)."])
    assert not list((store / "leases").glob("*"))
