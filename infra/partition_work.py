"""What a worker does with one partition: read it, call the stage's function, write what came out, leave a mark."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from assay.infra.artifacts import Table
from assay.infra.errors import RunError
from assay.infra.exact import Mergeable
from assay.infra.folders import Folder
from assay.infra.manifests import Part, PartFile
from assay.infra.parquet import conform, read_part, write_part
from assay.infra.tallies import encode_tally


@dataclass(frozen=True)
class Tallied:
    """What a partition function returns when it also counted something: its table or tables, and the exact counts."""

    result: pa.Table | tuple[pa.Table, ...]
    tally: Mapping[str, Mergeable]


@dataclass(frozen=True)
class PartitionWork:
    """One partition's work, small enough to send: where to read and write, and which function to call."""

    name: str
    index: int
    store: str
    function: Callable[..., Any]
    sources: tuple[PartFile, ...] = ()
    piece: object = None
    aligned: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[type[Table], ...] = ()
    prefixes: tuple[str, ...] = ()
    mark: str = ""

    def arguments(self) -> tuple[object, ...]:
        """The piece, or the input tables, that the function takes."""
        if self.piece is not None:
            return (self.piece,)
        folder = Folder(self.store)
        return tuple(read_part(folder, source) for source in self.sources)


def write_partition(work: PartitionWork, constants: Mapping[str, Any]) -> Part:
    """The part that the function's result became; doing it twice, or on two workers, gives the same files."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work.function(*work.arguments(), **work.aligned, **constants)
    tally = result.tally if isinstance(result, Tallied) else None
    tables = result.result if isinstance(result, Tallied) else result
    tables = tables if isinstance(tables, tuple) else (tables,)
    if len(tables) != len(work.kinds):
        raise RunError(f"{work.name}: the function gave {len(tables)} tables, {len(work.kinds)} were announced.")
    folder = Folder(work.store)
    files = tuple(
        write_part(folder, f"{prefix}-{work.index:05d}", conform(table, kind, work.name))
        for prefix, kind, table in zip(work.prefixes, work.kinds, tables, strict=True)
    )
    worker, device = whereabouts()
    part = Part(
        work.index, files, tuple(source.row_sum for source in work.sources), worker, device,
        round(time.perf_counter() - wall, 4), round(time.process_time() - cpu, 4),
        encode_tally(tally) if tally is not None else None,
    )  # fmt: skip
    folder.write_json(work.mark, asdict(part))
    return part


def count_partition(work: PartitionWork, constants: Mapping[str, Any]) -> Mergeable:
    """What the function counted in one partition."""
    counted: Mergeable = work.function(*work.arguments(), **work.aligned, **constants)
    return counted


def whereabouts() -> tuple[str, str]:
    """The worker that this runs on, and `gpu` where it offers one, else `cpu`."""
    try:
        from distributed import get_worker

        worker = get_worker()
    except (ImportError, ValueError):
        return "this process", "cpu"
    offers = worker.state.total_resources
    return str(worker.name), "gpu" if offers.get("GPU") else "cpu"
