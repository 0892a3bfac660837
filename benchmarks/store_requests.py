"""What the curation chain asks of Dask and of a remote store, as a function of partitions and ranges.

    python benchmarks/store_requests.py [--quick]

The chain of `scale` runs in this process over a store that answers from memory and counts what it is asked, cut into
more and fewer partitions, its orders sorted by more and fewer ranges. Each count is a sum over `OF`, and as many runs
tell what there is of each. Prints one JSON object: by kind of request, and `calls`; and how many bytes more are read
for further ranges. Files of parcels count as large ones, of which a range fetches the end and its own parcel.
"""

from __future__ import annotations

import argparse
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from planted_curation import LABELERS, chain

from assay.infra.engines.calls import Call, Outcome
from assay.infra.engines.opening import SerialEngine
from assay.infra.environment import prepare_environment
from assay.infra.settings import Compute
from assay.infra.stages.runs import Run
from assay.infra.storage import folders
from assay.infra.storage.store import Store
from assay.infra.terminal import SilentProgress
from assay.tasks.ordering import sorting

FUNCTIONS, ROWS, FEW_ROWS = 10, 240_000, 2_400
CUTS = ((6, 2), (6, 4), (6, 8), (12, 2), (12, 4))
"""Partitions and ranges of the runs."""

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
_READ = "bytes"
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
        if outermost and name == "cat_file":
            _tally(_READ, len(answer))
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
    with Run("counted", store, lambda: CountedEngine(compute), SilentProgress(), compute=compute):
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few rows: whether it works")
    rows = FEW_ROWS if parser.parse_args().quick else ROWS
    requests = coefficients({cut: counted(*cut, FEW_ROWS) for cut in CUTS})
    requests.pop(_READ)
    read = coefficients({cut: counted(*cut, rows) for cut in CUTS})[_READ]
    print(json.dumps({"asked": requests, "bytes_more": {of: each for of, each in read.items() if "range" in of}}))


if __name__ == "__main__":
    prepare_environment()
    main()
