"""What the curation chain asks of Dask and of a remote store, as a function of partitions and ranges.

    python benchmarks/store_requests.py [--quick]

The chain of `scale` runs in this process over a store that answers from memory and counts what it is asked, cut into
more and fewer partitions, its orders sorted by more and fewer ranges. Each count is a sum over `OF`, and as many runs
tell what there is of each. Files of parcels count as large ones, of which a range fetches the end and its own parcel.
Prints one JSON object: by kind of request, and `calls`; and every exchange of parcels, from which `many_partitions`
tells how often they are asked for in two rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar
from unittest.mock import patch

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from planted_curation import LABELERS, chain

from assay.infra.engines.calls import Call, Outcome
from assay.infra.engines.opening import SerialEngine
from assay.infra.environment import prepare_environment
from assay.infra.settings import Compute
from assay.infra.stages import partitions as partitioned
from assay.infra.stages.partition_work import POSTED
from assay.infra.stages.runs import Run
from assay.infra.stages.shuffle import Post
from assay.infra.storage import folders
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.ordering import sorting

FUNCTIONS, ROWS, FEW_ROWS = 10, 240_000, 2_400
CUTS = ((6, 2), (6, 4), (6, 8), (12, 2), (12, 4))
"""Partitions and ranges of the runs."""
COPRIME = (7, 3)
"""Those of the run that tells the exchanges: what there are 3, 6 or 24 of are ranges."""

OF: Mapping[str, Callable[[int, int], int]] = {
    "once": lambda _p, _r: 1,
    "partition": lambda p, _r: p,
    "range": lambda _p, r: r,
    "partition and range": lambda p, r: p * r,
    "range and range": lambda _p, r: r * r,
}
"""What requests are counted by: how many of each there are with p partitions and r ranges."""

_KINDS = {
    "put_file": "PUT",
    "pipe_file": "PUT",
    "cat_file": "GET",
    "info": "HEAD",
    "exists": "HEAD",
    "find": "LIST",
    "ls": "LIST",
    "cp_file": "COPY",
    "rm": "DELETE",
}
_empty = itertools.count()
asked: Counter[str] = Counter()


class Nested(threading.local):
    """How deep a thread is in the file system: parcels are asked for by several at a time."""

    depth = 0


class CountedFileSystem(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A store in memory that counts what it is asked; what it asks itself for an answer does not count."""

    protocol = "counted"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    within: ClassVar[Nested] = Nested()
    counting: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("counted://", "memory://", 1)))


def _tally(what: str, many: int) -> None:
    with CountedFileSystem.counting:
        asked[what] += many


def _counting(name: str) -> Callable[..., Any]:
    original = getattr(MemoryFileSystem, name)

    def method(self: CountedFileSystem, *args: Any, **kwargs: Any) -> Any:
        # A run's lease is renewed by the clock and not by what the run does.
        outermost = not self.within.depth and not any("/leases/" in str(one) for one in args)
        if outermost:
            _tally(_KINDS[name], 1)
        self.within.depth += 1
        try:
            answer = original(self, *args, **kwargs)
        finally:
            self.within.depth -= 1
        return answer

    return method


for _name in _KINDS:
    setattr(CountedFileSystem, _name, _counting(_name))
fsspec.register_implementation("counted", CountedFileSystem)


class CountedEngine(SerialEngine):
    """Counts the calls that Dask would have; not those that merge, one for every eight that a fold has."""

    def run(self, calls: Iterable[Call], *, gpu: bool = False) -> Iterator[Outcome]:
        """The outcome of every call."""
        return super().run(map(_count, calls), gpu=gpu)


def _count(call: Call) -> Call:
    asked["calls"] += 1
    return call


def counted(partitions: int, ranges: int, rows: int) -> Counter[str]:
    """What the chain asks for, with so many partitions and its orders in so many ranges."""
    asked.clear()
    folders.PIECE_BYTES = 0
    sorting.RANGE_ROWS = rows // ranges
    options = argparse.Namespace(
        rows=rows, functions=FUNCTIONS, partitions=partitions, classes=2, coverage=(0.1, 0.6), labelers=LABELERS
    )
    store = Store(f"counted://store-{next(_empty)}").open()
    compute = Compute(engine="serial", gpu="never")
    with Run("counted", store, lambda: CountedEngine(compute), Progress(), compute=compute):
        chain(options, to="test")
    return Counter(asked)


def coefficients(found: Mapping[tuple[int, int], Counter[str]]) -> dict[str, dict[str, float]]:
    """By kind of request, and for bytes: what there is of it by each of `OF`."""
    import numpy as np

    many = np.array([[each(*cut) for each in OF.values()] for cut in found])
    told: dict[str, dict[str, float]] = {}
    for kind in sorted(set().union(*found.values())):
        solved = np.linalg.solve(many, [counts[kind] for counts in found.values()])
        told[kind] = dict(zip(OF, np.round(solved, 6).tolist(), strict=True))
    return told


@dataclass
class Exchange:
    """What a stage's partitions sent to its ranges, or back: so many senders and addressees for each partition or each
    range, so many bytes for each sample; how many parcels were taken, as a share of all."""

    stage: str
    senders: tuple[str, int]
    addressees: tuple[str, int]
    bytes_a_sample: float
    reads: float = 0.0


def exchanges(rows: int) -> list[Exchange]:
    """All that the chain has, in its order."""
    partitions, ranges = COPRIME
    found: dict[tuple[str, str], Exchange] = {}
    plan, received = partitioned._Step._with_post, Post.received

    def for_each(many: int) -> tuple[str, int]:
        return ("partition", 1) if many == partitions else ("range", many // ranges)

    def planned(step: Any, addressees: int) -> Any:
        constants, mark = plan(step, addressees)
        if mark:
            files = constants[POSTED].files
            size = sum(file.bytes for _, file in files) / rows
            key = (step.bench.place, mark)
            found.setdefault(key, Exchange(step.bench.title, for_each(len(files)), for_each(addressees), size))
            here[mark] = found[key], 1 / addressees
        return constants, mark

    def taken(post: Post, addressee: int) -> Any:
        exchange, share = here[post.mark]
        exchange.reads += share
        return received(post, addressee)

    here: dict[str, tuple[Exchange, float]] = {}
    with patch.object(partitioned._Step, "_with_post", planned), patch.object(Post, "received", taken):
        counted(partitions, ranges, rows)
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few rows: whether it works")
    rows = FEW_ROWS if parser.parse_args().quick else ROWS
    requests = coefficients({cut: counted(*cut, FEW_ROWS) for cut in CUTS})
    print(json.dumps({"asked": requests, "exchanges": [asdict(exchange) for exchange in exchanges(rows)]}))


if __name__ == "__main__":
    prepare_environment()
    main()
