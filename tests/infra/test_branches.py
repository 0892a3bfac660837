"""What does not need each other goes on at once, and what a run says of it is the same as one after the other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from plumbing_workload import Numbers, Piece, Scaled, double, make_numbers
from shuffled_stages import Shuffled

from assay.infra.engines.calls import Allowance, AtMost, Collected, Stop
from assay.infra.errors import InputError, RunError, Stopped
from assay.infra.stages.branches import Branch, Plan, branch_outcomes, start_branch, subflow
from assay.infra.stages.partitions import collect, map_partitions, map_pieces
from assay.infra.stages.runs import Run, current_run
from assay.infra.stages.stage import say, stage
from assay.infra.storage.artifacts import Artifact

MEETING: dict[str, Callable[[], object]] = {}
"""What bodies of stages do, by name: a callable is no argument that a key could be made of."""


@stage(version=1)
def make(rows: int) -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, rows)], into=Numbers)


@stage(version=1)
def scale(numbers: Artifact[Numbers], factor: int, meeting: str = "") -> Artifact[Scaled]:
    if meeting:
        MEETING[meeting]()
    say(f"times {factor}")
    return map_partitions(double, numbers, into=Scaled, factor=factor)


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@subflow("family")
def family(name: str, numbers: Artifact[Numbers], number: int) -> Artifact[Scaled]:
    """One after the other, then two at once."""
    scaled = scale(numbers, 10 * number)
    if number == 2:
        raise InputError(f"{name} has no children.")
    current_run().notice(f"{name} is well.")
    children = {at: start_branch(f"{name} {at}", scale, scaled, 10 * number + at) for at in (1, 2)}
    return branch_outcomes(children)[2]


@subflow("night")
def night() -> dict[str, Artifact[Scaled]]:
    """Four families, what stands on them, and a last stage."""
    numbers = make(6)
    families = {name: start_branch(name, family, name, numbers, at) for at, name in enumerate(["a", "b", "c", "d"])}
    pairs = {
        f"{one}{other}": start_branch(f"pair {one}{other}", scale, families[one], len(one + other))
        for one, other in ("ab", "bc", "cd", "da")
    }
    return branch_outcomes({**families, **pairs})


def told(run: Run) -> dict[str, Any]:
    """What a record says, but for times, names and what was found in the store."""
    record = json.loads(run.record.to_text())
    stages = [{name: stage[name] for name in ("stage", "key", "summary", "outputs")} for stage in record["stages"]]
    kept = {name: record[name] for name in ("failures", "missing", "notices", "writing")}
    for stage_told in stages:
        for output in stage_told["outputs"].values():
            output["uri"] = output["uri"].split("/stages/")[-1]
    return {**kept, "stages": stages, "errors": [str(error) for error in run.failures]}


def perform(make_run: Callable[..., Run], store: str, conductor: object = None, **compute: object) -> tuple[Any, Any]:
    with make_run(store=store, **compute) as run:
        if conductor is not None:
            run.conductor = conductor
        made = {name: artifact.digest for name, artifact in night().items()}
    return made, told(run)


def test_the_record_is_the_same_one_after_the_other_at_once_and_in_a_shuffled_order(make_run, tmp_path):
    expected = perform(make_run, str(tmp_path / "one"), at_once=1)
    made, record = expected
    assert list(made) == ["a", "b", "d", "ab", "bc", "da"]
    assert record["failures"] == ["c: c has no children."]
    assert record["missing"] == ["pair cd: not begun, since c failed"]
    assert record["notices"] == ["a is well.", "b is well.", "d is well."]
    assert [one["summary"] for one in record["stages"]][1:5] == ["times 0", "times 1", "times 2", "times 10"]
    assert perform(make_run, str(tmp_path / "four"), at_once=4) == expected
    for seed in range(5):
        assert perform(make_run, str(tmp_path / f"shuffled {seed}"), Shuffled(seed), at_once=4) == expected


def test_stages_of_two_branches_meet(make_run):
    MEETING["two"] = threading.Barrier(2, timeout=20).wait
    with make_run(at_once=2):
        numbers = make(3)
        branches = [start_branch(f"branch {factor}", scale, numbers, factor, "two") for factor in (2, 3)]
        assert [collect(branch.outcome(), ["x"])["x"].to_pylist() for branch in branches] == [[0, 2, 4], [0, 3, 6]]


def test_no_more_stages_compute_than_the_settings_say_and_waiting_for_another_branch_takes_no_place(make_run):
    inside, most = [], []

    def meet() -> None:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()

    MEETING["count"] = meet
    with make_run(at_once=2) as run:
        branch = start_branch("first", make, 3)
        for factor in range(2, 10):  # each waits for the one before
            branch = start_branch(f"after {factor}", scale, branch, factor, "count")
        many = [start_branch(f"branch {factor}", scale, make(4), factor, "count") for factor in range(20, 30)]
        assert branch.outcome() is not None
        assert all(one.outcome() for one in many)
    assert max(most) == 2
    assert run.record.failures == []


def test_one_after_the_other_no_thread_is_started(make_run):
    threads = []
    MEETING["who"] = lambda: threads.append(threading.current_thread())
    with make_run() as run:  # the serial engine
        start_branch("branch", scale, make(3), 2, "who")
        assert threads == [threading.main_thread()]
        run.compute = run.compute.model_copy(update={"at_once": 4})
        run.conductor = Plan()
        assert not run.goes_on_at_once


def test_a_bug_in_a_branch_is_a_failure_of_the_run_and_others_go_on(make_run):
    with make_run(at_once=4) as run:
        broken = start_branch("broken", lambda: 1 // 0)
        fine = start_branch("fine", scale, make(3), 2)
        unborn = start_branch("unborn", scale, broken, 2)
        grandchild = start_branch("grandchild", scale, unborn, 2)
        assert broken.outcome() is unborn.outcome() is grandchild.outcome() is None
        assert fine.outcome() is not None
    [error] = run.failures
    assert isinstance(error, RunError)
    assert run.record.failures == [
        "broken broke: ZeroDivisionError: integer division or modulo by zero. Run again with --debug to see where."
    ]
    assert run.record.missing == [
        "unborn: not begun, since broken failed",
        "grandchild: not begun, since broken failed",
    ]


@pytest.mark.parametrize("at_once", [1, 4])
def test_of_a_mapping_of_branches_those_that_made_something_are_handed_in(make_run, at_once):
    def fails() -> int:
        raise InputError("This one cannot be had.")

    with make_run(at_once=at_once) as run:
        parts = {"one": start_branch("one", lambda: 1), "none": start_branch("none", fails), "plain": 3}
        assert start_branch("sum", lambda given: dict(given), parts).outcome() == {"one": 1, "plain": 3}
        untouched = {"one": 1}
        assert start_branch("as it is", lambda given: given, untouched).outcome() is untouched
        assert run.record.missing == []


def test_two_branches_that_need_the_same_compute_it_once(make_run):
    bodies = []
    MEETING["slow"] = lambda: (bodies.append(1), time.sleep(0.1))
    with make_run(at_once=4) as run:
        numbers = make(3)
        for branch in [start_branch(f"branch {at}", scale, numbers, 2, "slow") for at in range(4)]:
            branch.outcome()
    assert len(bodies) == 1
    assert sorted(stage.cached for stage in run.record.stages) == [False, False, True, True, True]


def test_a_part_of_a_flow_is_over_when_its_branches_are(make_run):
    ended = []

    @subflow("part")
    def part() -> None:
        """Starts a branch and does not wait for it."""
        start_branch(
            "slow", lambda: (time.sleep(0.1), start_branch("slower", lambda: (time.sleep(0.1), ended.append(1))))
        )

    with make_run(at_once=2):
        part()
        assert ended == [1]


def test_a_failed_part_of_a_flow_lets_its_branches_finish(make_run):
    ended = []

    @subflow("part")
    def part() -> None:
        """Fails while a branch is under way."""
        start_branch("slow", lambda: (time.sleep(0.1), ended.append(1)))
        raise InputError("no")

    with make_run(at_once=2):
        with pytest.raises(InputError, match="no"):
            part()
        assert ended == [1]


def test_an_interrupted_run_stops_its_branches_and_says_nothing_of_them(make_run):
    branches: list[Branch[Any]] = []
    begun = threading.Event()

    @subflow("part")
    def part() -> None:
        """Is interrupted while a branch computes, one waits for it, and one waits for room."""
        MEETING["hang"] = lambda: (begun.set(), [run.stop.check() for _ in iter(lambda: time.sleep(0.01), 0)])
        numbers = make(3)
        branches.append(start_branch("hangs", scale, numbers, 2, "hang"))
        branches.append(start_branch("waits", scale, branches[0], 3))
        assert begun.wait(20)
        raise KeyboardInterrupt

    run = make_run(at_once=2)
    with pytest.raises(KeyboardInterrupt), run:
        part()
    assert not any(thread.is_alive() for thread in run.threads)
    assert (run.record.status, run.record.failures) == ("broken", ["Interrupted (Ctrl-C)."])
    assert run.record.missing == []
    assert [stage.stage for stage in run.record.stages] == ["make"]
    assert json.loads(run.store.record(run.id).to_text()) == json.loads(run.record.to_text())
    with pytest.raises(Stopped):
        branches[1].outcome()


def test_a_stopped_run_begins_nothing(make_run):
    with make_run(at_once=2) as run:
        run.stop.set()
        with pytest.raises(Stopped):
            make(3)
        with pytest.raises(Stopped):
            start_branch("branch", make, 3)


def test_columns_are_collected_in_turn_and_the_eldest_never_waits():
    budget = Collected(Stop(), budget=10)
    budget.take("first", 6)
    waiting = threading.Thread(target=budget.take, args=("second", 6), daemon=True)
    waiting.start()
    budget.take("first", 20)
    time.sleep(0.05)
    assert waiting.is_alive()
    budget.release("first")
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_stage_gives_back_what_it_collected(make_run):
    @stage(version=1)
    def copy(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        collect(numbers, ["x"])
        assert sum(run.collected._held.values()) == 3 * 8
        return map_partitions(double, numbers, into=Scaled, factor=1)

    with make_run(at_once=2) as run:
        copy(make(3))
        assert run.collected._held == {}


def test_who_waits_for_room_gives_up_when_the_run_is_over():
    stop = Stop()
    bodies, one_each = AtMost(lambda: 1, stop), AtMost(lambda: 1, stop)
    ended = []

    def enter(bound: Any, *key: str) -> None:
        try:
            with bound(*key):
                pass
        except Stopped:
            ended.append(bound)

    with bodies(), one_each("key"):
        waiting = [threading.Thread(target=enter, args=args, daemon=True) for args in ((bodies,), (one_each, "key"))]
        for thread in waiting:
            thread.start()
        time.sleep(0.05)
        stop.set()
        for thread in waiting:
            thread.join(10)
    assert len(ended) == 2


def test_of_those_that_wait_for_room_the_heaviest_is_next_and_of_equal_ones_the_first():
    bodies, entered = AtMost(lambda: 1, Stop()), []

    def enter(name: str, weight: tuple[float, ...]) -> None:
        with bodies(weight=weight):
            entered.append(name)

    waiting = []
    with bodies(weight=(False, 0.0)):
        for name, weight in (
            ("short", (False, 5.0)),
            ("long", (False, 9.0)),
            ("training", (True, 1.0)),
            ("late", (False, 9.0)),
        ):
            waiting.append(threading.Thread(target=enter, args=(name, weight), daemon=True))
            waiting[-1].start()
            wait_until(lambda: sum(map(len, bodies._waiting.values())) == len(waiting))
    for thread in waiting:
        thread.join(10)
    assert entered == ["training", "long", "late", "short"]


@pytest.mark.parametrize(("budget", "first"), [(None, "times 9"), (1000.0, "times 2")])
def test_the_longer_of_two_stages_begins_first_and_within_a_budget_the_one_that_came_first(make_run, budget, first):
    order: list[str] = []
    with make_run(at_once=2) as run:
        run.allowance = Allowance(budget)
        short, long = make(3), make(30)
        run.bodies = AtMost(lambda: 1, run.stop)
        with run.bodies():
            branches = []
            for numbers, factor in ((short, 2), (long, 9)):
                MEETING[f"{factor}"] = lambda factor=factor: order.append(f"times {factor}")
                branches.append(start_branch(f"branch {factor}", scale, numbers, factor, f"{factor}"))
                wait_until(lambda: sum(map(len, run.bodies._waiting.values())) == len(branches))
        for branch in branches:
            branch.outcome()
    assert order[0] == first
    assert len(order) == 2


def test_of_those_that_come_together_the_heaviest_enters_first_though_there_was_room_for_another():
    bodies, entered = AtMost(lambda: 1, Stop()), []

    def enter(weight: float) -> None:
        with bodies(weight=(weight,), delay=0.3):
            entered.append(weight)

    together = [threading.Thread(target=enter, args=(weight,), daemon=True) for weight in (1.0, 3.0, 2.0)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join(10)
    assert entered == [3.0, 2.0, 1.0]
