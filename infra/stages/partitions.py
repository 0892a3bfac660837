"""The only ways to touch many samples: `map_partitions`, `reduce_partitions`, `collect`.

They read artifacts partition by partition on the run's engine. Nothing they return depends on how many partitions or
workers there are, or on which finished first. Inputs that are cut differently are laid side by side by rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import RunError
from assay.infra.stages.exact import decode_tally, merge
from assay.infra.stages.partition_work import POSTED, PartitionWork, Slice
from assay.infra.stages.partition_work import Tallied as Tallied
from assay.infra.stages.reuse import Reuse as Reuse
from assay.infra.stages.reuse import Step
from assay.infra.stages.runs import current_run
from assay.infra.stages.shuffle import Grouped, Parcels, Post, Square, squares
from assay.infra.stages.stage import Workbench, current_workbench, workbench_here
from assay.infra.stages.steps import StepWork, count_partitions, mark_of, write_step
from assay.infra.storage.artifacts import Artifact, Output, PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import open_parquet, read_part, read_rows

_COLLECT_BYTES = 8 << 30
T = TypeVar("T", bound=Table)


@dataclass(frozen=True)
class Cut:
    """One partition across all inputs of a step."""

    index: int
    rows: int
    sources: tuple[tuple[Slice, ...], ...]


@dataclass(frozen=True)
class Columns:
    """An input of which a step reads these columns and no others."""

    artifact: Artifact[Any]
    names: tuple[str, ...]


Input = Artifact[Any] | Columns


def artifacts_of(inputs: Sequence[Input]) -> tuple[tuple[Artifact[Any], ...], tuple[tuple[str, ...], ...]]:
    """The inputs themselves, and beside each the columns that are read of it; none where all are."""
    whole = [given if isinstance(given, Columns) else Columns(given, ()) for given in inputs]
    return tuple(given.artifact for given in whole), tuple(given.names for given in whole)


def kinds_of(inputs: Sequence[Input]) -> list[str]:
    """What each input is, for partitions to be looked up by; with its columns, where it is not the whole of them."""
    return [
        f"{given.artifact.kind}[{','.join(given.names)}]" if isinstance(given, Columns) else given.kind
        for given in inputs
    ]


def common_plan(bench: Workbench, inputs: Sequence[Artifact[Any]], rows: int | None = None) -> list[Cut]:
    """The partitions of the first input, or new ones of at most `rows` rows, as few and as even as can be (the last to
    end is what a stage waits for); and beside each the same rows of the others."""
    if not inputs:
        raise TypeError("map_partitions and reduce_partitions need at least one artifact")
    files = _in_all(_files_of(bench, inputs))
    if rows is None:
        cuts = _paired(files)
        if len(cuts) == len(files[0]) and all(cut.rows == slices[0].rows for cut in cuts for slices in cut.sources):
            return cuts
    totals = {sum(file.rows for file in by_index.values()) for by_index in files}
    if len(totals) > 1:
        kinds = " and ".join(f"{artifact.kind} ({artifact.rows} rows)" for artifact in inputs)
        raise UnlikeRowsError(f"{kinds} do not hold the same samples, so they cannot be worked on side by side.")
    laid = [_LaidOut(by_index) for by_index in files]
    if rows is None:  # the same rows, cut differently: an input came from the store while another was made anew
        bounds = list(zip(sorted(files[0]), laid[0].starts.tolist(), laid[0].ends.tolist(), strict=True))
    else:
        total = totals.pop()
        pieces = max(1, -(-total // rows))
        ends = [total * piece // pieces for piece in range(pieces + 1)]
        bounds = [(index, start, end) for index, (start, end) in enumerate(pairwise(ends))]
    return [
        Cut(index, end - start, tuple(parts.slices(start, end - start) for parts in laid))
        for index, start, end in bounds
    ]


def _files_of(bench: Workbench, inputs: Sequence[Artifact[Any]]) -> list[dict[int, PartFile]]:
    """The files of each input, by the number of the partition."""
    outputs = [bench.output(artifact) for artifact in inputs]
    return [{part.index: part.files[output.place] for part in output.parts} for output in outputs]


def _in_all(files: list[dict[int, PartFile]]) -> list[dict[int, PartFile]]:
    """The partitions of inputs of which some lack partitions that were quarantined: only those that all have, as what
    is made of them lacks the others, too. Inputs that are cut differently stay as they are."""
    shared = set.intersection(*(set(parts) for parts in files))
    alike = shared and all(len({parts[index].rows for parts in files}) == 1 for index in shared)
    if not alike or not any(file.rows for parts in files for index, file in parts.items() if index not in shared):
        return files
    return [{index: parts[index] for index in shared} for parts in files]


def _paired(files: Sequence[Mapping[int, PartFile]]) -> list[Cut]:
    """The partitions that all inputs have, by number, each beside the others of its number with all of its rows."""
    return [
        Cut(index, files[0][index].rows, tuple((Slice(parts[index], 0, parts[index].rows),) for parts in files))
        for index in sorted(set.intersection(*(set(parts) for parts in files)))
    ]


class UnlikeRowsError(RunError):
    """Inputs that do not hold the same rows."""


class _LaidOut:
    """The parts of an input one after the other, and the rows at which each starts and ends."""

    def __init__(self, parts: Mapping[int, PartFile]) -> None:
        self.files = [parts[index] for index in sorted(parts)]
        rows = np.array([file.rows for file in self.files], dtype=np.int64)
        self.ends: npt.NDArray[np.int64] = np.cumsum(rows)
        self.starts = self.ends - rows

    def slices(self, start: int, rows: int) -> tuple[Slice, ...]:
        """The slices of parts that hold the given range of rows; found by halving, as there may be a partition of
        each of very many parts."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, start + rows, side="left"))
        slices = [
            Slice(file, max(0, start - begin), min(start + rows, end) - max(start, begin))
            for file, begin, end in zip(
                self.files[first:last], self.starts[first:last].tolist(), self.ends[first:last].tolist(), strict=True
            )
        ]
        return tuple(slices) or (Slice(self.files[0], 0, 0),)


def aligned_slices(plan: Sequence[Cut], aligned: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, npt.NDArray[Any]]]:
    """The rows of arrays in sample order that belong to each partition."""
    ends = np.cumsum([cut.rows for cut in plan])
    for name, array in aligned.items():
        if len(array) != (ends[-1] if len(ends) else 0):
            raise RunError(f"The aligned array {name!r} has {len(array)} rows, the samples {ends[-1]}.")
    return [
        {name: array[end - cut.rows : end] for name, array in aligned.items()}
        for cut, end in zip(plan, ends, strict=True)
    ]


@overload
def map_partitions(function: Callable[..., Any], *inputs: Input, into: type[T], **options: Any) -> Artifact[T]: ...
@overload
def map_partitions(
    function: Callable[..., Any], *inputs: Input, into: tuple[type[Table], ...], **options: Any
) -> tuple[Artifact[Any], ...]: ...
def map_partitions(
    function: Callable[..., Any],
    *inputs: Input,
    into: type[Table] | tuple[type[Table], ...],
    name: str | None = None,
    aligned: Mapping[str, npt.NDArray[Any]] | None = None,
    rows: int | None = None,
    reuse: Reuse | None = None,
    sent: Artifact[Any] | None = None,
    **constants: Any,
) -> Any:
    """The artifact (or tuple of them) whose partitions are `function` of the inputs' partitions.

    Inputs must be cut alike. Arrays in `aligned` are in sample order; each call gets its slice. With `rows`, the
    inputs are cut anew into partitions of that many rows. Constants go to every call and are shipped once. Partitions
    that an earlier, broken attempt finished are taken as they are; with `reuse`, those that another result holds too.
    What the parcels in `sent` hold for a call comes after its inputs, by sender.
    """
    bench = current_workbench()
    artifacts, columns = artifacts_of(inputs)
    plan = common_plan(bench, artifacts, rows)
    work = [
        PartitionWork("", cut.index, bench.run.store.url, function, cut.sources, aligned=beside, columns=columns)
        for cut, beside in zip(plan, aligned_slices(plan, aligned or {}), strict=True)
    ]
    return _Step(bench, function, constants, kinds_of(inputs), reuse, sent).written(work, into, name)


@overload
def map_pieces(
    function: Callable[..., Any], pieces: Sequence[Any], *, into: type[T], **options: Any
) -> Artifact[T]: ...
@overload
def map_pieces(
    function: Callable[..., Any], pieces: Sequence[Any], *, into: tuple[type[Table], ...], **options: Any
) -> tuple[Artifact[Any], ...]: ...
def map_pieces(
    function: Callable[..., Any],
    pieces: Sequence[Any],
    *,
    into: type[Table] | tuple[type[Table], ...],
    name: str | None = None,
    reuse: Reuse | None = None,
    sent: Artifact[Any] | None = None,
    **constants: Any,
) -> Any:
    """As `map_partitions`, over pieces of something outside the store (ranges of files); they fix the plan."""
    bench = current_workbench()
    step = bench.name_output(into[0] if isinstance(into, tuple) else into, name)
    work = _pieces(bench, bench.settle_plan(step, list(pieces)), function)
    return _Step(bench, function, constants, (), reuse, sent).written(work, into, name)


def _pieces(bench: Workbench, pieces: Sequence[Any], function: Callable[..., Any]) -> list[PartitionWork]:
    return [
        PartitionWork(f" ({place})" if place else "", index, bench.run.store.url, function, piece=piece)
        for index, piece in enumerate(pieces)
        for place in [getattr(piece, "place", "")]
    ]


_ALL = slice(None)


@dataclass(frozen=True)
class _Step(Step):
    """A step that is to be carried out; `sent` is what earlier partitions sent to its calls."""

    sent: Artifact[Any] | None = None

    def written(
        self, work: Sequence[PartitionWork], into: type[Table] | tuple[type[Table], ...], name: str | None
    ) -> Any:
        """The artifacts that it makes of these partitions."""
        bench, kinds = self.bench, into if isinstance(into, tuple) else (into,)
        names = [bench.name_output(kind, name) for kind in kinds]
        key = self.key(names, kinds)
        constants, posted = self._with_post(len(work))
        todo = [
            replace(
                item,
                name=f"{names[0]}, partition {item.index + 1} of {len(work)}{item.name}",
                posted=posted,
                kinds=kinds,
                prefixes=tuple(f"{bench.place}/{output}/part" for output in names),
                mark=f"{bench.place}/marks/{names[0]}/{item.index:05d}.json",
            )
            for item in work
        ]
        todo = [replace(item, content=self.lookup_key(item, key)) for item in todo]
        artifacts = write_step(StepWork(bench, todo, constants, key), names, kinds)
        return artifacts if isinstance(into, tuple) else artifacts[0]

    def counted(self, work: Sequence[PartitionWork], only: slice = _ALL) -> Any:
        """What it counts in these partitions, or only in some of them."""
        key = self.key((), ())
        constants, posted = self._with_post(len(work))
        todo = []
        for item in work[only]:
            name = f"{self.bench.title}, partition {item.index + 1} of {len(work)}{item.name}"
            content = self.lookup_key(replace(item, posted=posted), key)
            todo.append(replace(item, name=name, posted=posted, content=content, mark=mark_of(self.bench, content)))
        return count_partitions(StepWork(self.bench, todo, constants, key))

    def _with_post(self, addressees: int) -> tuple[dict[str, Any], str]:
        """The constants with what was sent to the calls, and what stands for that in a finished partition."""
        if self.sent is None:
            return self.constants, ""
        post = _post(self.bench, self.sent)
        # On a disk a request costs next to nothing, and a first round would write and read every parcel once more.
        if not self.bench.run.store.folder.is_local:
            wanted = squares(len(post.files), addressees, sum(file.bytes for _, file in post.files))
            post = _grouped(self.bench, post, wanted) if wanted else post
        return self.constants | {POSTED: post}, post.mark


def _post(bench: Workbench, sent: Artifact[Any]) -> Post:
    output = bench.output(sent)
    return Post(bench.run.store.url, tuple(sorted((part.index, part.files[output.place]) for part in output.parts)))


def _grouped(bench: Workbench, post: Post, wanted: list[Square]) -> Post:
    """The same parcels after a first round, which is made once in a stage."""
    name = f"grouped-{post.mark}-{len(wanted)}"
    known = bench.outputs.get(name)
    made = known.artifact if known else map_pieces(bundles, wanted, into=Parcels, name=name, post=post)
    if made.partitions != len(wanted):
        raise RunError(f"{len(wanted) - made.partitions} of {len(wanted)} groups of parcels are missing: run again.")
    (first, last), files = wanted[0].addressees, len({square.senders for square in wanted})
    return replace(_post(bench, made), grouped=Grouped(files, last - first, len(post.files)))


def bundles(piece: Square, post: Post) -> pa.Table:
    """What some partitions sent to some calls of the next step, put together."""
    return post.bundled(piece)


def reduce_partitions(
    function: Callable[..., object], *inputs: Input, reuse: Reuse | None = None, paired: bool = False, **constants: Any
) -> Any:
    """What `function` counts in every partition, merged exactly: the same for any cut and any order of completion.

    With `reuse`, what an earlier result counted in the same partition is not counted again. With `paired`, partitions
    of the same number stand side by side whatever rows they hold, and those that an input lacks are left out: the
    function has to find out what belongs together, and the stage whether that was all.
    """
    bench = current_workbench()
    artifacts, columns = artifacts_of(inputs)
    plan = _paired(_files_of(bench, artifacts)) if paired else common_plan(bench, artifacts)
    work = [PartitionWork("", cut.index, bench.run.store.url, function, cut.sources, columns=columns) for cut in plan]
    return _Step(bench, function, constants, kinds_of(inputs), reuse).counted(work)


def reduce_pieces(
    function: Callable[..., object],
    pieces: Sequence[Any],
    *,
    reuse: Reuse | None = None,
    sent: Artifact[Any] | None = None,
    only: slice = _ALL,
    **constants: Any,
) -> Any:
    """As `reduce_partitions`, over pieces of something outside the store, or `only` some of them."""
    bench = current_workbench()
    return _Step(bench, function, constants, (), reuse, sent).counted(_pieces(bench, pieces, function), only)


def side_by_side(*inputs: Input) -> int:
    """How many partitions a step over these inputs has: those that none of them lacks; 0 where they cannot be worked
    on side by side."""
    try:
        return len(common_plan(current_workbench(), artifacts_of(inputs)[0]))
    except UnlikeRowsError:
        return 0


def may_lack_partitions() -> bool:
    """Whether this run goes on without partitions that failed for good (`compute.quarantine`)."""
    return current_run().compute.quarantine > 0


def collect(artifact: Artifact[Any], columns: Sequence[str] | None) -> pa.Table:
    """The named columns of all partitions in sample order, in this process; None for all, if the table is small."""
    tables, size = [], 0
    folder, files = _files_in_order(artifact)
    for file in files:
        table = read_part(folder, file, None if columns is None else list(columns))
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
    folder, files = _files_in_order(artifact)
    with open_parquet(folder, files[0].file) as parquet:
        return list(parquet.schema_arrow.names)


def missing_in(artifact: Artifact[Any], column: str) -> int:
    """In how many rows the column holds nothing; one partition is read at a time."""
    folder, files = _files_in_order(artifact)
    return sum(read_part(folder, file, [column])[column].null_count for file in files)


def first_rows(artifact: Artifact[Any], rows: int) -> pa.Table:
    """The first rows of an artifact, or all if it has fewer, in this process; later partitions are not read."""
    tables: list[pa.Table] = []
    folder, files = _files_in_order(artifact)
    for file in files:
        tables.append(read_part(folder, file))
        if sum(table.num_rows for table in tables) >= rows:
            break
    return pa.concat_tables(tables).slice(0, rows)


def collect_rows(artifact: Artifact[Any], ids: Collection[str]) -> pa.Table:
    """All columns of the few samples of these ids, in sample order, in this process; the others are not kept."""
    return read_rows(*_files_in_order(artifact), ids)


def read_files(artifact: Artifact[Any]) -> dict[str, bytes]:
    """The content of every file of an artifact, each checked against its sha256."""
    return current_run().store.contents(_output(artifact))


def tally_of(artifact: Artifact[Any]) -> Any:
    """What the partition functions of an artifact counted beside their tables, merged."""
    tallies = [decode_tally(part.tally) for part in _output(artifact).parts if part.tally is not None]
    nothing: Any = {}
    return functools.reduce(merge, tallies, nothing)


def _output(artifact: Artifact[Any]) -> Output:
    """The parts behind a handle: of the stage that calls, else of the store."""
    bench = workbench_here()
    return current_run().store.output(artifact) if bench is None else bench.output(artifact)


def _files_in_order(artifact: Artifact[Any]) -> tuple[Folder, list[PartFile]]:
    """The folder of the store, and an artifact's files in it, in sample order."""
    return current_run().store.folder, _output(artifact).in_order
