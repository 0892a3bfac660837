"""Where a run's time went: stages by title, and what no stage accounts for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from direct_nights import latest, perform_night

from assay.data.schemas import Classes
from assay.flows.report.records import Step, chains, least_time, most_awaited, seconds_covered, time_rows, times_of
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact


@stage(version=1, title="sleepy")
def sleep_a_little(number: int) -> Artifact[Classes]:
    time.sleep(0.2)
    return write_table(pa.table({"code": [number], "name": ["a"]}, schema=Classes.schema), into=Classes)


def test_stages_are_summed_by_title_and_waiting_is_what_did_not_compute(make_run: Callable[..., Run]) -> None:
    with make_run() as run:
        sleep_a_little(1)
        sleep_a_little(2)
        time.sleep(0.3)
    with make_run() as again:
        sleep_a_little(1)
    times = times_of(run.store, run.record)
    [sleepy] = times.stages
    assert (sleepy.title, sleepy.stages, sleepy.cached) == ("sleepy", 2, 0)
    assert sleepy.wall >= 0.4
    assert sleepy.waited == pytest.approx(sleepy.wall - sleepy.computed)
    assert sleepy.waited > 0.3
    [cached] = times_of(again.store, again.record).stages
    assert (cached.stages, cached.cached, cached.wall) == (0, 1, 0.0)
    rows = time_rows(times)
    assert [row[0] for row in rows] == ["sleepy", "all stages", "no stage under way", "the run"]


def test_what_several_spans_cover_is_counted_once() -> None:
    assert seconds_covered([]) == 0
    assert seconds_covered([(3.0, 4.0), (0.0, 2.0), (0.5, 1.0)]) == 3


@stage(version=1, title="after both")
def sleep_after(first: Artifact[Classes], second: Artifact[Classes], seconds: float) -> Artifact[Classes]:
    busy_until = time.process_time() + seconds
    while time.process_time() < busy_until:
        pass
    return write_table(pa.table({"code": [9], "name": ["z"]}, schema=Classes.schema), into=Classes)


def test_the_least_time_is_the_longest_chain_or_all_work_over_the_slots(make_run: Callable[..., Run]) -> None:
    with make_run() as run:
        first, second = sleep_a_little(1), sleep_a_little(2)
        last = sleep_after(first, second, 0.3)
        sleep_after(last, second, 0.2)
    least = least_time(run.store, run.record)
    assert least is not None
    assert least.chain == ("sleepy", "after both", "after both")[: len(least.chain)]
    assert least.start + 0.5 <= least.seconds <= least.taken
    assert f"{least.seconds:.1f} s" in least.sentence
    assert "sleepy → after both → after both" in least.sentence or least.slots == 1


def test_a_run_that_computed_nothing_has_no_least_time(make_run: Callable[..., Run]) -> None:
    with make_run():
        sleep_a_little(1)
    with make_run() as again:
        sleep_a_little(1)
    assert least_time(again.store, again.record) is None


def test_no_order_of_steps_on_the_slots_is_quicker_than_the_bound() -> None:
    draw = random.Random(0)
    for _ in range(200):
        steps = {
            number: Step(str(number), frozenset(e for e in range(number) if draw.random() < 0.3), seconds, seconds)
            for number, seconds in enumerate(draw.choices((1.0, 2.0, 5.0), k=draw.randint(1, 9)))
        }
        before, _, work = most_awaited(steps, 2)
        ends, free = dict[int, float](), [0.0, 0.0]
        for number, step in steps.items():  # each as soon as what it waits for is done and a slot is free
            slot = free.index(min(free))
            ends[number] = max([free[slot], *(ends[earlier] for earlier in step.after)]) + step.seconds
            free[slot] = ends[number]
        least = max(before + work / 2, *(seconds for seconds, _ in chains(steps).values()), 0)
        assert sum(step.work for step in steps.values()) / 2 <= before + work / 2 <= max(ends.values()) + 1e-9
        assert least <= max(ends.values()) + 1e-9


def test_a_night_takes_as_long_as_from_its_command_on_and_no_stage_ends_after_it(tmp_path: Path) -> None:
    written = "pipelines: {night: {source: {dataset: sample/breast-cancer}, labeling: {functions: breast-cancer}}}"
    (tmp_path / "pipelines.yaml").write_text(written)
    night = perform_night(tmp_path, "night", began=time.perf_counter() - 60)  # workers and Prefect's server started
    store, record = latest(tmp_path, "night")
    least = least_time(store, record)
    assert least is not None
    assert 60 < least.taken <= night.seconds + 0.01  # which are rounded to hundredths
    assert night.seconds == record.seconds
