"""What the processes of Dask's workers on this machine are made of, and import before anything else.

They have no HTTP server, which Dask starts in every process, dashboard or not: it has no login, and tells whoever asks
which calls are at work and where (`/info`, `/json`, `/metrics`). They do not run the script that started them again:
Python's `spawn` imports the main script in every child, so that one which calls `audit(...)` without the line
`if __name__ == "__main__":` would start a run in every worker of its run. And they import heavy libraries before their
first call, which would look seconds dearer than it is, and that is another one every night; forks of a process that has
imported them find them there (`start_fork_server` in `dask_start`).

This module imports nothing but Dask: a process that is no such fork reads it before its environment is set, which
Arrow's allocator and the number of numeric threads are read from when their libraries are first imported.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing import spawn
from typing import Any

from distributed import Scheduler, Worker


class WithoutHTTP:
    """What listens on no port but the one that asks for a certificate."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Listen on no further port."""


class SchedulerWithoutHTTP(WithoutHTTP, Scheduler):  # type: ignore[misc]  # Dask has no types
    """Such a scheduler."""


class WorkerWithoutHTTP(WithoutHTTP, Worker):  # type: ignore[misc]  # Dask has no types
    """Such a worker."""


WORKERS = "Dask Worker process"  # how Dask's nanny names the processes that it starts
_OF_MAIN = ("init_main_from_name", "init_main_from_path")


@functools.cache
def workers_go_without_main() -> None:
    """From now on, processes that are started as Dask workers import no main script; other processes do as before."""
    prepared = spawn.get_preparation_data

    def without_main(name: str) -> dict[str, Any]:
        data = prepared(name)
        return {key: value for key, value in data.items() if key not in _OF_MAIN or not name.startswith(WORKERS)}

    spawn.get_preparation_data = without_main


WANTED, UNSET = "ASSAY_FIRST_IMPORTS", "ASSAY_UNSET"


def first_imports(libraries: Sequence[str]) -> dict[str, str]:
    """The environment of a worker that is to import them.

    >>> first_imports(["torch", "torch._dynamo"])
    {'ASSAY_FIRST_IMPORTS': 'torch torch._dynamo'}
    """
    return {WANTED: " ".join(libraries)}


def dask_setup(_worker: object) -> None:
    """Unset what the flow's environment no longer has, import what is wanted; Dask calls this as the worker starts."""
    for name in os.environ.pop(UNSET, "").split():
        os.environ.pop(name, None)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed()  # forks would all draw the same where somebody's code draws without a seed
    gc.disable()  # modules are no garbage, and looking whether they are takes a sixth of the time
    for name in os.environ.get(WANTED, "").split():
        with suppress(ImportError):  # the call that needs what is missing says so
            import_module(name)
    gc.enable()
