"""The chain of the pipeline `breast-cancer`, once, over an empty store: with Prefect around its stages, or without.

    python benchmarks/audit_once.py serial|local with|without

Everything else is the same, so the difference is what orchestration costs. `house.py` runs it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import nullcontext

from assay.flows.audit import audit
from assay.flows.configuration.loading import load_project
from assay.infra.engines.opening import open_engine
from assay.infra.environment import prepare_environment
from assay.infra.prefect.server import PrefectServer, prefect_api
from assay.infra.settings import Compute
from assay.infra.stages.runs import Conductor, Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

PIPELINE = "breast-cancer"


def main(engine: str, orchestrated: bool) -> None:
    prepare_environment()
    project = load_project("pipelines.yaml", pipeline=PIPELINE)
    compute = Compute(engine=engine, gpu="never")
    server = PrefectServer().launch() if orchestrated else None
    try:
        with (
            tempfile.TemporaryDirectory() as place,
            Run(
                PIPELINE,
                Store(place).open(),
                lambda: open_engine(compute),
                Progress(),
                compute=compute,
                conductor=_conductor(orchestrated),
            ) as run,
        ):
            run.warm_up()
            with prefect_api(server) if server is not None else nullcontext():
                began = time.perf_counter()
                audit(project.pipeline(PIPELINE), project.folder)
                seconds = time.perf_counter() - began
                digests = [output["digest"] for record in run.record.stages for output in record.outputs.values()]
    finally:
        if server is not None:
            server.stop()
    print(json.dumps({"chain": seconds, "digests": digests}))


def _conductor(orchestrated: bool) -> Conductor:
    if not orchestrated:
        return Conductor()
    from assay.infra.prefect.tasks import Orchestrated

    return Orchestrated()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "with")
