"""What goes on at once is shown so by Prefect: task runs overlap, and flow runs hang below those they are part of."""

from __future__ import annotations

import threading
import time
from itertools import combinations
from typing import Any

import pytest
from plumbing_workload import Numbers, Piece, Scaled, double, make_numbers

from assay.infra.errors import InputError
from assay.infra.prefect.server import PrefectServer, prefect_api
from assay.infra.stages.branches import branch_outcomes, start_branch, subflow
from assay.infra.stages.partitions import map_partitions, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact

pytestmark = pytest.mark.xdist_group("prefect-at-once")
FAMILIES = 3
MEETING = threading.Barrier(FAMILIES, timeout=60)


@stage(version=1)
def make(rows: int) -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, rows)], into=Numbers)


@stage(version=1, title="scale")
def scale(numbers: Artifact[Numbers], factor: int) -> Artifact[Scaled]:
    if factor < 100:
        MEETING.wait()
    return map_partitions(double, numbers, into=Scaled, factor=factor)


@subflow("child")
def child(numbers: Artifact[Numbers], factor: int) -> Artifact[Scaled]:
    """One stage."""
    return scale(numbers, factor)


@subflow("family")
def family(numbers: Artifact[Numbers], number: int) -> Artifact[Scaled]:
    """A stage that meets those of the other families, and a child of its own at once with a stage."""
    scaled = scale(numbers, number)
    later = start_branch("child", child, scaled, 100 + number)
    scale(scaled, 200 + number)
    made = later.outcome()
    if number == 2 or made is None:
        raise InputError("No such family.")
    return made


@subflow("night")
def night() -> dict[int, Artifact[Scaled]]:
    """Families at once."""
    numbers = make(3)
    return branch_outcomes(
        {number: start_branch(f"family {number}", family, numbers, number) for number in range(FAMILIES)}
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the server knows after a night: flow runs and task runs by id, and what the night made."""
    from assay.infra.engines.opening import open_engine
    from assay.infra.prefect.tasks import Orchestrated
    from assay.infra.settings import Compute
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.infra.terminal import Progress

    folder = tmp_path_factory.mktemp("prefect")
    compute = Compute(engine="serial", at_once=FAMILIES)
    store = Store(str(folder / "store")).open()
    server = PrefectServer(folder / "prefect").launch()
    try:
        run = Run("night", store, lambda: open_engine(compute), Progress(), compute=compute, conductor=Orchestrated())
        with prefect_api(server), run:
            made = night()
            from prefect.client.orchestration import get_client

            with get_client(sync_client=True) as client:
                flows = {flow.id: flow.name for flow in client.read_flows()}
                for _ in range(120):  # the server writes task runs down after the night, a busy machine's a while after
                    flow_runs = {run.id: run for run in client.read_flow_runs(limit=200)}
                    task_runs = {run.id: run for run in client.read_task_runs(limit=200)}
                    above = {run.parent_task_run_id for run in flow_runs.values()} - {None}
                    states = [run.state for run in (*flow_runs.values(), *task_runs.values())]
                    if above <= task_runs.keys() and all(state is not None and state.is_final() for state in states):
                        break
                    time.sleep(0.5)
    finally:
        server.stop()
    return {"made": made, "run": run, "flows": flows, "flow_runs": flow_runs, "task_runs": task_runs}


@pytest.mark.slow
def test_every_stage_is_a_task_run_of_its_own_and_none_is_lost(seen: dict[str, Any]) -> None:
    stages = [one for one in seen["task_runs"].values() if one.name in ("make", "scale")]
    assert len(stages) == 1 + 3 * FAMILIES
    assert {one.state_name for one in stages} == {"Completed"}
    assert len(seen["run"].record.stages) == 1 + 3 * FAMILIES


def test_task_runs_overlap(seen: dict[str, Any]) -> None:
    runs = seen["task_runs"].values()
    names = {flow_run: seen["flows"][one.flow_id] for flow_run, one in seen["flow_runs"].items()}
    times = [
        (one.start_time, one.end_time) for one in runs if one.name == "scale" and names[one.flow_run_id] == "family"
    ]
    first = sorted(times)[:FAMILIES]
    assert all(a[0] < b[1] and b[0] < a[1] for a, b in combinations(first, 2))


def test_every_sub_flow_hangs_below_the_flow_that_it_is_part_of(seen: dict[str, Any]) -> None:
    def parent(flow_run: Any) -> Any:
        return seen["flow_runs"][seen["task_runs"][flow_run.parent_task_run_id].flow_run_id]

    by_name: dict[str, list[Any]] = {}
    for one in seen["flow_runs"].values():
        by_name.setdefault(seen["flows"][one.flow_id], []).append(one)
    assert {name: len(runs) for name, runs in by_name.items()} == {"night": 1, "family": FAMILIES, "child": FAMILIES}
    [top] = by_name["night"]
    assert top.parent_task_run_id is None
    assert {parent(one).id for one in by_name["family"]} == {top.id}
    assert {parent(one).id for one in by_name["child"]} == {one.id for one in by_name["family"]}  # each its own
    places = [seen["task_runs"][one.parent_task_run_id].id for one in (*by_name["family"], *by_name["child"])]
    assert len(set(places)) == 2 * FAMILIES
    scales = {one.flow_run_id for one in seen["task_runs"].values() if one.name == "scale"}
    assert scales == {one.id for one in (*by_name["family"], *by_name["child"])}


def test_a_failed_part_shows_as_failed_and_the_others_as_done(seen: dict[str, Any]) -> None:
    states = [one.state_name for one in seen["flow_runs"].values() if seen["flows"][one.flow_id] == "family"]
    assert sorted(states) == ["Completed"] * (FAMILIES - 1) + ["Failed"]
    assert sorted(seen["made"]) == [0, 1]
    assert seen["run"].record.failures == ["family 2: No such family."]
