"""Runs that are hit while several stages are at work: nothing is half written, nobody stays, the next one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Command, digests, environment, records, still_there
from team_project import team_project

from assay.flows.audit import audit
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean
from assay.infra.terminal import Progress

pytestmark = pytest.mark.xdist_group("interrupted-at-once")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return team_project(tmp_path_factory.mktemp("pair"))


@pytest.fixture
def marks(team: Path) -> Iterator[Path]:
    """Files by which a test tells the team's models what to do; see team_project."""
    yield team / "marks"
    for mark in (team / "marks").iterdir():
        mark.unlink()


def start_pair(team: Path, home: Path, store: str) -> Command:
    marks = environment(home, TEAM_MARKS=str(team / "marks"))
    return Command.start(["run", "pair", "--json", "--store", store], folder=team, env=marks)


def both_held(marks: Path) -> bool:
    """Whether both workers are held up, one by each model."""
    return len(list(marks.glob("held-*"))) == 2


@pytest.mark.slow
def test_ctrl_c_ends_all_stages_at_work_with_one_sentence(team: Path, home: Path, marks: Path) -> None:
    store = team / "interrupted"
    (marks / "hold").touch()
    night = start_pair(team, home, store.name)
    night.until(lambda: both_held(marks), "two stages at work")
    family = night.offspring()
    night.interrupt()
    assert night.wait(60) == 130
    assert night.err.splitlines()[-1].startswith("Interrupted. What was finished is kept")
    assert "Traceback" not in night.err
    assert still_there(family) == []
    [record] = records(store)
    assert (record["status"], record["failures"]) == ("broken", ["Interrupted (Ctrl-C)."])
    assert record["missing"] == []
    assert sum(name.startswith("predict_samples/") for name in record["writing"]) == 2
    assert not list((store / "leases").glob("*"))
    assert not list(store.rglob("*.tmp-*"))


@pytest.mark.slow
def test_a_killed_run_is_left_alone_while_it_lives_and_gone_on_with_afterwards(
    team: Path, home: Path, marks: Path
) -> None:
    project = load_project(
        team / "pipelines.yaml", pipeline="pair", overrides=["compute.engine=serial"], store=str(team / "undisturbed")
    )
    progress = Progress()
    opened = Store(project.store).open()
    with Run("pair", opened, engine_of(project, progress), progress, compute=project.compute) as run:
        assert not audit(project.pipeline("pair"), project.folder).failures

    store = team / "killed"
    (marks / "hold").touch()
    first = start_pair(team, home, store.name)
    first.until(lambda: both_held(marks), "two stages at work")
    written = {file for file in store.glob("stages/**/*") if file.is_file()}
    assert clean(Store(str(store)), keep=0).results == ()
    assert written <= set(store.glob("stages/**/*"))
    family = first.offspring()
    first.kill()
    assert still_there(family) == []

    (marks / "hold").unlink()
    second = start_pair(team, home, store.name)
    assert second.wait() == 0, second.err
    killed, resumed = records(store)
    assert killed["status"] == "crashed"
    assert digests(resumed) == digests(json.loads(run.record.to_text()))
    done = {stage["key"] for stage in killed["stages"]}
    assert {stage["key"] for stage in resumed["stages"] if stage["cached"]} >= done
