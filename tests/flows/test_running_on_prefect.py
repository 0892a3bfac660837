"""What Prefect's server knows of a run: its flows and tasks by names a person understands, their states, our words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import records
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import FlowRun, TaskRun
from team_project import team_project

from assay.flows import running
from assay.flows.configuration.loading import Project, load_project
from assay.infra.errors import InputError
from assay.infra.prefect.server import PrefectServer

pytestmark = pytest.mark.xdist_group("prefect")

TITLES = {"ingest", "label", "prune", "labeler", "weak labels", "order", "subject", "predictions", "statistics"}
FAULTY = """
from assay.tasks.labeling.rules import sample_rule

CLASSES = ("ill", "well")

@sample_rule
def heavy(x):
    return int(x.weight > 100)
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = team_project(tmp_path_factory.mktemp("team"))
    (folder / "faulty.py").write_text(FAULTY)
    return folder


def project(team: Path, *overrides: str) -> Project:
    settings = ["compute.engine=serial", *overrides]
    return load_project(team / "pipelines.yaml", pipeline="night", overrides=settings, store=str(team / "store"))


def run(team: Path, *overrides: str) -> str:
    """The name of a run that was done."""
    chosen = project(team, *overrides)
    result = running.run_pipeline(chosen, chosen.pipeline("night"))
    assert result.status == "done"
    return result.run


@pytest.fixture(scope="module")
def first(team: Path, on_prefect: str) -> str:
    return run(team)


@pytest.fixture(scope="module")
def second(team: Path, first: str) -> str:
    return run(team)


@pytest.fixture(scope="module")
def prefect(on_prefect: str) -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as client:
        yield client


def flow_runs(prefect: SyncPrefectClient, run: str) -> dict[str, FlowRun]:
    """Prefect's flow runs that bear the name of a run of ours, by their flow's name."""
    flows = {flow.id: flow.name for flow in prefect.read_flows()}
    return {flows[one.flow_id]: one for one in prefect.read_flow_runs() if one.name == f"night · {run}"}


def task_runs(prefect: SyncPrefectClient, run: str) -> list[TaskRun]:
    """Task runs of the stages of one run of ours, ended; the server learns of them by events, which take a moment."""
    ids = [one.id for one in flow_runs(prefect, run).values()]
    deadline, found = time.monotonic() + 120, list[TaskRun]()
    while time.monotonic() < deadline:
        again = prefect.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=ids)))
        over = bool(again) and all(one.state is not None and one.state.is_final() for one in again)
        if over and len(again) == len(found):  # and no more of them than a moment ago
            break
        found = again
        time.sleep(0.5)
    # Beside them Prefect keeps one that stands for each flow inside a flow.
    return [one for one in found if one.state is None or one.state.state_details.child_flow_run_id is None]


def test_flow_runs_bear_the_pipelines_and_the_runs_name(prefect: SyncPrefectClient, first: str) -> None:
    runs = flow_runs(prefect, first)
    assert set(runs) == {"audit", "curation", "subjects on tables"}
    assert {one.state_name for one in runs.values()} == {"Completed"}
    assert all({"assay", "night"} <= set(one.tags) for one in runs.values())


def test_task_runs_are_called_as_their_stages(prefect: SyncPrefectClient, first: str) -> None:
    tasks = task_runs(prefect, first)
    assert {one.name for one in tasks} >= TITLES
    assert {one.state_name for one in tasks} == {"Completed"}
    # Any tag makes Prefect ask its server for a slot before each stage, which costs more than most stages do.
    assert {tag for one in tasks for tag in one.tags} == set()


def test_what_the_store_holds_is_cached_in_prefects_eyes(prefect: SyncPrefectClient, second: str) -> None:
    states = {one.name: one.state for one in task_runs(prefect, second)}
    assert set(states) >= TITLES
    assert {state.name for state in states.values() if state} == {"Cached"}
    assert states["label"] is not None
    assert "taken from the store" in (states["label"].message or "")


def test_a_server_of_our_own_is_started_only_where_something_is_left_to_compute(
    team: Path, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(server: PrefectServer) -> PrefectServer:
        raise AssertionError("started")

    monkeypatch.setattr(running, "configured_api", lambda: None)
    monkeypatch.setattr(PrefectServer, "launch", launch)
    assert run(team) != second
    for asked in ({"fresh": True}, {"verify": 1}, {"seed": 7}):
        chosen = project(team)
        with pytest.raises(AssertionError, match="started"):
            running.run_pipeline(chosen, chosen.pipeline("night"), **asked)


def test_log_lines_are_in_our_words(prefect: SyncPrefectClient, first: str) -> None:
    wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[one.id for one in flow_runs(prefect, first).values()]))
    deadline, lines = time.monotonic() + 30, list[str]()
    while time.monotonic() < deadline and not any(line.startswith("statistics: ") for line in lines):
        lines = [log.message for log in prefect.read_logs(wanted, limit=200)]
        time.sleep(0.2)
    assert "ingest: 400 samples, 0 rejected" in lines
    assert "label: 4 rules voted on 400 samples" in lines


def test_wrong_input_is_a_failed_task_with_our_sentence(prefect: SyncPrefectClient, team: Path, first: str) -> None:
    with pytest.raises(InputError, match="heavy raised on more than 4 samples") as refused:
        run(team, "labeling.functions=faulty.py")
    [record] = [one for one in records(team / "store") if one["status"] == "refused"]
    assert record["failures"] == [f"curation: {refused.value}"]
    states = {one.name: one.state for one in task_runs(prefect, record["id"])}
    assert states["label"] is not None
    assert states["label"].name == "Failed"
    assert str(refused.value) in (states["label"].message or "")
    runs = flow_runs(prefect, record["id"])
    assert {name: one.state_name for name, one in runs.items()} == {"audit": "Completed", "curation": "Failed"}


def test_a_stage_that_takes_a_while_has_a_bar_in_prefect(
    prefect: SyncPrefectClient, team: Path, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.infra.prefect import tasks as prefect_tasks

    monkeypatch.setattr(prefect_tasks, "_SECONDS_BETWEEN_UPDATES", 0.0)
    run(team, "ordering.alpha=0.1")
    bars = {one.description: one for one in prefect.read_artifacts() if one.type == "progress"}
    assert "intervals" in bars
    assert {one.data for one in bars.values()} == {100.0}
