"""Several stages share the workers: what is submitted is bounded over all, none starves, none is blamed for another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import cloudpickle
import dask
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.engines.calls import Call, Outcome
from assay.infra.engines.dask_engine import DaskEngine
from assay.infra.engines.dask_workers import Turns
from assay.infra.engines.opening import open_engine
from assay.infra.errors import RunError, Stopped
from assay.infra.settings import Compute
from tests.infra import compute_calls as does

cloudpickle.register_pickle_by_value(does)
pytestmark = pytest.mark.xdist_group("compute-at-once")


@pytest.fixture(scope="module")
def engine() -> Iterator[DaskEngine]:
    with open_engine(Compute(workers=2, gpu_workers=0)) as opened:
        yield cast(DaskEngine, opened)


def calls(function: Callable[..., object], count: int, *args: object) -> Iterator[Call]:
    return (Call(n, f"{function.__name__}, partition {n + 1} of {count}", function, (n, *args)) for n in range(count))


def test_a_training_that_comes_second_is_not_behind_a_thousand_partitions(engine: DaskEngine) -> None:
    done: list[Outcome] = []
    enough = threading.Event()

    def work() -> None:
        for outcome in engine.run(calls(does.nap, 120, 0.03)):
            done.append(outcome)
            if len(done) == 10:
                enough.set()

    first = threading.Thread(target=work, daemon=True)
    first.start()
    assert enough.wait(60)
    before = len(done)
    [training] = engine.run(calls(does.nap, 1, 0.03))
    overtaken = len(done) - before
    first.join(60)
    assert training.error is None
    assert len(done) == 120
    assert overtaken <= 25  # not the hundred that were left


def test_calls_of_a_higher_priority_go_before_those_that_were_submitted_earlier(engine: DaskEngine) -> None:
    done: list[Outcome] = []
    begun = threading.Event()

    def work() -> None:
        last = (Call(n, f"nap, partition {n + 1} of 6", does.nap, (n, 1.0), priority=-1) for n in range(6))
        for outcome in engine.run(last):
            done.append(outcome)
            begun.set()

    first = threading.Thread(target=work, daemon=True)
    first.start()
    assert begun.wait(60)
    list(engine.run(calls(does.nap, 1, 0.01)))
    before = len(done)
    first.join(60)
    assert len(done) == 6
    assert before <= 4  # all six were submitted before it


def test_what_is_submitted_is_bounded_over_all_runs_and_folds(engine: DaskEngine) -> None:
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.001):
            most.append(sum(list(engine._turns["CPU"]._held.values())))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    with ThreadPoolExecutor(5) as pool:
        runs = [pool.submit(lambda: sorted(one.index for one in engine.run(calls(does.square, 40)))) for _ in range(4)]
        folded = pool.submit(lambda: engine.fold(calls(does.square, 40), does.add).value)
        assert [run.result(120) for run in runs] == [list(range(40))] * 4
        assert folded.result(120) == sum(n * n for n in range(40))
    over.set()
    looking.join()
    assert 4 <= max(most) <= 3 * engine.slots().cpu
    assert engine._turns["CPU"]._held == {}


def test_who_leaves_early_gives_its_turns_back(engine: DaskEngine) -> None:
    outcomes = engine.run(calls(does.nap, 50, 0.01))
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert engine._turns["CPU"]._held == {}
    assert len(list(engine.run(calls(does.square, 3)))) == 3


def test_a_call_is_not_blamed_for_what_another_stage_does_to_its_worker() -> None:
    with open_engine(Compute(workers=1, gpu_workers=0, retries=1)) as engine, ThreadPoolExecutor(2) as pool:
        killing = pool.submit(lambda: list(engine.run(calls(does.kill_worker_for, 3, 1))))
        innocent = pool.submit(lambda: list(engine.run(calls(does.nap, 12, 0.2))))
        errors = {outcome.index: outcome.error for outcome in killing.result(240)}
        assert [str(outcome.error) for outcome in innocent.result(240) if outcome.error] == []
    assert isinstance(errors[1], RunError)
    assert "kill_worker_for, partition 2 of 3 killed its worker even when it ran alone" in str(errors[1])
    assert (errors[0], errors[2]) == (None, None)


def test_a_worker_is_started_again_however_long_that_takes() -> None:
    at_once = {"distributed.deploy.lost-worker-timeout": "1ms"}  # a machine on which every start takes too long
    with dask.config.set(at_once), open_engine(Compute(workers=1, gpu_workers=0, retries=1)) as engine:
        outcomes: list[Outcome] = []
        working = threading.Thread(
            target=lambda: outcomes.extend(engine.run(calls(does.kill_worker_for, 3, 1))), daemon=True
        )
        working.start()
        working.join(200)
        assert {outcome.index: outcome.error is None for outcome in outcomes} == {0: True, 1: False, 2: True}


def test_an_engine_that_closes_ends_what_waits_for_it() -> None:
    engine = open_engine(Compute(workers=1, gpu_workers=0))
    turns, ended = cast(DaskEngine, engine)._turns["CPU"], []

    def work(seconds: float) -> None:
        try:
            list(engine.run(calls(does.nap, 20, seconds)))
        except Stopped as stopped:
            ended.append(stopped)

    threads = [threading.Thread(target=work, args=(20.0,), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 200
    while len(turns._held) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    engine.close()
    for thread in threads:
        thread.join(10)
    assert len(ended) == 3
    with pytest.raises(Stopped):
        engine.run(calls(does.square, 1))


@given(st.integers(1, 6), st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=80))
def test_no_more_turns_are_out_than_allowed_and_the_neediest_is_next(bound: int, steps: list[tuple[int, bool]]) -> None:
    turns = Turns(bound)
    held = dict.fromkeys(range(4), 0)
    waiting: set[int] = set()

    def granted(who: int) -> Callable[[], None]:
        def grant() -> None:
            waiting.discard(who)
            assert all(held[who] <= held[other] for other in waiting)
            held[who] += 1

        return grant

    for who, asks in steps:
        if asks and who not in waiting:
            waiting.add(who)
            turns.ask(who, granted(who))
        elif not asks and held[who]:
            held[who] -= 1
            turns.give_back(who)
        assert sum(held.values()) <= bound
        assert not waiting or sum(held.values()) == bound
