"""What one partition costs everybody but its function: tiny ones through Dask, and calls that do nothing at all.

    python benchmarks/tiny_partitions.py CALLS PARTITIONS [WORKERS]

So many calls go through the engine's window, and a fifth of them once more to be folded; then partitions of ten samples
go through three steps of stages, which write files, leave marks and end in manifests.

Scheduler and workers are processes of their own, as on a cluster, so that each one's CPU and memory can be told apart.
Prints one JSON object; `many_partitions.py` runs it and says what follows.
"""

from __future__ import annotations

import inspect
import json
import operator
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from assay.data.schemas import Classes, Samples
from assay.infra.engines.calls import Call
from assay.infra.engines.opening import open_engine
from assay.infra.environment import prepare_environment
from assay.infra.settings import Compute
from assay.infra.stages.partitions import Reuse, map_partitions, map_pieces, reduce_partitions
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress, ShownStage

ROWS = 10
FOLDED = 5  # a fifth of the calls is folded: the scheduler holds those until the fold ends
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Tiny:
    """A partition, by its number."""

    number: int


def made(piece: Tiny) -> pa.Table:
    """Ten samples."""
    names = [f"s{piece.number * ROWS + row:09d}" for row in range(ROWS)]
    return pa.table({"id": names, "gold": pa.array([row % 2 for row in range(ROWS)], pa.int16())})


def followed(samples: pa.Table) -> pa.Table:
    """The samples as they are."""
    return samples


def counted(samples: pa.Table) -> dict[str, object]:
    """How many samples of each class a partition has."""
    return {"gold": np.bincount(samples["gold"].to_numpy(), minlength=2)}


@stage(version=1, title="pieces")
def make(partitions: int) -> Artifact[Samples]:
    """The first step of a chain: partitions from outside the store."""
    samples: Artifact[Samples] = map_pieces(made, [Tiny(number) for number in range(partitions)], into=Samples)
    return samples


@stage(version=1, title="partitions")
def follow(samples: Artifact[Samples]) -> Artifact[Samples]:
    """A step in the middle: a partition in, a partition out, looked up in earlier results first."""
    same: Artifact[Samples] = map_partitions(followed, samples, into=Samples, reuse=Reuse())
    return same


@stage(version=1, title="counts")
def count(samples: Artifact[Samples]) -> Artifact[Classes]:
    """A reduction, whose counts are kept for later results."""
    found = reduce_partitions(counted, samples, reuse=Reuse())["gold"]
    names = [f"{each} samples" for each in found]
    return write_table(pa.table({"code": [0, 1], "name": names}, schema=Classes.schema), into=Classes)


class Watched(Progress):
    """Notes what the flow and the scheduler hold at every tenth of a stage."""

    def __init__(self, scheduler: psutil.Process) -> None:
        self._flow, self._scheduler = psutil.Process(), scheduler
        self.held: dict[str, list[tuple[int, int, int]]] = {}

    def advance(self, stage: ShownStage, done: int, total: int) -> None:
        """Note it, where a tenth is full."""
        held = self.held.setdefault(stage.title, [])
        if done * 10 // total > len(held):
            held.append((done, self._flow.memory_info().rss, self._scheduler.memory_info().rss))

    def growth(self, title: str) -> dict[str, float]:
        """Bytes that each further partition of a stage leaves in either process, from the third tenth on; 1 at least,
        as a process may also give memory back."""
        done, flow, scheduler = np.array(self.held[title][2:]).T
        return {
            "flow_bytes": max(1, round(np.polyfit(done, flow, 1)[0])),
            "scheduler_bytes": max(1, round(np.polyfit(done, scheduler, 1)[0])),
        }


_WORK = "from assay.infra.engines.dask_worker import run_worker; run_worker"


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, psutil.Process]]:
    """A scheduler on loopback and so many workers: its address, and its process."""
    address_file = folder / "scheduler.json"
    python, silent = [sys.executable, "-m"], subprocess.DEVNULL
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address_file)]
    with ExitStack() as started:

        def start(command: list[str]) -> subprocess.Popen[bytes]:
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            process = subprocess.Popen(command, env=environment, stdout=silent, stderr=silent)
            started.callback(process.wait)
            started.callback(process.kill)  # they have nothing to tidy up: their folder goes too
            return process

        # One call per worker, as the local engine has it and docs/clusters.md asks for.
        os.environ["DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION"] = "1.0"
        scheduler = start([*python, "distributed.cli.dask_scheduler", *options])
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not address_file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(address_file.read_text(encoding="utf-8"))["address"]
        for _ in range(workers):
            # Not `assay worker`, which joins nobody without TLS.
            start([sys.executable, "-c", f"{_WORK}({address!r})"])
        yield address, psutil.Process(scheduler.pid)


def nothing(number: int) -> int:
    """The number."""
    return number


def run_calls(run: Run, calls: int) -> None:
    """Calls through the window of the engine, each one's outcome handed out as it ends."""
    shown = ShownStage(-1, "run")
    for done, _ in enumerate(run.engine.run(_calls(calls)), 1):
        run.progress.advance(shown, done, calls)


def fold_calls(run: Run, calls: int) -> None:
    """The same calls, their values merged on the workers."""
    shown = ShownStage(-2, "fold")
    total = run.engine.fold(_calls(calls), operator.add, done=lambda n: run.progress.advance(shown, n, calls))
    assert total.value == calls * (calls - 1) // 2


def _calls(calls: int) -> Iterator[Call]:
    return (Call(number, f"call {number}", nothing, (number,)) for number in range(calls))


def heard(dask_scheduler: Any) -> None:
    """Have a scheduler count the messages that come in."""
    dask_scheduler.heard = 0

    def counting(handle: Any) -> Any:
        def handled(*args: Any, **kwargs: Any) -> Any:
            dask_scheduler.heard += 1
            return handle(*args, **kwargs)

        async def handled_later(*args: Any, **kwargs: Any) -> Any:
            return await handled(*args, **kwargs)

        return handled_later if inspect.iscoroutinefunction(handle) else handled

    handlers = dask_scheduler.stream_handlers
    handlers.update({name: counting(handle) for name, handle in handlers.items()})


def scheduled(dask_scheduler: Any) -> dict[str, int]:
    """What a scheduler has done so far."""
    streams = [*dask_scheduler.stream_comms.values(), *dask_scheduler.client_comms.values()]
    return {
        "transitions": dask_scheduler.transition_counter,
        "messages": dask_scheduler.heard + sum(stream.message_count for stream in streams),
    }


def measured(calls: int, partitions: int, workers: int) -> dict[str, Any]:
    """Every step: seconds, CPU by process, transitions and messages of the scheduler, memory; and the manifests."""
    from distributed import Client

    with tempfile.TemporaryDirectory() as place, cluster(Path(place), workers) as (address, scheduler):
        progress, store = Watched(scheduler), Store(f"{place}/store").open()
        compute = Compute(engine=address, gpu="never")
        steps: dict[str, Any] = {}
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=_PATIENCE_SECONDS)
            client.run_on_scheduler(heard)

            def step(title: str, count: int, work: Callable[[], Any]) -> Any:
                before = _spent(scheduler, client)
                made = work()
                after = _spent(scheduler, client)
                steps[title] = {name: (after[name] - before[name]) / count for name in after} | progress.growth(title)
                return made

            with Run("tiny", store, lambda: open_engine(compute), progress, compute=compute) as run:
                count(follow(make(workers * 4)))  # imports and first looks are nobody's cost per partition
                progress.held.clear()
                step("run", calls, lambda: run_calls(run, calls))
                folded = max(10, calls // FOLDED)
                step("fold", folded, lambda: fold_calls(run, folded))
                samples = step(make.title, partitions, lambda: make(partitions))
                same = step(follow.title, partitions, lambda: follow(samples))
                step(count.title, partitions, lambda: count(same))
                peak, kept = _manifests(run, partitions)
        told = {"calls": calls, "partitions": partitions, "workers": workers, "flow_peak_mb": peak}
        return told | {"steps": steps, "manifest": kept}


def _spent(scheduler: psutil.Process, client: Any) -> dict[str, float]:
    cpu, mine = scheduler.cpu_times(), psutil.Process().cpu_times()
    return {
        "seconds": time.perf_counter(),
        "scheduler_cpu": cpu.user + cpu.system,
        "flow_cpu": mine.user + mine.system,
        **client.run_on_scheduler(scheduled),
    }


def _manifests(run: Run, partitions: int) -> tuple[float, Mapping[str, float]]:
    """The peak of this process in MB; and what the manifest of the middle step takes, per partition."""
    peak = psutil.Process().memory_info().rss
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        peak = int(line.split()[1]) * 1024 if line.startswith("VmHWM:") else peak
    key = next(one.key for one in reversed(run.record.stages) if one.stage == follow.name)
    size = len(run.store.folder.read(f"{run.store.place(follow.name, key)}/manifest.json"))
    began = time.perf_counter()
    manifest = run.store.manifest(follow.name, key)
    took = time.perf_counter() - began
    tracemalloc.start()
    manifest = run.store.manifest(follow.name, key)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert manifest is not None
    began = time.perf_counter()
    assert not run.store.damage(manifest)
    looked = time.perf_counter() - began
    each = {"bytes": size, "read_seconds": took, "held_bytes": held, "look_seconds": looked}
    return round(peak / 1e6), {name: value / partitions for name, value in each.items()}


if __name__ == "__main__":
    prepare_environment()
    asked = [int(word) for word in sys.argv[1:]]
    print(json.dumps(measured(asked[0], asked[1], asked[2] if len(asked) > 2 else 2)))
