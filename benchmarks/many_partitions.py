"""What 10^9 samples and 500 workers need, from what calls, requests and partitions were measured to cost.

    python benchmarks/many_partitions.py [--quick] [--calls 100000] [--kept FOLDER]

Three measurements: calls and tiny partitions through a Dask scheduler of its own (`tiny_partitions`), at a tenth and
whole, so that the tenth foretells the whole; the requests and calls of the curation chain (`store_requests`); and the
CPU of its partitions of 100 000 × 60 (`planted_curation`). Then the sums, which docs/scale.md reads out, with parcels
in the rounds that the engine would plan for so many. What is not measured but taken from price lists and round numbers
stands in `Assumed`.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from claims import claim, tell
from planted_curation import FUNCTIONS, curation
from processes import python
from store_requests import OF, Exchange

SAMPLES, WORKERS = 10**9, 500
ROWS_PER_PARTITION, RANGE_ROWS = 100_000, 1 << 20  # as ingest and the sort cut them
CALLS, PARTITIONS = 100_000, 2_000
KEY_BYTES = 25  # of a sample on its way to a range, at most
AROUND_BYTES = 5 * 2 * 100 * 8  # what a range of the test, a quarter as long, must know of those around it
_ONCE = "labeler"  # the stage that learns from counts, in the flow's process, whatever the number of samples

_BY_CALL = {
    "scheduler_cpu": ("ms", 1e3),
    "flow_cpu": ("ms", 1e3),
    "transitions": ("", 1.0),
    "messages": ("", 1.0),
    "flow_bytes": ("bytes", 1.0),
    "scheduler_bytes": ("bytes", 1.0),
}
_BY_PARTITION = {"bytes": ("bytes", 1.0), "held_bytes": ("bytes", 1.0), "read_seconds": ("µs", 1e6)}


@dataclass(frozen=True)
class Assumed:
    """What nobody measured here: list prices of a large cloud, and how long a request takes from inside of it."""

    dollars_per_thousand_writes: float = 0.005  # PUT, COPY, LIST
    dollars_per_thousand_reads: float = 0.0004  # GET, HEAD
    dollars_per_core_hour: float = 0.05
    request_seconds: float = 0.03
    megabytes_a_second: float = 100.0


def tiny(calls: int, partitions: int, workers: int) -> dict[str, Any]:
    """A run of so many calls and tiny partitions, in a process of its own."""
    told = python("tiny_partitions.py", str(calls), str(partitions), str(workers)).output
    found: dict[str, Any] = json.loads(told)
    return found


def say_tiny(tenth: dict[str, Any], whole: dict[str, Any]) -> dict[str, float]:
    """The claims about the run of calls; and what a call, or a partition in a manifest, costs where it costs most."""
    dearest: dict[str, float] = {}
    for name, (unit, scale) in _BY_CALL.items():
        by_step = {step: round(found[name] * scale, 3) for step, found in whole["steps"].items()}
        foretold = tenth["steps"]["run"][name] * scale
        dearest[name] = max(by_step.values()) / scale
        told = claim(
            f"{whole['calls']:,} calls, {name} of each",
            [by_step["run"]],
            [max(foretold, 1e-9)],
            unit=unit,
            peer_is=f"the same of {tenth['calls']:,} calls",
            by_step=by_step,
        )
        tell(told)
    seconds = whole["steps"]["run"]["seconds"] * whole["calls"]
    tell(claim(f"{whole['calls']:,} calls", [seconds], unit="s", digits=1, workers=whole["workers"]))
    tell(claim("peak of the flow", [whole["flow_peak_mb"]], unit="MB"))
    for name, (unit, scale) in _BY_PARTITION.items():
        value = tenth["manifest"][name] * scale
        tell(claim(f"manifest of {tenth['partitions']:,} partitions, {name} of each", [value], unit=unit, digits=1))
    return dearest | {f"manifest_{name}": value for name, value in tenth["manifest"].items()}


def parcel_cost(ranges: int) -> float:
    """CPU seconds to take one parcel out of a partition's file of so many."""
    post = _post_of(1, ranges, ROWS_PER_PARTITION // ranges * KEY_BYTES)
    post.received(0)
    some = range(0, ranges, max(1, ranges // 20))
    began = time.process_time()
    for addressee in some:
        post.received(addressee)
    return (time.process_time() - began) / len(some)


def bundle_cost(side: int, parcel_bytes: int) -> float:
    """CPU seconds for each byte that a first round puts together, from so many senders to as many addressees."""
    from assay.infra.stages.shuffle import Square

    post = _post_of(side, side, parcel_bytes)
    began = time.process_time()
    post.bundled(Square((0, side), (0, side)))
    return (time.process_time() - began) / (side * side * parcel_bytes)


def _post_of(senders: int, addressees: int, parcel_bytes: int) -> Any:
    from assay.infra.stages.shuffle import Post, parcels
    from assay.infra.storage.folders import Folder
    from assay.infra.storage.parquet import write_part

    place = tempfile.mkdtemp(prefix="assay-parcels-")
    atexit.register(shutil.rmtree, place)
    sent = {addressee: os.urandom(parcel_bytes) for addressee in range(addressees)}
    return Post(place, tuple((at, write_part(Folder(place), f"part-{at}", parcels(sent))) for at in range(senders)))


@dataclass(frozen=True)
class Asked:
    """What one exchange asks of the store: requests, how many of them follow one another, and bytes."""

    gets: float
    in_turn: float
    read: float
    takes: float
    puts: int = 0
    """Those of a first round, which is in so many calls, and writes what it read."""
    calls: int = 0
    put_together: float = 0.0


def parcels_asked(exchange: Exchange, samples: int, partitions: int, ranges: int, *, rounds: bool = True) -> Asked:
    """What an exchange asks for with so many partitions and ranges, in two rounds where the engine makes two: a parcel
    costs two requests, for the end of its file and for itself.
    """
    from assay.infra.stages.shuffle import AT_ONCE, BYTES_AT_ONCE, ENTRY_BYTES, squares

    many = {"partition": partitions, "range": ranges}
    senders, addressees = (many[of] * each for of, each in (exchange.senders, exchange.addressees))
    size = exchange.bytes_a_sample * samples

    def in_turn(takes: float, wanted_bytes: float) -> float:
        return 2 * takes / max(1, min(AT_ONCE, BYTES_AT_ONCE // wanted_bytes))

    wanted = squares(senders, addressees, round(size)) if rounds else []
    if not wanted:
        takes = exchange.reads * senders * addressees
        read = exchange.reads * size + takes * addressees * ENTRY_BYTES
        return Asked(2 * takes, in_turn(takes, size / senders / addressees), read, takes)
    rows, columns = (len({getattr(square, side) for square in wanted}) for side in ("addressees", "senders"))
    first, second = senders * rows, exchange.reads * addressees * columns
    read = size + first * addressees * ENTRY_BYTES + exchange.reads * size + second * addressees / rows * ENTRY_BYTES
    waits = in_turn(first, size / senders / rows) + in_turn(second, size / columns / addressees)
    return Asked(2 * (first + second), waits, read, second, 2 * len(wanted), len(wanted), size)


def requests(counts: dict[str, dict[str, float]], partitions: int, ranges: int) -> dict[str, float]:
    """How often the chain asks for each kind of thing with so many partitions and ranges."""
    return {kind: sum(each * OF[of](partitions, ranges) for of, each in by.items()) for kind, by in counts.items()}


def say_needs(each: dict[str, float], chain: dict[str, Any], counts: dict[str, Any], samples: int, size: str) -> None:
    """The sums for so many samples, a claim each."""
    assumed, partitions, ranges = Assumed(), -(-samples // ROWS_PER_PARTITION), -(-samples // RANGE_ROWS)
    asked = requests(counts["asked"], partitions, ranges)
    exchanges = [Exchange(**exchange) for exchange in counts["exchanges"]]
    singly, parcels = (
        [parcels_asked(exchange, samples, partitions, ranges, rounds=rounds) for exchange in exchanges]
        for rounds in (False, True)
    )
    for_parcels = sum(each.gets for each in parcels)
    calls = asked.pop("calls") + sum(each.calls for each in parcels)
    writes = sum(asked.get(kind, 0) for kind in ("PUT", "COPY", "LIST")) + sum(each.puts for each in parcels)
    others = sum(asked.get(kind, 0) for kind in ("GET", "HEAD")) - sum(each.gets for each in singly)
    read = sum(each.read for each in parcels)
    seconds_of_one, seconds_of_byte = parcel_cost(ranges), bundle_cost(100, 2_000)
    taking = sum(each.takes for each in parcels) * seconds_of_one
    taking += sum(each.put_together for each in parcels) * seconds_of_byte
    cpu = _of_partitions(chain) * partitions
    one_after_the_other = others + writes + sum(each.in_turn for each in parcels)
    waiting = one_after_the_other * assumed.request_seconds + read / assumed.megabytes_a_second / 1e6
    stages = len(chain["cpu"])

    def told(name: str, value: float, unit: str, digits: int = 6, **more: object) -> None:
        tell(claim(f"{size}: {name}", [value], unit=unit, digits=digits) | more)

    told("partitions", partitions, "", 0, ranges=ranges, stages=stages)
    told("calls", calls, "", 0)
    told("scheduler messages", calls * each["messages"], "", 0)
    told("scheduler, one thread", calls * each["scheduler_cpu"], "s")
    told("flow, one thread", calls * each["flow_cpu"], "s")
    told("CPU of the chain, each worker", cpu / WORKERS, "s", all_hours=round(cpu / 3600, 2))
    told("CPU of parcels, each worker", taking / WORKERS, "s", each=seconds_of_one, each_byte=seconds_of_byte)
    told("waiting for the store, each worker", waiting / WORKERS, "s")
    told(
        "requests", writes + others + for_parcels, "", 0, by_kind={kind: round(count) for kind, count in asked.items()}
    )
    told("requests for parcels", for_parcels, "", 0, singly=sum(each.gets for each in singly))
    told("read for parcels", read / 1e9, "GB")
    told("dollars of writes", writes / 1e3 * assumed.dollars_per_thousand_writes, "$")
    told("dollars of reads", (others + for_parcels) / 1e3 * assumed.dollars_per_thousand_reads, "$")
    told("dollars of workers", (cpu + taking + waiting) / 3600 * assumed.dollars_per_core_hour, "$")
    told("where the ranges of an order stand, in the flow", 4 * ranges * AROUND_BYTES / 1e6, "MB")
    told("a manifest", partitions * each["manifest_bytes"] / 1e6, "MB")
    told("manifests held by the flow, all stages", partitions * stages * each["manifest_held_bytes"] / 1e6, "MB")
    told("a step's work held by the flow", partitions * each["flow_bytes"] / 1e6, "MB")
    told("a fold held by the scheduler", partitions * each["scheduler_bytes"] / 1e6, "MB")


def _of_partitions(chain: dict[str, Any]) -> float:
    """CPU seconds of a partition in all stages but those that work on counts."""
    return float(sum(seconds for title, seconds in chain["cpu"] if title != _ONCE) / chain["partitions"])


def _kept(file: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(measure()), encoding="utf-8")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small: whether it works")
    parser.add_argument("--calls", type=int, default=CALLS, help="how many go through the window")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kept", type=Path, help="where measurements are kept, and taken from if they are there")
    options = parser.parse_args()
    calls, partitions = (300, 30) if options.quick else (options.calls, PARTITIONS)
    rows, few = (20_000, ["--quick"]) if options.quick else (10 * ROWS_PER_PARTITION, [])

    def measured(name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        return _kept(options.kept / f"{name}.json", measure) if options.kept else measure()

    counts = measured("requests", lambda: dict(json.loads(python("store_requests.py", *few).output)))
    chain = measured("chain", lambda: curation(rows, 10, 2, "2GiB", "--to", "test"))
    whole = measured("whole", lambda: tiny(calls, partitions, options.workers))
    tenth = measured("tenth", lambda: tiny(calls // 10, partitions, options.workers))
    each = say_tiny(tenth, whole)
    for kind, by in counts["asked"].items():
        tell(claim(f"{kind} of the chain", [sum(by.values())], unit="", **by))
    for exchange in counts["exchanges"]:
        tell(claim(f"parcels of {exchange['stage']}", [exchange["bytes_a_sample"]], unit="bytes a sample", **exchange))
    name, seconds = f"CPU of a partition of {rows // 10:,} × {FUNCTIONS}, the whole chain", [_of_partitions(chain)]
    tell(claim(name, seconds, unit="s", by_stage=chain["cpu"], once=_ONCE))
    for assumed, value in asdict(Assumed()).items():
        tell(claim(f"assumed: {assumed}", [value], unit="", digits=4))
    for samples, size in ((SAMPLES // 100, "10^7"), (SAMPLES, "10^9")):
        say_needs(each, chain, counts, samples, size)


if __name__ == "__main__":
    main()
