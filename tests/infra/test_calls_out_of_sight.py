"""Dask is made to lose sight of a call: its scheduler says nothing, or a value is gone and nobody computes it again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import cloudpickle
import pytest

from assay.infra.engines import dask_engine, dask_workers
from assay.infra.engines import dask_engine as dask_window
from assay.infra.engines.calls import Call, Slot
from assay.infra.engines.dask_engine import DaskEngine, Finished, Window
from assay.infra.engines.dask_workers import Crew, Workers, is_of, key_of
from assay.infra.engines.opening import open_engine
from assay.infra.settings import Compute
from tests.infra import compute_calls as does

cloudpickle.register_pickle_by_value(does)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[DaskEngine]:
    with open_engine(Compute(workers=2, gpu_workers=0)) as opened:
        yield cast(DaskEngine, opened)


@pytest.fixture
def engine(two_workers: DaskEngine, monkeypatch: pytest.MonkeyPatch) -> DaskEngine:
    monkeypatch.setattr(dask_workers, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(dask_window, "HEARTBEAT_SECONDS", 0.1)
    two_workers.notices.clear()
    return two_workers


def calls(function: Callable[..., object], count: int, *args: object) -> Iterator[Call]:
    return (Call(n, f"numbers, partition {n + 1} of {count}", function, (n, *args)) for n in range(count))


def unheard(engine: DaskEngine, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The scheduler's next words of values that are there do not reach the client."""
    handlers = engine._pool.connection.client._stream_handlers
    hear, left = handlers["key-in-memory"], [times]

    def deaf(**said: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            hear(**said)

    monkeypatch.setitem(handlers, "key-in-memory", deaf)


def test_what_the_scheduler_never_says_is_asked_for_again(engine: DaskEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    unheard(engine, monkeypatch, 2)
    outcomes = list(engine.run(calls(does.square, 20)))
    assert sorted((one.index, one.value) for one in outcomes) == [(n, n * n) for n in range(20)]
    assert [said for said in engine.notices if "lost sight" in said] == [
        "Dask on this machine lost sight of calls that were under way; they are asked for again"
    ]
    assert engine._turns["CPU"]._held == {}


def test_a_fold_is_folded_again(engine: DaskEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    unheard(engine, monkeypatch, 1)
    assert engine.fold(calls(does.square, 20), does.add).value == sum(n * n for n in range(20))


def test_a_lost_value_that_nobody_computes_is_asked_for_again(
    engine: DaskEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, lost = Window._fetch, list[str]()

    def forgets(window: Window, batch: list[Finished]) -> list[Finished]:
        if batch and not lost:
            lost.append(batch[0].future.key)
            batch[0].future._state.lose()
        return fetch(window, batch)

    monkeypatch.setattr(Window, "_fetch", forgets)
    outcomes = list(engine.run(calls(does.square, 20)))
    assert len(lost) == 1
    assert sorted((one.index, one.value) for one in outcomes) == [(n, n * n) for n in range(20)]


def test_a_long_call_beside_an_idle_worker_is_left_alone(engine: DaskEngine, tmp_path: Path) -> None:
    found: list[object] = []
    running = threading.Thread(target=lambda: found.extend(engine.run(calls(does.mark_then_wait, 1, str(tmp_path)))))
    running.start()
    running.join(3)  # thirty looks
    (tmp_path / "go").touch()
    running.join(60)
    assert len(found) == 1
    assert len([mark for mark in tmp_path.iterdir() if mark.name != "go"]) == 1


A, B, PAUSED = "tcp://a", "tcp://b", "tcp://paused"
US = SimpleNamespace(id="Client-9d3c2a40-c8a5-11f0-8e5a-0242ac110002")


@pytest.mark.parametrize(
    ("status", "busy_with", "slot", "raises"),
    [
        ("pending", {A: [], B: []}, "CPU", True),
        ("lost", {A: ["somebody else's"], B: []}, "CPU", True),
        ("finished", {A: [], B: []}, "CPU", False),  # on its way here
        ("pending", {A: [key_of(US, "waited_for")], B: []}, "CPU", False),
        ("pending", {A: [key_of(US, "leaf_of_a_merge")], B: []}, "CPU", False),
        ("pending", {A: [], B: ["somebody else's"]}, "CPU", True),
        ("pending", {B: ["somebody else's"], PAUSED: []}, "CPU", False),
        ("pending", {A: ["somebody else's"], B: ["somebody else's"]}, "CPU", False),
        ("pending", {A: [], B: []}, "GPU", False),  # nobody is there: that is said elsewhere
    ],
)
def test_sight_is_lost_where_nothing_of_ours_is_computed_and_somebody_could(
    monkeypatch: pytest.MonkeyPatch, status: str, busy_with: dict[str, list[str]], slot: Slot, raises: bool
) -> None:
    monkeypatch.setattr(dask_workers, "LOOK_SECONDS", 0.0)
    workers = SimpleNamespace(busy_with=lambda: busy_with, running=frozenset((A, B)))
    watch = dask_workers.Watch(US, cast(Workers, workers), "somewhere")
    futures, crew = [SimpleNamespace(status=status)], Crew({A: 1, B: 1, PAUSED: 1}, {}, offers_cpu=True)
    with pytest.raises(dask_workers.LostSightError, match="somewhere") if raises else nullcontext():
        for _ in range(dask_workers.LOOKS):
            watch.look(futures, crew, slot)
    if raises:
        watch.heard()
        watch.look(futures, crew, slot)


def test_a_key_tells_whose_it_is_also_of_two_clients_of_one_machine() -> None:
    beside = SimpleNamespace(id="Client-9d3c2a41-c8a5-11f0-8e5a-0242ac110002")
    assert is_of(US, key_of(US, "votes"))
    assert not is_of(US, key_of(beside, "votes"))
    assert not is_of(US, ("somebody's", 1))


def test_a_scheduler_that_does_nothing_for_ever_is_an_error_in_words(
    engine: DaskEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "MOST_LOSSES", 2)
    unheard(engine, monkeypatch, 1000)
    with pytest.raises(dask_workers.LostSightError, match="leaves calls undone although workers are free"):
        list(engine.run(calls(does.square, 3)))
