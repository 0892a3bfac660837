"""The only ways to touch many samples: `map_partitions`, `reduce_partitions`, `collect`.

They read artifacts partition by partition on the run's engine. Nothing they return depends on how many partitions or
workers there are, or on which finished first. Inputs that are cut differently are laid side by side by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import RunError
from assay.infra.stages.exact import decode_tally, merge
from assay.infra.stages.partition_work import POSTED, PartitionWork, Slice, Tallied
from assay.infra.stages.reuse import Reuse, content_of, step_of
from assay.infra.stages.runs import current_run
from assay.infra.stages.shuffle import post_of
from assay.infra.stages.stage import Workbench, current_workbench, workbench_here
from assay.infra.stages.steps import Step, count_partitions, mark_of, write_step
from assay.infra.storage.artifacts import Artifact, PartFile, Table
from assay.infra.storage.parquet import open_parquet, read_part, read_rows


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


def artifacts_of(
    inputs: Sequence[Artifact[Any] | Columns],
) -> tuple[tuple[Artifact[Any], ...], tuple[tuple[str, ...], ...]]:
    """The inputs themselves, and beside each the columns that are read of it; none where all are."""
    return (
        tuple(one.artifact if isinstance(one, Columns) else one for one in inputs),
        tuple(one.names if isinstance(one, Columns) else () for one in inputs),
    )


def kinds_of(inputs: Sequence[Artifact[Any] | Columns]) -> list[str]:
    """What each input is, for partitions to be looked up by; with its columns, where it is not the whole of them."""
    return [f"{one.artifact.kind}[{','.join(one.names)}]" if isinstance(one, Columns) else one.kind for one in inputs]


def common_plan(bench: Workbench, inputs: Sequence[Artifact[Any]], rows: int | None = None) -> list[Cut]:
    """The partitions of the first input (or new ones of `rows` rows), and beside each the same rows of the others."""
    if not inputs:
        raise TypeError("map_partitions and reduce_partitions need at least one artifact")
    outputs = [bench.output(artifact) for artifact in inputs]
    files = _in_all([{part.index: part.files[output.place] for part in output.parts} for output in outputs])
    if rows is not None:
        return _cut_anew(files, rows, inputs)
    shared = sorted(set.intersection(*(set(found) for found in files)))
    cuts = [Cut(i, files[0][i].rows, tuple((Slice(found[i], 0, found[i].rows),) for found in files)) for i in shared]
    if all(cut.rows == slices[0].rows for cut in cuts for slices in cut.sources) and len(shared) == len(files[0]):
        return cuts
    if len({sum(file.rows for file in found.values()) for found in files}) == 1:
        # The same rows, cut differently: an input that came from the store while another was made anew.
        laid = [_Laid.out(found) for found in files]
        return [
            Cut(index, file.rows, tuple(one.slices(start, file.rows) for one in laid))
            for index, file, start in zip(sorted(files[0]), laid[0].files, laid[0].starts.tolist(), strict=True)
        ]
    raise _mismatch(inputs)


def _in_all(files: list[dict[int, PartFile]]) -> list[dict[int, PartFile]]:
    """The partitions of inputs of which some lack partitions that were quarantined: only those that all have, as what
    is made of them lacks the others, too. Inputs that are cut differently stay as they are."""
    shared = set.intersection(*(set(found) for found in files))
    alike = shared and all(len({found[index].rows for found in files}) == 1 for index in shared)
    if not alike or not any(file.rows for found in files for index, file in found.items() if index not in shared):
        return files
    return [{index: found[index] for index in shared} for found in files]


def paired_plan(bench: Workbench, inputs: Sequence[Artifact[Any]]) -> list[Cut]:
    """The partitions that all inputs have, by number, each beside the others of its number with all of its rows."""
    outputs = [bench.output(artifact) for artifact in inputs]
    files = [{part.index: part.files[output.place] for part in output.parts} for output in outputs]
    return [
        Cut(index, files[0][index].rows, tuple((Slice(found[index], 0, found[index].rows),) for found in files))
        for index in sorted(set.intersection(*(set(found) for found in files)))
    ]


def _cut_anew(files: Sequence[Mapping[int, PartFile]], rows: int, inputs: Sequence[Artifact[Any]]) -> list[Cut]:
    """Partitions of at most `rows` rows over all that the inputs hold, as few and as even as can be; at least one.

    Even, because the last to end is what a stage waits for.
    """
    totals = {sum(file.rows for file in found.values()) for found in files}
    if len(totals) > 1:
        raise _mismatch(inputs)
    total = totals.pop()
    pieces = max(1, -(-total // rows))
    ends = [total * piece // pieces for piece in range(pieces + 1)]
    laid = [_Laid.out(found) for found in files]
    return [
        Cut(index, end - start, tuple(one.slices(start, end - start) for one in laid))
        for index, (start, end) in enumerate(pairwise(ends))
    ]


class UnlikeRowsError(RunError):
    """Inputs that do not hold the same rows."""


def _mismatch(inputs: Sequence[Artifact[Any]]) -> UnlikeRowsError:
    kinds = " and ".join(f"{artifact.kind} ({artifact.rows} rows)" for artifact in inputs)
    return UnlikeRowsError(f"{kinds} do not hold the same samples, so they cannot be worked on side by side.")


@dataclass(frozen=True)
class _Laid:
    """The parts of an input one after the other, and the rows at which each starts and ends."""

    files: list[PartFile]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def out(cls, parts: Mapping[int, PartFile]) -> _Laid:
        """The parts in their order."""
        files = [parts[index] for index in sorted(parts)]
        rows = np.array([file.rows for file in files], dtype=np.int64)
        ends: npt.NDArray[np.int64] = np.cumsum(rows)
        return cls(files, ends - rows, ends)

    def slices(self, start: int, rows: int) -> tuple[Slice, ...]:
        """The slices of parts that hold the given range of rows; found by halving, as there may be a partition of
        each of very many parts."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, start + rows, side="left"))
        found = [
            Slice(file, max(0, start - begin), min(start + rows, end) - max(start, begin))
            for file, begin, end in zip(
                self.files[first:last], self.starts[first:last].tolist(), self.ends[first:last].tolist(), strict=True
            )
        ]
        return tuple(found) or (Slice(self.files[0], 0, 0),)


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


__all__ = [
    "Columns",
    "Reuse",
    "Tallied",
    "collect",
    "collect_rows",
    "columns_in",
    "first_rows",
    "map_partitions",
    "map_pieces",
    "may_lack_partitions",
    "read_files",
    "reduce_partitions",
    "reduce_pieces",
    "side_by_side",
    "tally_of",
]

_COLLECT_BYTES = 8 << 30


def map_partitions(
    function: Callable[..., Any],
    *inputs: Artifact[Any] | Columns,
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
    slices = aligned_slices(plan, aligned or {})
    kinds = into if isinstance(into, tuple) else (into,)
    names = [bench.name_output(kind, name) for kind in kinds]
    step, given = step_of(bench, names, kinds, function, constants, reuse), kinds_of(inputs)
    constants, posted = _with_post(bench, constants, sent)
    work = [
        PartitionWork(
            _named(names, cut.index, len(plan)),
            cut.index,
            bench.run.store.url,
            function,
            sources=cut.sources,
            aligned=slices[at],
            columns=columns,
            posted=posted,
            kinds=kinds,
            prefixes=_prefixes(bench, names),
            mark=_mark(bench, names[0], cut.index),
        )
        for at, cut in enumerate(plan)
    ]
    work = [replace(item, content=content_of(item, step, given, reuse)) for item in work]
    written = write_step(bench, Step(names, kinds, work, constants, step))
    return written if isinstance(into, tuple) else written[0]


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
    kinds = into if isinstance(into, tuple) else (into,)
    names = [bench.name_output(kind, name) for kind in kinds]
    pieces = bench.settle_plan(names[0], list(pieces))
    step = step_of(bench, names, kinds, function, constants, reuse)
    constants, posted = _with_post(bench, constants, sent)
    work = [
        PartitionWork(
            _named(names, index, len(pieces)) + place_of(piece),
            index,
            bench.run.store.url,
            function,
            piece=piece,
            posted=posted,
            kinds=kinds,
            prefixes=_prefixes(bench, names),
            mark=_mark(bench, names[0], index),
        )
        for index, piece in enumerate(pieces)
    ]
    work = [replace(item, content=content_of(item, step, (), reuse)) for item in work]
    artifacts = write_step(bench, Step(names, kinds, work, constants, step))
    return artifacts if isinstance(into, tuple) else artifacts[0]


def place_of(piece: object) -> str:
    """Where a piece lies, as far as it can say: whoever loses a worker to it needs to know which rows to look at."""
    place = getattr(piece, "place", "")
    return f" ({place})" if place else ""


def reduce_partitions(
    function: Callable[..., object],
    *inputs: Artifact[Any] | Columns,
    reuse: Reuse | None = None,
    paired: bool = False,
    **constants: Any,
) -> Any:
    """What `function` counts in every partition, merged exactly: the same for any cut and any order of completion.

    With `reuse`, what an earlier result counted in the same partition is not counted again. With `paired`, partitions
    of the same number stand side by side whatever rows they hold, and those that an input lacks are left out: the
    function has to find out what belongs together, and the stage whether that was all.
    """
    bench = current_workbench()
    artifacts, columns = artifacts_of(inputs)
    plan = paired_plan(bench, artifacts) if paired else common_plan(bench, artifacts)
    work = [
        PartitionWork(
            f"{bench.title}, partition {cut.index + 1} of {len(plan)}",
            cut.index,
            bench.run.store.url,
            function,
            sources=cut.sources,
            columns=columns,
        )
        for cut in plan
    ]
    step, kinds = step_of(bench, (), (), function, constants, reuse), kinds_of(inputs)
    return count_partitions(bench, [_counting(bench, item, step, kinds, reuse) for item in work], constants, step)


def reduce_pieces(
    function: Callable[..., object],
    pieces: Sequence[Any],
    *,
    reuse: Reuse | None = None,
    sent: Artifact[Any] | None = None,
    **constants: Any,
) -> Any:
    """As `reduce_partitions`, over pieces of something outside the store."""
    bench = current_workbench()
    step = step_of(bench, (), (), function, constants, reuse)
    constants, posted = _with_post(bench, constants, sent)
    work = [
        PartitionWork(
            f"{bench.title}, partition {index + 1} of {len(pieces)}{place_of(piece)}",
            index,
            bench.run.store.url,
            function,
            piece=piece,
            posted=posted,
        )
        for index, piece in enumerate(pieces)
    ]
    return count_partitions(bench, [_counting(bench, item, step, (), reuse) for item in work], constants, step)


def side_by_side(*inputs: Artifact[Any] | Columns) -> int:
    """How many partitions a step over these inputs has: those that none of them lacks; 0 where they cannot be worked
    on side by side."""
    try:
        return len(common_plan(current_workbench(), artifacts_of(inputs)[0]))
    except UnlikeRowsError:
        return 0


def may_lack_partitions() -> bool:
    """Whether this run goes on without partitions that failed for good (`compute.quarantine`)."""
    return current_run().compute.quarantine > 0


def _with_post(bench: Workbench, constants: dict[str, Any], sent: Artifact[Any] | None) -> tuple[dict[str, Any], str]:
    """The constants of a step with what was sent to its calls, and what stands for that in a finished partition."""
    if sent is None:
        return constants, ""
    post = post_of(bench, sent)
    return constants | {POSTED: post}, post.mark


def _counting(
    bench: Workbench, work: PartitionWork, step: str, kinds: Sequence[str], reuse: Reuse | None
) -> PartitionWork:
    content = content_of(work, step, kinds, reuse)
    return replace(work, content=content, mark=mark_of(bench, content))


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
        name = file.split(f"/{place}/", 1)[-1]
        content = folder.read(file) if folder.exists(file) else b""
        if hashlib.sha256(content).hexdigest() != output.checksums.get(name):
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
