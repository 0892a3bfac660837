"""What the house costs: starting, bookkeeping, orchestration, help, and a million rows on one and two workers."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from claims import claim, tell
from planted_curation import curation
from processes import Finished, assay, python, run

_MEGABYTES, _SECONDS = "MB", "s"


def whole_run(repeats: int) -> None:
    """`assay run breast-cancer` over an empty store and again over the full one, from command to report."""
    cold, cached, shared = [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as store:
            cold.append(assay("run", "breast-cancer", "--store", store, "--json"))
            cached.append(assay("run", "breast-cancer", "--store", store, "--json"))
    for _ in range(1 + repeats):
        with tempfile.TemporaryDirectory() as store:
            stays = {"ASSAY_SERVER_IDLE": "60"}
            shared.append(assay("run", "breast-cancer", "--store", store, "--json", environment=stays))
    kinds = {"cold": cold, "with the Prefect server of the run before": shared[1:], "all cached": cached}
    for name, runs in kinds.items():
        if runs is not cached:
            tell(claim(f"start to first stage, {name}", [_first_stage(each) for each in runs], unit=_SECONDS))
        cpu = statistics.median(each.cpu for each in runs)
        seconds = [each.wall for each in runs]
        tell(claim(f"whole breast-cancer run, {name}", seconds, unit=_SECONDS, cpu_seconds=round(cpu, 1)))


def _first_stage(one: Finished) -> float:
    """The seconds from the start of the command to the start of its first stage: its end, less what it took."""
    seconds, line = next((seconds, line) for seconds, line in one.lines if line.startswith("  ingest"))
    took = re.search(r"([\d.]+) s$", line.strip())
    assert took is not None
    return seconds - float(took[1])


def bookkeeping(repeats: int) -> None:
    """A stage that does nothing, beside a bare Prefect task."""
    found = json.loads(python("bookkeeping.py", str(repeats)).output.splitlines()[-1])
    bare = [1000 * each for each in found["orchestrated"]["bare"]]
    for where in ("in process", "orchestrated"):
        for kind in ("new", "cached"):
            ours = [1000 * each for each in found[where][kind]]
            name = f"bookkeeping of a stage, {where}, {'new key' if kind == 'new' else 'from the store'}"
            tell(claim(name, ours, bare, unit="ms", peer_is="a bare Prefect task"))


def orchestration(repeats: int) -> None:
    """The breast-cancer chain with Prefect (ours) and without (peer): ratio .9 says that a tenth is orchestration."""
    for engine in ("serial", "local"):
        runs: dict[str, list[Finished]] = {"with": [], "without": []}
        for _ in range(repeats):
            for how, done in runs.items():
                done.append(python("audit_once.py", engine, how))
        made = {json.dumps(json.loads(one.output)["digests"]) for done in runs.values() for one in done}
        chain = {how: [float(json.loads(one.output)["chain"]) for one in done] for how, done in runs.items()}
        for what, unit, measured in (
            ("the chain itself", _SECONDS, chain),
            ("whole process with start-up", _SECONDS, _of_runs(runs, lambda one: one.wall)),
            ("whole process with start-up", "CPU s", _of_runs(runs, lambda one: one.cpu)),
        ):
            name = f"breast-cancer under Prefect, {engine} engine, {what}"
            tell(claim(name, measured["with"], measured["without"], unit=unit, digests_equal=len(made) == 1))


def _of_runs(runs: dict[str, list[Finished]], value: Callable[[Finished], float]) -> dict[str, list[float]]:
    return {how: [value(one) for one in done] for how, done in runs.items()}


def help_text(repeats: int) -> None:
    """`assay --help`: its time, and the modules it imports."""
    runs = [assay("--help") for _ in range(max(repeats, 5))]
    ask = "import sys; from assay.flows.cli import answer; answer(['--help']); print(len(sys.modules))"
    modules = int(run([sys.executable, "-c", ask]).output.splitlines()[-1])
    tell(claim("assay --help", [one.wall for one in runs], unit=_SECONDS, modules=modules))
    tell(claim("assay --help", [one.cpu for one in runs], unit="CPU s", modules=modules))


def million(rows: int, repeats: int) -> None:
    """Curation of so many rows of sixty functions in 40 partitions, on two workers and on one; the same digests."""
    runs: dict[int, list[dict[str, Any]]] = {2: [], 1: []}
    for _ in range(repeats):
        for workers, done in runs.items():
            done.append(curation(rows, partitions=40, workers=workers))
    made = {json.dumps(one["digests"]) for done in runs.values() for one in done}
    name = f"curation of {rows:,} × 60 in 40 partitions"
    seconds = {workers: [float(one["seconds"]) for one in done] for workers, done in runs.items()}
    tell(claim(f"{name}, two workers beside one", seconds[2], seconds[1], unit=_SECONDS, digests_equal=len(made) == 1))
    for workers, done in runs.items():
        peaks = [float(max(one["worker_peaks_mb"])) for one in done]
        flow = max(int(one["flow_peak_mb"]) for one in done)
        tell(claim(f"{name}, peak of a worker of {workers}", peaks, unit=_MEGABYTES, flow_peak_mb=flow))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["help", "bookkeeping", "run", "orchestration", "million"])
    options = parser.parse_args()
    repeats = 1 if options.quick else options.repeats
    parts: dict[str, Callable[[], None]] = {
        "help": lambda: help_text(repeats),
        "bookkeeping": lambda: bookkeeping(2 if options.quick else 5),
        "run": lambda: whole_run(repeats),
        "orchestration": lambda: orchestration(repeats),
        "million": lambda: million(20_000 if options.quick else 1_000_000, 1),
    }
    for name in [options.only] if options.only else list(parts):
        parts[name]()


if __name__ == "__main__":
    main()
