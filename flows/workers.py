"""A machine joins a Dask scheduler: the worker processes that `assay worker` starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from assay.infra.errors import InputError

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_LOCAL = ("tcp://127.0.0.1", "tcp://localhost", "tcp://[::1]")


def work(address: str, *, gpu: bool, workers: int, tls: tuple[str | None, str | None, str | None]) -> int:
    """Starts worker processes for the scheduler at an address, and returns their exit code when they end."""
    return subprocess.call(command_line(address, gpu, workers, tls), env=environment(os.environ))


def command_line(address: str, gpu: bool, workers: int, tls: tuple[str | None, str | None, str | None]) -> list[str]:
    """What starts the workers; an address that is open to the network without TLS is refused.

    >>> command_line("tcp://127.0.0.1:8786", True, 1, (None, None, None))[-2:]
    ['--resources', 'GPU=1']
    """
    scheme = address.partition("://")[0]
    if scheme not in ("tcp", "tls") or "://" not in address:
        raise InputError(f"{address} is no address of a scheduler; write it as tls://host:8786.")
    if scheme == "tcp" and not address.startswith(_LOCAL):
        raise InputError(
            f"{address} is not encrypted, and a Dask worker does whatever it is sent: use tls://, with --tls-ca, "
            "--tls-cert and --tls-key."
        )
    if scheme == "tls" and None in tls:
        raise InputError(f"{address} needs --tls-ca, --tls-cert and --tls-key, the files this worker shows and trusts.")
    line = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    line += ["--nworkers", str(workers), "--nthreads", "1", "--no-dashboard"]
    for flag, file in zip(("--tls-ca-file", "--tls-cert", "--tls-key"), tls, strict=True):
        line += [flag, file] if file is not None else []
    return [*line, "--resources", "GPU=1"] if gpu else line


def environment(surroundings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker: one thread per process, so that sums come out the same everywhere."""
    return {**surroundings, **dict.fromkeys(_ONE_THREAD, "1")}
