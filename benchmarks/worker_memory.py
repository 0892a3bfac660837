"""Time and peak memory of the calls of a PGD stage in a worker and in this process.

Every variant runs in a process of its own, in turn: `serial`, `worker`, and `worker of Dask's`, in which the C library
frees memory as Dask sets it. Work: PGD on blocks of 64 images of 3×96×96 by a ResNet-50 of a quarter of the width, a
call per block.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

from claims import claim, tell
from memory_watch import MemoryWatch
from processes import python

from assay.infra.engines import calls as memory
from assay.infra.engines.calls import Call, Engine
from assay.infra.engines.opening import open_engine
from assay.infra.settings import Compute

VARIANTS = ("serial", "worker", "worker of Dask's")


def attack(block: int, steps: int, as_dask_frees: bool) -> float:
    """The mean of a block of adversarial images, and on the way what Dask's setting of the C library costs."""
    if as_dask_frees:
        _free_as_dask_does()
    import torch

    from assay.tasks.subjects.networks.building import build_network

    network = build_network("resnet50", classes=10, channels=3, size=96, width=0.25, seed=0).eval()
    images = torch.rand((64, 3, 96, 96), generator=torch.Generator().manual_seed(block))
    truth, found = torch.zeros(64, dtype=torch.long), images.clone()
    for _ in range(steps):
        found = found.detach().requires_grad_(True)
        loss = torch.nn.functional.cross_entropy(network(found), truth)
        (gradient,) = torch.autograd.grad(loss, found)
        found = (images + (found + gradient.sign() / 255 - images).clamp(-8 / 255, 8 / 255)).clamp(0, 1)
    return float(found.detach().double().mean())


def _free_as_dask_does() -> None:
    memory.give_back_memory()
    memory._libc().mallopt(memory._TRIM_THRESHOLD, 65536)
    memory._libc().mallopt(memory._MMAP_THRESHOLD, 128 * 1024)


def measured(variant: str, blocks: int, steps: int) -> dict[str, float]:
    """Wall seconds and the peak of the process that works, in megabytes."""
    settings = Compute(engine="serial") if variant == "serial" else Compute(engine="local", workers=1, gpu="never")
    dask = variant == VARIANTS[-1]
    with MemoryWatch(os.getpid()) as watch, open_engine(settings) as engine:
        _values(engine, [Call(0, "warm", attack, (0, 1, dask))])
        began = time.perf_counter()
        values = _values(engine, [Call(at, f"block {at}", attack, (at, steps, dask)) for at in range(blocks)])
        wall = time.perf_counter() - began
    return {"wall": wall, "peak_mb": watch.peaks("flow" if variant == "serial" else "worker")[0], "value": sum(values)}


def _values(engine: Engine, calls: list[Call]) -> list[float]:
    outcomes = sorted(engine.run(calls), key=lambda one: one.index)
    for one in outcomes:
        if one.error is not None:
            raise one.error
    return [float(str(one.value)) for one in outcomes]


def _compared(quick: bool, repeats: int) -> None:
    blocks, steps = (1, 1) if quick else (3, 5)
    found: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
    for _ in range(1 if quick else repeats):
        for variant in VARIANTS:
            done = python("worker_memory.py", "--only", variant, "--blocks", str(blocks), "--steps", str(steps))
            found[variant].append(json.loads(done.output.splitlines()[-1]))
    pick: Callable[[str, str], list[float]] = lambda variant, name: [one[name] for one in found[variant]]  # noqa: E731
    same = len({one["value"] for runs in found.values() for one in runs}) == 1
    peaks = {f"{variant}_peak_mb": max(pick(variant, "peak_mb")) for variant in VARIANTS}
    worker, serial, dask = (pick(variant, "wall") for variant in (VARIANTS[1], VARIANTS[0], VARIANTS[2]))
    tell(claim("PGD in a worker beside this process", worker, serial, unit="s", peer_is="serial", same=same, **peaks))
    tell(claim("PGD in a worker beside one that frees as Dask sets it", worker, dask, unit="s", peer_is="Dask's"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one block, one step: whether it works, not how fast")
    parser.add_argument("--only", choices=VARIANTS)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.only is None:
        _compared(options.quick, options.repeats)
    else:
        print(json.dumps(measured(options.only, options.blocks, options.steps)))


if __name__ == "__main__":
    main()
