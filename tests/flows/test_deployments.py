"""Every night: a pipeline runs on its schedule, skips a night that is still running, and ends without a trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from command_line import Command, environment, records, still_there
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.context import FlowRunContext
from prefect.flow_engine import run_flow
from prefect.states import Completed, Pending, Running
from team_project import team_project

from assay.flows.configuration.loading import load_project
from assay.flows.deployments import deploy, deployments_of, nightly, refuse_other_parameters
from assay.flows.nights.after_run import SERVED
from assay.flows.nights.history import read_history
from assay.flows.nights.notify import check_nights, nights_of
from assay.flows.report.records import missed_since_the_last_run
from assay.infra.errors import InputError, RunError
from assay.infra.storage.store import Store

pytestmark = pytest.mark.xdist_group("prefect")

SCHEDULED = """
compute: {engine: serial}
pipelines:
  every-minute:
    description: A team's own patients, as they come
    schedule: "* * * * *"
    source: {csv: patients.csv, id: id, label: label}
    labeling: {functions: rules.py}
  on-request:
    source: {csv: patients.csv, id: id, label: label}
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    folder = team_project(tmp_path / "team")
    (folder / "pipelines.yaml").write_text(SCHEDULED)
    return folder


@pytest.fixture
def serving(team: Path, tmp_path: Path) -> Iterator[Command]:
    served = Command.start(["serve"], folder=team, env=environment(tmp_path / "home"))
    yield served
    served.kill()


def test_a_scheduled_run_happens_and_serving_ends_cleanly(serving: Command, team: Path) -> None:
    store = team / "artifacts"
    serving.until(lambda: any(one["status"] != "running" for one in records(store)), "a scheduled run, ended", 200)
    assert serving.out.splitlines()[0] == "Serving every-minute. Ctrl-C ends it."
    [night, *_] = records(store)
    assert (night["pipeline"], night["status"]) == ("every-minute", "done")
    assert Path(night["report"]).is_file()
    family = serving.offspring()
    serving.interrupt()
    assert serving.wait(60) == 0
    assert still_there(family) == []
    assert "Traceback" not in serving.err
    assert "warning" not in serving.err.lower()


MISTAKEN = "CLASSES = ('ill', 'well')\nfrom nowhere import rules\n"
HELD = """
from time import sleep

from assay.tasks.labeling.rules import column_rule

CLASSES = ("ill", "well")


@column_rule
def held(samples):
    sleep(600)
"""


def test_a_refused_night_is_told_a_killed_one_holds_up_no_later_and_sigterm_ends_one_in_words(
    team: Path, tmp_path: Path
) -> None:
    (team / "rules.py").write_text(MISTAKEN)
    env, store = environment(tmp_path / "home"), team / "artifacts"

    def begun() -> list[dict[str, Any]]:
        return [one for one in records(store) if one["status"] != "refused"]

    first = Command.start(["serve"], folder=team, env=env)
    try:
        first.until(lambda: "rules.py" in first.err, "a refused night", 200)
        assert first.err.startswith('every-minute: pipelines.yaml:8: labeling.functions: "rules.py"')
        (team / "rules.py").write_text(HELD)
        first.until(lambda: any(one["stages"] for one in begun()), "a run at its rules", 200)
    finally:
        first.kill()
    second = Command.start(["serve"], folder=team, env=env)
    try:
        second.until(lambda: any(one["stages"] for one in begun()[1:]), "a run after that", 200)
        family = second.offspring()
        second.process.terminate()
        assert second.wait(60) == 0
    finally:
        second.kill()
    assert still_there(family) == []
    assert [one["status"] for one in begun()] == ["crashed", "broken"]
    assert begun()[1]["failures"] == ["Interrupted (SIGTERM)."]
    assert "Traceback" not in second.err
    assert "Warning" not in second.err


@pytest.mark.parametrize("file", ["rules.py", "pipelines.yaml"])
def test_a_night_that_is_refused_before_it_begins_is_on_record_with_its_reason(
    file: str, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = load_project(team / "pipelines.yaml")
    parameters = {"pipeline": "every-minute", "config": str(project.file), "store": project.store}
    monkeypatch.setenv(SERVED, json.dumps({"every-minute": parameters}))
    (team / file).write_text(MISTAKEN if file == "rules.py" else "pipelines: {every-minute: {sauce: {}}}")
    with pytest.raises(InputError):
        nightly.fn(**parameters)
    (night,) = records(team / "artifacts")
    assert (night["pipeline"], night["status"], night["worst"]) == ("every-minute", "refused", night["failures"][0])
    assert file in night["worst"]
    store = Store(project.store)
    assert night["id"] in store.folder.read("reports/index.html").decode()
    assert read_history(store, "every-minute")["verdict"].to_pylist() == ["refused"]
    check_nights(project, print)
    assert nights_of(store.runs(), missed_since_the_last_run(store))["every-minute"].state == "broken"


def test_only_what_has_a_schedule_is_deployed(team: Path) -> None:
    project = load_project(team / "pipelines.yaml")
    [deployment] = deployments_of(project, project.file)
    assert deployment.name == "every-minute"
    assert [schedule.schedule.cron for schedule in deployment.schedules] == ["* * * * *"]
    assert deployment.entrypoint == "assay.flows.deployments.nightly"


def test_nothing_to_serve_is_said_in_a_sentence(team: Path) -> None:
    (team / "pipelines.yaml").write_text(SCHEDULED.replace('    schedule: "* * * * *"\n', ""))
    project = load_project(team / "pipelines.yaml")
    with pytest.raises(InputError, match=r"No pipeline in pipelines\.yaml has a schedule"):
        deployments_of(project, project.file)


def test_deploying_needs_a_server(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    project = load_project(team / "pipelines.yaml")
    with pytest.raises(InputError, match="set PREFECT_API_URL, or use assay serve"):
        deploy(project, project.file)


def test_a_night_that_still_runs_makes_the_next_one_skip(
    team: Path, on_prefect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project = load_project(team / "pipelines.yaml")
    deploy(project, project.file)
    assert capsys.readouterr().out == "every-minute: * * * * *\n"
    with get_client(sync_client=True) as client:
        deployed = client.read_deployment_by_name("assay/every-minute").id

        def due() -> UUID:
            night = client.create_flow_run_from_deployment(deployed)
            client.set_flow_run_state(night.id, Pending())
            return night.id

        def state(night: UUID) -> StateType | None:
            return client.read_flow_run(night).state_type

        first = due()
        client.set_flow_run_state(first, Running())
        second = due()
        assert (state(first), state(second)) == (StateType.RUNNING, StateType.CANCELLED)
        client.set_flow_run_state(first, Completed())
        assert state(due()) is StateType.PENDING


REGISTERED = {"pipeline": "every-minute", "config": "/team/pipelines.yaml", "store": "/team/artifacts"}
ELSEWHERE = [
    {"config": "/tmp/pipelines.yaml"},
    {"store": "/tmp/store"},
    {"store": None},
    {"seed": 1},
    {"pipeline": "on-request"},
    {"pipeline": "../every-minute"},
]


@pytest.mark.parametrize("changed", ELSEWHERE, ids=str)
def test_a_served_flow_run_changes_no_parameter(changed: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVED, json.dumps({"every-minute": REGISTERED}))
    given = {**REGISTERED, "seed": 0}
    refuse_other_parameters(given)
    with pytest.raises(RunError, match="did not register"):
        refuse_other_parameters(given | changed)


def test_a_deployed_flow_run_changes_no_parameter(team: Path, on_prefect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVED, raising=False)
    project = load_project(team / "pipelines.yaml")
    deploy(project, project.file)
    with get_client(sync_client=True) as client:
        deployed = client.read_deployment_by_name("assay/every-minute")
        for changed in ELSEWHERE[:4]:
            asked = client.create_flow_run_from_deployment(deployed.id, parameters=changed, state=Pending())
            with pytest.raises(RunError, match="did not register"):
                run_flow(nightly, flow_run=client.read_flow_run(asked.id), parameters=deployed.parameters | changed)
            client.set_flow_run_state(asked.id, Completed(), force=True)
        alone = client.create_flow_run(nightly, parameters=deployed.parameters, state=Pending())
        monkeypatch.setenv("PREFECT__FLOW_RUN_ID", str(alone.id))
        with pytest.raises(RunError, match="did not register"):
            run_flow(nightly, flow_run=client.read_flow_run(alone.id), parameters=deployed.parameters)
    assert not (team / "artifacts").exists()


def test_a_flow_of_somebodys_own_that_prefect_started_may_call_it(
    team: Path, on_prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SERVED, raising=False)

    @flow
    def theirs() -> dict[str, object]:
        monkeypatch.setenv("PREFECT__FLOW_RUN_ID", str(FlowRunContext.get().flow_run.id))
        return nightly("every-minute", str(team / "pipelines.yaml"))

    assert theirs()["status"] == "done"
