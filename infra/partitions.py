"""The only ways to touch many samples: `map_partitions`, `reduce_partitions`, `collect`.

They read artifacts partition by partition on the run's engine. Nothing they return depends on how many partitions or
workers there are, or on which finished first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy.typing as npt
import pyarrow as pa

from assay.infra.artifacts import Artifact, Table
from assay.infra.compute import Call, Folded, Outcome
from assay.infra.cuts import aligned_slices, common_plan
from assay.infra.errors import InputError, RunError, told
from assay.infra.exact import merge
from assay.infra.manifests import Part, PartFile
from assay.infra.parquet import open_parquet, read_part, read_rows
from assay.infra.partition_work import PartitionWork, Tallied, count_partition, write_partition
from assay.infra.runs import current_run
from assay.infra.tallies import decode_tally
from assay.infra.workbench import Workbench, current_workbench, workbench_here

__all__ = [
    "Tallied",
    "collect",
    "collect_rows",
    "columns_in",
    "first_rows",
    "map_partitions",
    "map_pieces",
    "read_files",
    "reduce_partitions",
    "tally_of",
]

_COLLECT_BYTES = 8 << 30


def map_partitions(
    function: Callable[..., Any],
    *inputs: Artifact[Any],
    into: type[Table] | tuple[type[Table], ...],
    name: str | None = None,
    aligned: Mapping[str, npt.NDArray[Any]] | None = None,
    rows: int | None = None,
    **constants: Any,
) -> Any:
    """The artifact (or tuple of them) whose partitions are `function` of the inputs' partitions.

    Inputs must be cut alike. Arrays in `aligned` are in sample order; each call gets its slice. With `rows`, the
    inputs are cut anew into partitions of that many rows. Constants go to every call and are shipped once. Partitions
    that an earlier, broken attempt finished are taken as they are.
    """
    bench = current_workbench()
    plan = common_plan(bench, inputs, rows)
    slices = aligned_slices(plan, aligned or {})
    kinds = into if isinstance(into, tuple) else (into,)
    names = [bench.name_output(kind, name) for kind in kinds]
    work = [
        PartitionWork(
            _named(names, cut.index, len(plan)),
            cut.index,
            bench.run.store.url,
            function,
            sources=cut.sources,
            aligned=slices[at],
            kinds=kinds,
            prefixes=_prefixes(bench, names),
            mark=_mark(bench, names[0], cut.index),
        )
        for at, cut in enumerate(plan)
    ]
    return _write(bench, names, kinds, work, constants, unpack=not isinstance(into, tuple))


def map_pieces(
    function: Callable[..., Any],
    pieces: Sequence[Any],
    *,
    into: type[Table] | tuple[type[Table], ...],
    name: str | None = None,
    **constants: Any,
) -> Any:
    """As `map_partitions`, over pieces of something outside the store (ranges of files); they fix the plan."""
    bench = current_workbench()
    kinds = into if isinstance(into, tuple) else (into,)
    names = [bench.name_output(kind, name) for kind in kinds]
    pieces = bench.settle_plan(names[0], list(pieces))
    work = [
        PartitionWork(
            _named(names, index, len(pieces)) + place_of(piece),
            index,
            bench.run.store.url,
            function,
            piece=piece,
            kinds=kinds,
            prefixes=_prefixes(bench, names),
            mark=_mark(bench, names[0], index),
        )
        for index, piece in enumerate(pieces)
    ]
    return _write(bench, names, kinds, work, constants, unpack=not isinstance(into, tuple))


def place_of(piece: object) -> str:
    """Where a piece lies, as far as it can say: whoever loses a worker to it needs to know which rows to look at."""
    place = getattr(piece, "place", "")
    return f" ({place})" if place else ""


def reduce_partitions(function: Callable[..., object], *inputs: Artifact[Any], **constants: Any) -> Any:
    """What `function` counts in every partition, merged exactly: the same for any cut and any order of completion."""
    bench = current_workbench()
    plan = common_plan(bench, inputs)
    engine = bench.run.engine
    shared = engine.share(constants)
    calls = (
        Call(
            at,
            f"{bench.title}, partition {cut.index + 1} of {len(plan)}",
            count_partition,
            (PartitionWork(bench.title, cut.index, bench.run.store.url, function, sources=cut.sources), shared),
            {},
        )
        for at, cut in enumerate(plan)
    )
    folded: Folded[Any] = engine.fold(
        calls, merge, gpu=bench.gpu, finished=lambda done: bench.progress(done, len(plan))
    )
    bench.computed += len(plan)
    _raise_failures(bench, folded.failed)
    return folded.value


def collect(artifact: Artifact[Any], columns: Sequence[str] | None) -> pa.Table:
    """The named columns of all partitions in sample order, in this process; None for all, if the table is small."""
    output, folder = _output(artifact), current_run().store.folder
    tables, size = [], 0
    for part in sorted(output.parts, key=lambda part: part.index):
        table = read_part(folder, part.files[output.place], None if columns is None else list(columns))
        size += table.nbytes
        if (bench := workbench_here()) is not None:
            bench.run.collected.take(bench, table.nbytes)
        if size > _COLLECT_BYTES:
            named = ", ".join(columns or ["all columns"])
            raise RunError(
                f"Collecting {named} of {artifact.kind} needs more than {_COLLECT_BYTES >> 30} GiB in one process: "
                "curate fewer samples at a time."
            )
        tables.append(table)
    return pa.concat_tables(tables)


def columns_in(artifact: Artifact[Any]) -> list[str]:
    """The names of an artifact's columns, from the head of its first file; no row is read."""
    output, folder = _output(artifact), current_run().store.folder
    with open_parquet(folder, output.parts[0].files[output.place].file) as parquet:
        names: list[str] = parquet.schema_arrow.names
    return names


def first_rows(artifact: Artifact[Any], rows: int) -> pa.Table:
    """The first rows of an artifact, or all if it has fewer, in this process; later partitions are not read."""
    output, folder = _output(artifact), current_run().store.folder
    tables: list[pa.Table] = []
    for part in sorted(output.parts, key=lambda part: part.index):
        tables.append(read_part(folder, part.files[output.place]))
        if sum(table.num_rows for table in tables) >= rows:
            break
    return pa.concat_tables(tables).slice(0, rows)


def collect_rows(artifact: Artifact[Any], ids: Collection[str]) -> pa.Table:
    """All columns of the few samples of these ids, in sample order, in this process; the others are not kept."""
    output, folder = _output(artifact), current_run().store.folder
    wanted = pa.array(sorted(ids), pa.string())
    parts = sorted(output.parts, key=lambda part: part.index)
    return pa.concat_tables([read_rows(folder, part.files[output.place], wanted) for part in parts])


def read_files(artifact: Artifact[Any]) -> dict[str, bytes]:
    """The content of every file of an artifact, each checked against its sha256."""
    import hashlib

    output, folder = _output(artifact), current_run().store.folder
    place = artifact.uri.rsplit("/", 1)[-1]
    contents: dict[str, bytes] = {}
    for file in (file.file for part in output.parts for file in part.files):
        name = file.split(f"/{place}/", 1)[1]
        content = folder.read(file) if folder.exists(file) else b""
        if hashlib.sha256(content).hexdigest() != output.checksums[name]:
            raise RunError(f"The file {folder.url}/{file} is not what was written there: delete it and run again.")
        contents[name] = content
    return contents


def tally_of(artifact: Artifact[Any]) -> Any:
    """What the partition functions of an artifact counted beside their tables, merged."""
    tallies = [decode_tally(part.tally) for part in _output(artifact).parts if part.tally is not None]
    merged: Any = {}
    for tally in tallies:
        merged = merge(merged, tally)
    return merged


def _output(artifact: Artifact[Any]) -> Any:
    try:
        return current_workbench().output(artifact)
    except LookupError:
        return current_run().store.output(artifact)


def _named(names: Sequence[str], index: int, total: int) -> str:
    return f"{names[0]}, partition {index + 1} of {total}"


def _prefixes(bench: Workbench, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{bench.place}/{name}/part" for name in names)


def _mark(bench: Workbench, step: str, index: int) -> str:
    return f"{bench.place}/marks/{step}/{index:05d}.json"


def _write(
    bench: Workbench,
    names: Sequence[str],
    kinds: tuple[type[Table], ...],
    work: Sequence[PartitionWork],
    constants: Mapping[str, Any],
    unpack: bool,
) -> Any:
    """Compute what is not finished yet, and hand out the artifacts."""
    finished = bench.finished_parts(names[0])
    parts = {item.index: finished[item.index] for item in work if _still_fits(finished.get(item.index), item)}
    bench.reused += len(parts)
    todo = [item for item in work if item.index not in parts]
    failures = []
    for outcome in _outcomes(bench, todo, constants, len(parts), len(work)):
        if outcome.error is not None:
            failures.append(outcome)
        else:
            part = cast(Part, outcome.value)
            parts[outcome.index] = part
            bench.computed += 1
            bench.count(part)
    _raise_failures(bench, failures)
    ordered = tuple(parts[index] for index in sorted(parts))
    if not ordered:
        raise RunError(f"Nothing of {names[0]} could be computed: every partition failed.")
    artifacts = tuple(
        bench.add_table(name, kind, _schema_of(bench, ordered[0].files[place]), ordered, place)
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    )
    return artifacts[0] if unpack else artifacts


def _still_fits(part: Part | None, work: PartitionWork) -> bool:
    """Whether a finished part was made from the partition that stands at its place now."""
    return part is not None and part.inputs == work.marks()


def _outcomes(
    bench: Workbench, todo: Sequence[PartitionWork], constants: Mapping[str, Any], done: int, total: int
) -> Iterator[Outcome]:
    if not todo:
        return
    engine = bench.run.engine
    shared = engine.share(dict(constants))
    calls = (Call(work.index, work.name, write_partition, (work, shared), {}) for work in todo)
    outcomes = engine.run(calls, gpu=bench.gpu)
    for outcome in outcomes:
        if isinstance(outcome.error, InputError):
            raise outcome.error
        done += 1
        bench.progress(done, total)
        yield outcome


def _raise_failures(bench: Workbench, failures: Sequence[Outcome]) -> None:
    """Fail in words where more partitions failed than the run tolerates; name those it does tolerate."""
    if not failures:
        return
    ordered = sorted(failures, key=lambda outcome: outcome.index)
    for outcome in ordered:
        if isinstance(outcome.error, InputError):
            raise outcome.error
    names = [f"{bench.title}, partition {outcome.index + 1}" for outcome in ordered]
    first = ordered[0].error
    if len(bench.quarantined) + len(failures) > bench.run.compute.quarantine:
        reason, listed = told(first, bench.run.masked), "; ".join(names[:5])
        failed = RunError(f"{len(failures)} partitions failed for good ({listed}). The first said: {reason}")
        raise failed from (None if bench.run.masked else first)
    bench.quarantined.extend(names)
    bench.run.notice(
        f"Left out after repeated failures: {'; '.join(names)}. The first said: {told(first, bench.run.masked)}"
    )


def _schema_of(bench: Workbench, file: PartFile) -> pa.Schema:
    with open_parquet(bench.run.store.folder, file.file) as parquet:
        return parquet.schema_arrow.remove_metadata()
