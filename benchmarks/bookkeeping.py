"""What a stage costs that does nothing: as a function in a run, as a Prefect task of ours, and a bare Prefect task.

Prints one JSON object: seconds per stage, by kind, one number for each batch. `house.py` runs it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa

from assay.data.schemas import Classes
from assay.infra.engines.opening import open_engine
from assay.infra.environment import prepare_environment
from assay.infra.settings import Compute
from assay.infra.stages.runs import Conductor, Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

_BATCH = 10


@stage(version=1, title="nothing")
def do_nothing(number: int) -> Artifact[Classes]:
    """A table of one row, a number, for every number anew."""
    return write_table(pa.table({"code": [number], "name": ["a"]}, schema=Classes.schema), into=Classes)


def in_process(store: str, batches: int) -> dict[str, list[float]]:
    """A stage in a run without Prefect: with a new key, and from the store."""
    with _run(store, Conductor()):
        do_nothing(9999)
        return _in_turn({"new": do_nothing, "cached": do_nothing}, batches)


def orchestrated(store: str, batches: int) -> dict[str, list[float]]:
    """The same under Prefect with a server of its own, beside a Prefect task that does nothing at all."""
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE

    from assay.infra.prefect.server import PrefectServer, prefect_api
    from assay.infra.prefect.tasks import Orchestrated

    @task(name="bare", persist_result=False, cache_policy=NO_CACHE)
    def bare(number: int) -> int:
        return number

    server = PrefectServer().launch()
    try:
        with _run(store, Orchestrated()), prefect_api(server):

            @flow(name="bookkeeping", validate_parameters=False, persist_result=False)
            def measure() -> dict[str, list[float]]:
                do_nothing(9999)
                bare(0)
                kinds = {"new": do_nothing, "cached": do_nothing, "bare": bare}
                return _in_turn(kinds, batches)

            measured: dict[str, list[float]] = measure()
            return measured
    finally:
        server.stop()


def _run(store: str, conductor: Conductor) -> Run:
    compute = Compute(engine="serial", gpu="never")
    return Run(
        "bookkeeping",
        Store(store).open(),
        lambda: open_engine(compute),
        Progress(),
        compute=compute,
        conductor=conductor,
    )


def _in_turn(kinds: dict[str, Callable[[int], object]], batches: int) -> dict[str, list[float]]:
    """Seconds per call of each kind, batch by batch; what is `new` in a batch is `cached` right after it."""
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for batch in range(batches):
        for kind, call in kinds.items():
            began = time.perf_counter()
            for number in range(batch * _BATCH, (batch + 1) * _BATCH):
                call(number)
            seconds[kind].append((time.perf_counter() - began) / _BATCH)
    return seconds


if __name__ == "__main__":
    prepare_environment()
    with tempfile.TemporaryDirectory() as place:
        found = {
            "in process": in_process(f"{place}/a", int(sys.argv[1])),
            "orchestrated": orchestrated(f"{place}/b", int(sys.argv[1])),
        }
    print(json.dumps(found))
