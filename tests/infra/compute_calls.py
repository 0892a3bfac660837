"""What the tests of the engines send to workers; at module level, so that worker processes can import it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from assay.infra.engines.calls import slot_here
from assay.infra.errors import InputError


def square(number: int) -> int:
    return number * number


def add(one: int, other: int) -> int:
    return one + other


def many_ones(number: int, count: int) -> np.ndarray:
    return np.ones(count, dtype=np.int64)


def nap(number: int, seconds: float) -> int:
    time.sleep(seconds)
    return number


def size_of(number: int, constant: bytes) -> int:
    return number + len(constant)


def fail_for(number: int, bad: int, message: str) -> int:
    if number == bad:
        raise ValueError(message)
    return number


def refuse(number: int, marks: str) -> int:
    touch(marks, number)
    raise InputError(f"row {number} is not a number; write one")


def fail(number: int, marks: str) -> None:
    touch(marks, number)
    raise OSError("the disk is elsewhere")


def leave(number: int) -> int:
    raise SystemExit(number)


def succeed_at_third_try(number: int, marks: str) -> int:
    touch(marks, number)
    if len(list(Path(marks).iterdir())) < 3:
        raise OSError("the disk is elsewhere")
    return number


def kill_worker_for(number: int, bad: int) -> int:
    if number == bad:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def mark_then_wait(number: int, marks: str) -> tuple[int, int]:
    """Leave a mark with this process's id, then wait for the file `go`: so a test decides who dies when."""
    touch(marks, os.getpid())
    deadline = time.monotonic() + 200
    while not Path(marks, "go").exists():
        if time.monotonic() > deadline:
            raise TimeoutError("nobody said go")
        time.sleep(0.02)
    return number, os.getpid()


def touch(marks: str, name: object) -> None:
    Path(marks, f"{name}-{time.monotonic_ns()}").touch()


def slot_and_device(number: int) -> tuple[str, str]:
    return slot_here(), os.environ["CUDA_VISIBLE_DEVICES"]


def numeric_threads(number: int) -> dict[str, int]:
    """How many threads BLAS and Torch would use in this worker."""
    import torch
    from threadpoolctl import threadpool_info

    np.linalg.svd(np.ones((4, 4)))
    pools = {pool["prefix"]: pool["num_threads"] for pool in threadpool_info()}
    return {**pools, "torch": torch.get_num_threads()}


def memory_after(number: int, megabytes: int) -> tuple[str, int]:
    """What Arrow allocates by, and what this worker held before a table of so many megabytes was read and let go."""
    import psutil
    import pyarrow as pa

    held = psutil.Process().memory_info().rss
    columns = [pa.array(np.ones(1 << 17)) for _ in range(megabytes)]
    pa.concat_tables([pa.table({"x": column}) for column in columns]).combine_chunks()
    return pa.default_memory_pool().backend_name, held


def dask_setting(number: int, name: str) -> object:
    import dask

    return dask.config.get(name)


def process_id(number: int) -> int:
    return os.getpid()


def origin_and_draw(number: int, names: tuple[str, ...]) -> tuple[int, bool, float, list[str | None]]:
    """Whose child the worker is, whether it is a fork that came with its libraries, what somebody draws there without a
    seed, and what the environment says."""
    forked = "multiprocessing.forkserver" in Path("/proc/self/cmdline").read_text()
    return os.getppid(), forked, float(np.random.random()), [os.environ.get(name) for name in names]
