"""Two ways to do the same work, each in processes of its own, taking turns; one JSON line says how they compare."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from claims import claim, tell

_QUICK_ROWS = 20_000


class Stopwatch:
    """Adds up the wall and CPU time of the blocks it times; making the data is not timed."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def __enter__(self) -> Stopwatch:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._wall
        self.cpu += time.process_time() - self._cpu


Work = Callable[[int, Stopwatch], None]


def compare(
    claims: dict[str, tuple[Work, Work]],
    rows: int,
    peer_rows: dict[str, int] | None = None,
    quick_rows: int = _QUICK_ROWS,
) -> None:
    """Run ours and the peer of every claim in turn, and print a line of JSON for each.

    Times are medians of CPU seconds (one thread), ratios are peer over ours. A peer that is too slow for all rows works
    on `peer_rows` of them, and its time is scaled up; the line says so.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    parser.add_argument("--only", choices=list(claims), help="one claim instead of all")
    parser.add_argument("--side", choices=["ours", "peer"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(_measured(claims[options.only][options.side == "peer"], options.rows)))
        return
    if options.quick:
        options.rows, options.repeats = quick_rows, 1
    for name in [options.only] if options.only else list(claims):
        fewer = min((peer_rows or {}).get(name, options.rows), options.rows)
        tell(_compared(name, options.rows, fewer, options.repeats))


def _compared(name: str, rows: int, peer_rows: int, repeats: int) -> dict[str, object]:
    runs: dict[str, list[dict[str, float]]] = {"ours": [], "peer": []}
    for _ in range(repeats):
        for side, count in (("ours", rows), ("peer", peer_rows)):
            runs[side].append(_in_a_process(name, side, count))
    scale = rows / peer_rows
    return claim(
        name,
        [run["cpu"] for run in runs["ours"]],
        [scale * run["cpu"] for run in runs["peer"]],
        unit="CPU s",
        rows=rows,
        peer_rows=peer_rows,
        ours_wall=round(statistics.median(run["wall"] for run in runs["ours"]), 3),
        peer_wall=round(scale * statistics.median(run["wall"] for run in runs["peer"]), 3),
        ours_peak_mb=round(max(run["peak_mb"] for run in runs["ours"])),
        peer_peak_mb=round(max(run["peak_mb"] for run in runs["peer"])),
    )


def _in_a_process(name: str, side: str, rows: int) -> dict[str, float]:
    command = [sys.executable, sys.argv[0], "--only", name, "--side", side, "--rows", str(rows)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


def _measured(work: Work, rows: int) -> dict[str, float]:
    work(min(rows, 2000), Stopwatch())  # imports and first calls are not timed
    stopwatch = Stopwatch()
    work(rows, stopwatch)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB here
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return {"wall": stopwatch.wall, "cpu": stopwatch.cpu, "peak_mb": peak}
