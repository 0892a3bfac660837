"""Real worker processes on this machine: results, retries, lost workers, poison, bounds, and what is open to whom."""

import logging
import operator
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import psutil
import pytest

from assay.infra.engines import calls as memory
from assay.infra.engines import dask_start, dask_worker
from assay.infra.engines.calls import Call, Engine
from assay.infra.engines.dask_engine import Window
from assay.infra.engines.opening import SerialEngine, open_engine
from assay.infra.errors import InputError, RunError
from assay.infra.settings import Compute
from tests.infra import compute_calls as does

cloudpickle.register_pickle_by_value(does)  # other packages call their tests `tests` too, and install them


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(Compute(workers=2, retries=2)) as opened:
        yield opened


def calls(function: object, count: int, *args: object) -> Iterator[Call]:
    return (Call(n, f"numbers, partition {n + 1} of {count}", function, (n, *args)) for n in range(count))


def wait_until(condition: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_every_call_comes_back_once_with_its_value(engine: Engine) -> None:
    outcomes = {outcome.index: outcome for outcome in engine.run(calls(does.square, 30))}
    assert [str(outcome.error) for outcome in outcomes.values() if outcome.error] == []
    assert [outcomes[n].value for n in range(30)] == [n * n for n in range(30)]
    assert {outcome.worker for outcome in outcomes.values()} <= {"cpu-0", "cpu-1"}


def test_two_workers_share_the_calls(engine: Engine, tmp_path: Path) -> None:
    outcomes = engine.run(calls(does.mark_then_wait, 2, str(tmp_path)))
    started = threading.Thread(target=lambda: found.extend(outcomes))
    found: list[object] = []
    started.start()
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2)  # both run at once, or the second would never begin
    (tmp_path / "go").touch()
    started.join(60)
    assert len({outcome.value[1] for outcome in found}) == 2


@pytest.mark.parametrize("leaves", [1, 2, 7, 8, 9, 50])
def test_fold_equals_the_serial_fold(engine: Engine, leaves: int) -> None:
    progress: list[int] = []
    folded = engine.fold(calls(does.square, leaves), does.add, done=progress.append)
    serial = SerialEngine(Compute(engine="serial")).fold(calls(does.square, leaves), does.add)
    assert folded.value == serial.value == sum(n * n for n in range(leaves))
    assert folded.failed == serial.failed == ()
    assert progress[-1] == leaves


@pytest.mark.parametrize(("numbers", "most"), [(10, 8), (4_000_000, 2)])
def test_large_values_are_merged_two_at_a_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, numbers: int, most: int
) -> None:
    joined, join = list[int](), Window.join
    monkeypatch.setattr(
        Window, "join", lambda self, merge, futures: joined.append(len(futures)) or join(self, merge, futures)
    )
    folded = engine.fold(calls(does.many_ones, 9, numbers), does.add)
    assert folded.value.tolist()[:3] == [9, 9, 9]
    assert max(joined) == most


def test_fold_of_nothing_is_nothing(engine: Engine) -> None:
    assert engine.fold(iter(()), does.add).value is None


def test_fold_leaves_out_what_failed_and_says_so(engine: Engine) -> None:
    folded = engine.fold(calls(does.fail_for, 12, 5, "five"), does.add)
    assert folded.value == sum(range(12)) - 5
    assert [(outcome.index, str(outcome.error)) for outcome in folded.failed] == [(5, "five")]


def test_a_merge_that_cannot_be_is_raised(engine: Engine) -> None:
    with pytest.raises(TypeError):
        engine.fold(calls(does.slot_and_device, 3), operator.sub)


def test_submitted_but_unfinished_calls_stay_bounded(engine: Engine) -> None:
    pulled = 0

    def counted() -> Iterator[Call]:
        nonlocal pulled
        for call in calls(does.square, 100):
            pulled += 1
            yield call

    ahead = [pulled - done for done, _ in enumerate(engine.run(counted()), start=1)]
    assert pulled == 100
    assert max(ahead) <= 3 * engine.slots().cpu


def test_a_failing_call_is_retried_and_then_reported(engine: Engine, tmp_path: Path) -> None:
    outcomes = {outcome.index: outcome for outcome in engine.run(calls(does.fail_for, 6, 2, "two"))}
    assert isinstance(outcomes[2].error, ValueError)
    assert all(outcomes[n].value == n for n in (0, 1, 3, 4, 5))
    [outcome] = engine.run(calls(does.fail, 1, str(tmp_path)))
    assert (str(outcome.error), len(list(tmp_path.iterdir()))) == ("the disk is elsewhere", 3)


def test_a_passing_trouble_is_survived(engine: Engine, tmp_path: Path) -> None:
    [outcome] = engine.run(calls(does.succeed_at_third_try, 1, str(tmp_path)))
    assert (outcome.value, outcome.error, len(list(tmp_path.iterdir()))) == (0, None, 3)


def test_wrong_input_is_not_tried_again(engine: Engine, tmp_path: Path) -> None:
    [outcome] = engine.run(calls(does.refuse, 1, str(tmp_path)))
    assert isinstance(outcome.error, InputError)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_call_that_exits_does_not_take_its_worker_along(engine: Engine) -> None:
    before = {outcome.value for outcome in engine.run(calls(does.process_id, 8))}
    [outcome] = engine.run(calls(does.leave, 1))
    assert isinstance(outcome.error, InputError)  # code that leaves is the user's to correct
    assert {outcome.value for outcome in engine.run(calls(does.process_id, 8))} <= before


def test_a_big_constant_travels_once(engine: Engine) -> None:
    constant = engine.share(b"x" * 1_000_000)
    assert not isinstance(constant, bytes)
    outcomes = engine.run(calls(does.size_of, 5, constant))
    assert sorted(outcome.value for outcome in outcomes) == [1_000_000 + n for n in range(5)]


def test_a_lost_worker_costs_only_time(engine: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found: list[object] = []
    running = threading.Thread(target=lambda: found.extend(engine.run(calls(does.mark_then_wait, 6, str(tmp_path)))))
    running.start()
    wait_until(lambda: len(list(tmp_path.iterdir())) >= 2)
    victim = int(next(tmp_path.iterdir()).name.split("-")[0])
    os.kill(victim, signal.SIGKILL)
    (tmp_path / "go").touch()
    running.join(120)
    assert sorted(outcome.value[0] for outcome in found) == list(range(6))
    assert victim not in {outcome.value[1] for outcome in found}
    assert capfd.readouterr().err == ""
    [said] = [notice for notice in engine.notices if "was lost" in notice]
    assert re.match(
        r"Worker cpu-[01] was lost \(killed, or out of memory\)\. Done again: numbers, partition \d of 6", said
    )


def test_a_shared_constant_outlives_the_workers_that_hold_it(engine: Engine) -> None:
    constant = engine.share(b"x" * 1_000_000)
    assert len(list(engine.run(calls(does.size_of, 4, constant)))) == 4
    for outcome in {o.value for o in engine.run(calls(does.process_id, 8))}:
        os.kill(outcome, signal.SIGKILL)
    assert sorted(o.value for o in engine.run(calls(does.size_of, 4, constant))) == [1_000_000 + n for n in range(4)]


def test_poison_is_reported_by_name_and_the_others_finish(capfd: pytest.CaptureFixture[str]) -> None:
    with open_engine(Compute(workers=2, gpu_workers=0, retries=0)) as engine:  # its neighbours are suspected as well
        outcomes = {outcome.index: outcome for outcome in engine.run(calls(does.kill_worker_for, 10, 3))}
        folded = engine.fold(calls(does.kill_worker_for, 10, 3), does.add)
    assert isinstance(outcomes[3].error, RunError)
    assert "numbers, partition 4 of 10 killed its worker even when it ran alone (tried 1 times" in str(
        outcomes[3].error
    )
    assert [outcomes[n].value for n in range(10) if n != 3] == [n for n in range(10) if n != 3]
    assert folded.value == sum(range(10)) - 3
    assert [outcome.index for outcome in folded.failed] == [3]
    assert capfd.readouterr().err == ""


def test_leaving_early_cancels_what_was_not_begun(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    outcomes = engine.run(calls(does.mark_then_wait, 1000, str(tmp_path)))
    next(outcomes)
    outcomes.close()
    assert len(list(engine.run(calls(does.square, 4)))) == 4
    assert len(list(tmp_path.iterdir())) < 30


def test_workers_compute_with_one_thread_each(engine: Engine) -> None:
    for outcome in engine.run(calls(does.numeric_threads, 4)):
        assert outcome.error is None
        assert set(outcome.value.values()) == {1}
        assert outcome.value["torch"] == 1


def test_workers_are_not_profiled_meanwhile(engine: Engine) -> None:
    outcomes = engine.run(calls(does.dask_setting, 2, "distributed.worker.profile.enabled"))
    assert [outcome.value for outcome in outcomes] == [False, False]


def test_a_worker_gives_back_what_arrow_let_go_of(engine: Engine) -> None:
    """No later call finds even one table more than the second did, though every one of them had 300 MB twice."""
    held: dict[str, list[int]] = {}
    for outcome in engine.run(calls(does.memory_after, 8, 300)):
        assert outcome.value[0] == "system"
        held.setdefault(outcome.worker, []).append(outcome.value[1])
    assert max(len(each) for each in held.values()) > 2  # what a first call imports is no table that was kept
    assert all(max(each[1:]) < each[1] + 300e6 for each in held.values() if len(each) > 2)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody says how much memory a process has")
def test_memory_is_given_back_once_more_is_free_than_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    trims: list[int] = []
    monkeypatch.setattr(memory, "_least", memory._Least())
    monkeypatch.setattr(memory, "_libc", lambda: SimpleNamespace(malloc_trim=trims.append))
    least = 100 << 20
    for more, trimmed in ((0, 1), (memory.SPARE_BYTES - 1, 1), (memory.SPARE_BYTES, 2), (memory.SPARE_BYTES + 1, 2)):
        monkeypatch.setattr(memory, "_resident_bytes", lambda more=more: least + more)
        memory.give_back_memory()
        assert len(trims) == trimmed


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are processes of their own")
def test_workers_are_forks_of_one_process_and_have_the_environment_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ASSAY_NEW", "ASSAY_OLD", "PYTHONSAFEPATH", "ARROW_DEFAULT_MEMORY_POOL")
    assert dask_start.start_fork_server(Compute(workers=2, gpu="never"))
    monkeypatch.setenv("ASSAY_OLD", "1")
    monkeypatch.setitem(
        dask_start._fork_server_environment, "ASSAY_OLD", "1"
    )  # as if it had been there when the first began
    found = []
    for new, old in (("1", "1"), ("2", None)):
        monkeypatch.setenv("ASSAY_NEW", new)
        if old is None:
            monkeypatch.delenv("ASSAY_OLD")
        with open_engine(Compute(workers=2, gpu="never")) as engine:
            values = [outcome.value for outcome in engine.run(calls(does.origin_and_draw, 8, names))]
        found += values
        assert [value[3] for value in values] == [[new, old, None, "system"]] * 8
    origins, forked, drawn, _ = zip(*found, strict=True)
    assert len(set(origins)) == 1
    assert origins[0] != os.getpid()
    assert all(forked)
    assert len(set(drawn)) == len(drawn)


def test_only_this_machine_can_reach_the_cluster(engine: Engine) -> None:
    workers = {outcome.value for outcome in engine.run(calls(does.process_id, 8))}
    ours = [*psutil.Process().children(recursive=True), psutil.Process()]
    assert workers <= {process.pid for process in ours}
    listening = [c.laddr.ip for p in ours for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert len(listening) >= 5  # a scheduler, two nannies, two workers
    assert set(listening) == {"127.0.0.1"}
    assert engine._pool.connection.client.scheduler.address.startswith("tls://")


def test_a_required_gpu_that_is_not_there_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    with open_engine(Compute(workers=1, gpu="required", gpu_workers=0)) as engine:
        with pytest.raises(InputError, match=r"compute.gpu is required.*assay worker --gpu"):
            engine.run(calls(does.refuse, 1, str(tmp_path)), gpu=True)
        assert [outcome.value for outcome in engine.run(calls(does.square, 1))] == [0]
    assert list(tmp_path.iterdir()) == []


def test_a_preferred_gpu_that_is_not_there_is_said_once() -> None:
    said: list[str] = []
    with open_engine(Compute(workers=1, gpu_workers=0), said.append) as engine:
        for _ in range(2):
            assert [outcome.value[0] for outcome in engine.run(calls(does.slot_and_device, 1), gpu=True)] == ["CPU"]
    assert len(said) == 1
    assert said == engine.notices


@pytest.mark.slow
def test_gpu_work_and_plain_work_keep_to_their_workers() -> None:
    with open_engine(Compute(workers=1, gpu_workers=1)) as engine:
        assert (engine.slots().cpu, engine.slots().gpu) == (1, 1)
        plain, on_gpu = (
            engine.run(calls(does.slot_and_device, 12)),
            engine.run(calls(does.slot_and_device, 12), gpu=True),
        )
        both = [(a, b) for a, b in zip(plain, on_gpu, strict=True)]  # interleaved: each queue waits for the other
        assert {(a.worker, a.value[0]) for a, _ in both} == {("cpu-0", "CPU")}
        assert {(b.worker, b.value[0]) for _, b in both} == {("gpu-0", "GPU")}
        assert {a.value[1] for a, _ in both} == {""}
        os.kill(next(engine.run(calls(does.process_id, 1))).value, signal.SIGKILL)
        assert {o.worker for o in engine.run(calls(does.square, 12))} == {"cpu-0"}  # waits rather than move over


def test_never_means_no_gpu_worker() -> None:
    with open_engine(Compute(workers=1, gpu="never", gpu_workers=2)) as engine:
        assert engine.slots().gpu == 0
        assert [outcome.value[0] for outcome in engine.run(calls(does.slot_and_device, 1), gpu=True)] == ["CPU"]


def test_a_clean_run_says_nothing_of_dask(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), open_engine(Compute(workers=1)) as engine:
        assert [outcome.value for outcome in engine.run(calls(does.square, 3))]
    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.name.startswith(("distributed", "asyncio"))]


@pytest.mark.slow
def test_an_engine_may_start_in_a_thread() -> None:
    opened: list[Engine] = []
    starting = threading.Thread(target=lambda: opened.append(open_engine(Compute(workers=1))))
    starting.start()
    starting.join(60)
    with opened[0] as engine:
        assert [outcome.value for outcome in engine.run(calls(does.square, 3))]


@pytest.mark.slow
def test_workers_that_do_not_start_in_time_are_no_bug_of_assay(monkeypatch: pytest.MonkeyPatch) -> None:
    def given_up(**_: object) -> None:
        raise AssertionError("Status.starting")  # what Dask says of a worker that it gave up

    monkeypatch.setattr(dask_start, "_Workers", given_up)
    with pytest.raises(RunError, match=r"did not start: it is busy.*compute\.workers.*Status\.starting"):
        dask_start.start_here(Compute(workers=1))


def test_a_worker_that_does_not_start_in_time_is_no_bug_of_assay(monkeypatch: pytest.MonkeyPatch) -> None:
    class GivenUp:
        def __init__(self, *_: object, **__: object) -> None:
            self.closed = False

        def __await__(self) -> Generator[None, None, None]:
            raise AssertionError("Status.starting")  # what Dask says of a worker that it gave up
            yield

        async def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(dask_worker, "_Nanny", GivenUp)
    with pytest.raises(RunError, match=r"The worker did not start: this machine is busy.*Status\.starting"):
        dask_worker.run_worker("tls://127.0.0.1:1")
