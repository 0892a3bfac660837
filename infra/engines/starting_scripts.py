"""Worker processes do not run the script that started them again.

Python's `spawn` imports the main script in every child, so that a script which calls `audit(...)` without the line
`if __name__ == "__main__":` would start a run in every worker of its run, and never come to an end. Nothing of ours
lies in the main script, so our workers go without it.
"""

from __future__ import annotations

import functools
from multiprocessing import spawn
from typing import Any

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
