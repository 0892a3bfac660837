"""Somebody else's scheduler: joined by address, worked for by `assay worker`, lost on the way; and cluster classes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest
from distributed import Client

from assay.infra.engines import dask_start
from assay.infra.engines.calls import Call
from assay.infra.engines.dask_engine import DaskEngine
from assay.infra.engines.dask_start import connect
from assay.infra.engines.dask_worker import run_worker
from assay.infra.engines.dask_workers import Outstanding
from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError, RunError
from assay.infra.settings import Compute
from assay.infra.storage.keys import refuse_mismatch, versions_here
from tests.infra import compute_calls as does

cloudpickle.register_pickle_by_value(does)  # other packages call their tests `tests` too, and install them

SCHEDULER = """
import asyncio, sys
from distributed import Scheduler
async def serve():
    where = {"host": "127.0.0.1", "port": int(sys.argv[1]), "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    async with Scheduler(**where) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(serve())
"""
WORKER = """
import sys
from assay.infra.engines.dask_worker import run_worker
if __name__ == "__main__":
    run_worker(sys.argv[1], name=sys.argv[2], ready=lambda text: print(text, flush=True))
"""


class Process:
    """A program of ours, with the first line that it printed."""

    def __init__(self, program: str, *args: str) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", program, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.popen.stdout is not None
        self.said = self.popen.stdout.readline().strip()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(30)


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def begin(program: str, *args: str) -> Process:
        started.append(Process(program, *args))
        return started[-1]

    yield begin
    for process in reversed(started):
        if process.popen.poll() is None:
            process.stop(signal.SIGKILL)


def calls(function: object, count: int, *args: object) -> list[Call]:
    return [Call(n, f"partition {n + 1} of {count}", function, (n, *args)) for n in range(count)]


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_worker_joins_works_and_leaves(start: Callable[..., Process]) -> None:
    address = start(SCHEDULER, "0").said
    worker = start(WORKER, address, "annex")
    assert worker.said.endswith(f"works for {address} and offers CPU=1")
    with open_engine(Compute(engine=address)) as engine:
        assert (engine.slots().cpu, engine.slots().gpu) == (1, 0)
        outcomes = sorted(engine.run(calls(does.square, 5)), key=lambda outcome: outcome.index)
        assert [(outcome.value, outcome.worker) for outcome in outcomes] == [(n * n, "annex") for n in range(5)]
    strict = Compute(engine=address, gpu="required")
    with open_engine(strict) as engine, pytest.raises(InputError, match=f"assay worker --gpu {address}"):
        engine.run([], gpu=True)
    assert worker.stop() == 0


def test_work_waits_for_a_worker_and_says_so_in_the_end(
    start: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Compute(engine=start(SCHEDULER, "0").said)
    said: list[str] = []
    with DaskEngine(connect(settings), settings, said.append, patience=0.5) as engine:
        assert engine.slots().cpu == 0
        with pytest.raises(RunError, match=r"no worker of tcp://.* came within"):
            list(engine.run(calls(does.square, 2)))
    assert any(text.startswith("No worker of tcp://") for text in said)


def test_work_begins_when_the_first_worker_comes(start: Callable[..., Process]) -> None:
    address = start(SCHEDULER, "0").said
    found: list[object] = []
    with open_engine(Compute(engine=address)) as engine:
        running = threading.Thread(target=lambda: found.extend(engine.run(calls(does.square, 9))))
        running.start()
        start(WORKER, address, "late")
        running.join(60)
    assert sorted(outcome.value for outcome in found) == [n * n for n in range(9)]


def test_a_scheduler_that_stays_away_is_an_error_in_words(
    start: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_start, "CONNECT_SECONDS", 1)
    scheduler = start(SCHEDULER, "0")
    start(WORKER, scheduler.said, "annex")
    errors: list[RunError] = []
    settings = Compute(engine=scheduler.said)

    def join() -> dask_start.Connection:
        return connect(settings)

    with DaskEngine(join(), settings, patience=1, connect_again=join) as engine:

        def run() -> None:
            try:
                list(engine.run(calls(does.mark_then_wait, 4, str(tmp_path))))
            except RunError as error:
                errors.append(error)

        running = threading.Thread(target=run)
        running.start()
        wait_until(lambda: any(tmp_path.iterdir()))
        scheduler.stop(signal.SIGKILL)
        running.join(60)
    assert "the Dask scheduler of tcp://127.0.0.1" in str(errors[0])
    assert "went away" in str(errors[0])


@pytest.mark.slow
def test_a_scheduler_that_comes_back_finds_its_worker_and_its_work_again(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    scheduler = start(SCHEDULER, "0")
    address = scheduler.said
    worker = start(WORKER, address, "annex")
    said: list[str] = []
    found: list[object] = []
    with open_engine(Compute(engine=address), said.append) as engine:
        constant = engine.share(b"x" * 100_000)

        def work() -> None:
            found.append(sorted(outcome.value for outcome in engine.run(calls(does.mark_then_wait, 3, str(tmp_path)))))
            found.append(engine.fold(calls(does.size_of, 20, constant), does.add).value)

        running = threading.Thread(target=work)
        running.start()
        wait_until(lambda: any(tmp_path.iterdir()))
        scheduler.stop(signal.SIGKILL)
        wait_until(lambda: any("went away; waiting up to" in text for text in said))
        (tmp_path / "go").touch()
        start(SCHEDULER, address.rsplit(":", 1)[1])
        running.join(90)
        assert engine.slots().cpu == 1
    values, folded = found
    assert [number for number, _ in values] == [0, 1, 2]
    assert folded == sum(range(20)) + 20 * 100_000
    assert worker.stop() == 0


def test_a_worker_that_is_sent_away_ends(start: Callable[..., Process]) -> None:
    address = start(SCHEDULER, "0").said
    worker = start(WORKER, address, "annex")
    with Client(address, set_as_default=False) as client:
        client.retire_workers(names=["annex"], close_workers=True, remove=True)
        assert worker.popen.wait(30) == 0


def test_what_was_drawn_and_is_not_over_is_asked_for_again_and_nothing_else() -> None:
    outstanding = Outstanding(calls(does.square, 5))
    drawn = iter(outstanding)
    for _ in range(3):
        next(drawn)
    outstanding.over(1)
    assert [call.index for call in outstanding] == [0, 2, 3, 4]


def test_nobody_at_the_address_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_start, "CONNECT_SECONDS", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(RunError, match=r"no Dask scheduler answers at tcp://127.0.0.1:"):
        open_engine(Compute(engine=address))


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:8786", "ws://scheduler:8786", "tcp://0.0.0.0:8786"])
def test_nobody_beyond_this_machine_is_joined_without_tls(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(dask_start, "Client", None)  # nobody is even asked
    with pytest.raises(InputError, match=r"compute\.engine: .* is not encrypted, and whoever reaches it can run code"):
        open_engine(Compute(engine=address))


def test_a_cluster_that_listens_beyond_this_machine_without_tls_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Open:
        scheduler_address = "tcp://192.0.2.1:8786"

        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(dask_start, "_start_class", lambda _: Open())
    with pytest.raises(InputError, match="is not encrypted"):
        open_engine(Compute(engine="some.Cluster"))
    assert len(closed) == 1


def test_what_is_started_here_listens_on_loopback_behind_certificates() -> None:
    connection = connect(Compute(engine="local", workers=1))
    try:
        scheduler = connection.client.scheduler_info()
        addresses = [scheduler["address"], *scheduler["workers"]]
        assert len(addresses) == 2
        assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    finally:
        connection.client.close()
        connection.cluster.close()


def test_an_address_that_cannot_be_used_is_wrong_input() -> None:
    with pytest.raises(InputError, match=r"compute.engine: smoke://signals:1 cannot be connected to"):
        open_engine(Compute(engine="smoke://signals:1"))


def test_a_cluster_class_is_started_with_its_options() -> None:
    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with open_engine(
        Compute(engine="distributed.LocalCluster", options=options | {"n_workers": 0}, workers=1)
    ) as engine:
        assert engine.slots().cpu == 1
        assert [outcome.value for outcome in engine.run(calls(does.square, 1))] == [0]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"engine": "distributed.NoSuchCluster"}, "there is no Dask cluster class distributed.NoSuchCluster"),
        ({"engine": "subprocess.run", "options": {"args": ["touch", "/nowhere"]}}, "subprocess.run is no Dask cluster"),
        ({"engine": "os.abort"}, "os.abort is no Dask cluster class"),
        ({"engine": "subprocess.Popen", "options": {"args": ["false"]}}, "subprocess.Popen is no Dask cluster class"),
        ({"engine": "no_such_package.Cluster"}, "there is no Dask cluster class no_such_package.Cluster"),
        ({"engine": "distributed.SpecCluster", "options": {"wokers": 1}}, "compute.options do not fit"),
    ],
)
def test_a_cluster_that_cannot_be_is_wrong_input(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        open_engine(Compute(**settings))


def test_other_versions_are_refused_by_name() -> None:
    refuse_mismatch(versions_here(), dict(versions_here()), "annex")
    with pytest.raises(RunError, match=r"worker annex has numpy 1.0 \(here \d.*install the same versions"):
        refuse_mismatch(versions_here(), {**versions_here(), "numpy": "1.0"}, "annex")


def test_a_gpu_worker_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(InputError, match="no CUDA device"):
        run_worker("tcp://127.0.0.1:1", gpu=True)
