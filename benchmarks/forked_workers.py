"""How long workers on this machine take to start, and how much memory they hold: forked from one process that imports
for all of them, beside workers of which each imports for itself.

Memory is what the processes hold together before their first call, each page once (PSS), in processes of its own each
time. They import what a pipeline with networks wants.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import cast

import psutil
from claims import claim, tell
from processes import python

from assay.infra.engines import dask_start
from assay.infra.engines.calls import Call
from assay.infra.engines.opening import open_engine
from assay.infra.settings import Compute

LIBRARIES = ("assay.tasks.ingest.entry", "torch", "torch._dynamo")
HOW = ("forked", "each by itself")


def measured(how: str, workers: int) -> dict[str, float]:
    """Seconds until every worker has answered, and megabytes of all of them."""
    if how != "forked":
        dask_start.start_fork_server = lambda *_: False
    began = time.perf_counter()
    with open_engine(Compute(workers=workers, gpu_workers=0), libraries=LIBRARIES) as engine:
        errors = [one.error for one in engine.run(Call(at, f"call {at}", abs, (at,)) for at in range(workers))]
        seconds = time.perf_counter() - began
        children = psutil.Process().children(recursive=True)
        held = sum(cast(int, child.memory_full_info().pss) for child in children) / 1e6
    assert errors == [None] * workers
    return {"seconds": seconds, "megabytes": held}


def _compared(quick: bool, repeats: int) -> None:
    for workers in (1,) if quick else (2, 8):
        found: dict[str, list[dict[str, float]]] = {how: [] for how in HOW}
        for _ in range(1 if quick else repeats):
            for how in HOW:
                done = python("forked_workers.py", "--only", how, "--workers", str(workers))
                found[how].append(json.loads(done.output.splitlines()[-1]))
        for name, unit in (("seconds", "s"), ("megabytes", "MB")):
            ours, peer = ([one[name] for one in found[how]] for how in HOW)
            tell(claim(f"{workers} workers with Torch, {name}", ours, peer, unit=unit, peer_is=HOW[1]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one worker, once: whether it works, not how fast")
    parser.add_argument("--only", choices=HOW)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.only is None:
        _compared(options.quick, options.repeats)
    else:
        print(json.dumps(measured(options.only, options.workers)))


if __name__ == "__main__":
    main()
