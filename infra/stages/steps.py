"""One step of a stage over all its partitions: what is there already is taken, the rest is computed or counted, and
some of what was taken is computed again to verify it.

What a reduction counted in a partition is merged exactly. A worker leaves it in a small file beside the stage's
results, where it comes back out of the file as it went in and is no more than `MOST_COUNT_BYTES`; such files are
looked up as partitions are.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from assay.infra.engines.calls import Call, Folded, Outcome
from assay.infra.errors import InputError, RunError, told
from assay.infra.stages.exact import decode_tally, encode_tally, merge, mergeable
from assay.infra.stages.partition_work import HERE, PartitionWork, called, differing_outputs, write_partition
from assay.infra.stages.reuse import (
    draw_to_verify,
    find_earlier_parts,
    not_the_same,
    require_computed,
    take_earlier_parts,
)
from assay.infra.stages.stage import Workbench
from assay.infra.storage.artifacts import Artifact, Manifest, Part, PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.keys import InexactError, fingerprint
from assay.infra.storage.parquet import open_parquet


@dataclass(frozen=True)
class Step:
    """The outputs of a step by name and kind, its partitions' work, and the constants that all of them share."""

    names: Sequence[str]
    kinds: tuple[type[Table], ...]
    work: Sequence[PartitionWork]
    constants: Mapping[str, Any]
    known_by: str = ""
    """What its partitions share as earlier results know it; empty where none is taken from them."""


def write_step(bench: Workbench, step: Step) -> tuple[Artifact[Any], ...]:
    """Compute what is not finished yet and no earlier result holds, and hand out the artifacts."""
    finished = bench.finished_parts(step.names[0])
    parts = {item.index: finished[item.index] for item in step.work if _still_fits(finished.get(item.index), item)}
    bench.reused += len(parts)
    taken = take_earlier_parts(bench, step.known_by, [item for item in step.work if item.index not in parts])
    _verify(bench, step, taken)
    parts |= taken
    bench.taken += len(taken)
    bench.may_be_taken += sum(bool(item.content) for item in step.work)
    todo = [item for item in step.work if item.index not in parts]
    failures = []
    for outcome in _outcomes(bench, todo, step.constants, len(parts), len(step.work)):
        if outcome.error is not None:
            failures.append(outcome)
        else:
            part = cast(Part, outcome.value)
            parts[outcome.index] = part
            bench.computed += 1
            bench.count(part)
    raise_failures(bench, failures)
    ordered = tuple(parts[index] for index in sorted(parts))
    if not ordered:
        raise RunError(f"Nothing of {step.names[0]} could be computed: every partition failed.")
    return tuple(
        bench.add_table(name, kind, _schema_of(bench, ordered[0].files[place]), ordered, place)
        for place, (name, kind) in enumerate(zip(step.names, step.kinds, strict=True))
    )


def raise_failures(bench: Workbench, failures: Sequence[Outcome]) -> None:
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


def _verify(bench: Workbench, step: Step, taken: Mapping[int, Part]) -> None:
    """Compute some of the parts again that were taken, drawn by the run's seed; RunError where one is not the same."""
    drawn = draw_to_verify(bench, step.names[0], taken)
    chosen = [item for item in step.work if item.index in drawn]
    parts = {item.index: taken[item.index] for item in chosen}
    for outcome in _calls(bench, chosen, step.constants, differing_outputs, parts):
        work = next(item for item in chosen if item.index == outcome.index)
        require_computed(bench, work, outcome)
        if outcome.value:
            kinds = " and ".join(cast(tuple[str, ...], outcome.value))
            raise not_the_same(bench, work, parts[outcome.index].taken_from, kinds)
        bench.verified += 1


def _still_fits(part: Part | None, work: PartitionWork) -> bool:
    """Whether a finished part was made from the partition that stands at its place now."""
    return part is not None and part.inputs == work.marks()


def _outcomes(
    bench: Workbench, todo: Sequence[PartitionWork], constants: Mapping[str, Any], done: int, total: int
) -> Iterator[Outcome]:
    for outcome in _calls(bench, todo, constants, write_partition):
        if isinstance(outcome.error, InputError):
            raise outcome.error
        done += 1
        bench.progress(done, total)
        yield outcome


def _calls(
    bench: Workbench,
    todo: Sequence[PartitionWork],
    constants: Mapping[str, Any],
    function: Callable[..., object],
    parts: Mapping[int, Part] | None = None,
) -> Iterator[Outcome]:
    """What becomes of every partition's work on the run's engine; `parts` go to the function beside it, if given."""
    if not todo:
        return
    engine = bench.engine
    shared = engine.share(dict(constants))
    more = {work.index: () if parts is None else (parts[work.index],) for work in todo}
    calls = (Call(work.index, work.name, function, (work, shared, *more[work.index]), {}) for work in todo)
    yield from engine.run(calls, gpu=bench.gpu)


def _schema_of(bench: Workbench, file: PartFile) -> pa.Schema:
    with open_parquet(bench.run.store.folder, file.file) as parquet:
        return parquet.schema_arrow.remove_metadata()


MOST_COUNT_BYTES = 4 << 20


def count_partitions(
    bench: Workbench, work: Sequence[PartitionWork], constants: Mapping[str, Any], step: str = ""
) -> Any:
    """What the function of the work counts in all partitions; those of a known `step` are looked up first."""
    known = _known_counts(bench, step, work, constants)
    todo = [item for item in work if item.index not in known]
    counted = [known[index] for index in sorted(known)]
    if todo or not work:
        new = _counted(bench, todo, constants, len(known), len(work))
        counted += [] if new is None else [new]  # where all partitions failed that the run may do without
    bench.computed += len(todo)
    _record_counts(bench, work, len(known))
    return functools.reduce(merge, counted) if counted else None


def count_partition(work: PartitionWork, constants: Mapping[str, Any]) -> object:
    """What the function counted in one partition, in the one form in which counts merge exactly."""
    counted: object = called(work, constants)
    value = mergeable(counted, work.name)
    if work.mark:
        _keep(Folder(work.store), work.mark, value)
    return value


def mark_of(bench: Workbench, content: str) -> str:
    """Where a count is kept; nowhere where it could not be looked up."""
    return f"{bench.place}/counts/{content}.json" if content else ""


def _counted(
    bench: Workbench, todo: Sequence[PartitionWork], constants: Mapping[str, Any], done: int, total: int
) -> Any:
    engine = bench.engine
    shared = engine.share(dict(constants))
    calls = (Call(item.index, item.name, count_partition, (item, shared), {}) for item in todo)
    folded: Folded[Any] = engine.fold(
        calls, merge, gpu=bench.gpu, finished=lambda more: bench.progress(done + more, total)
    )
    raise_failures(bench, folded.failed)
    return folded.value


def _keep(folder: Folder, name: str, value: object) -> None:
    """Write a count down, if it can be read again as it is."""
    if _bytes_in(value) > MOST_COUNT_BYTES:
        return
    try:
        tally = encode_tally({"counted": value})
        text = json.dumps(tally)
        same = fingerprint(decode_tally(json.loads(text))["counted"]) == fingerprint(value)
    except (TypeError, InexactError):
        return
    if same and len(text) <= MOST_COUNT_BYTES:
        folder.write_json(name, {"tally": tally, "check": _check(tally)})


def _bytes_in(value: object) -> int:
    """How large the arrays of a count are: as text they would be larger still."""
    if isinstance(value, Mapping):
        return sum(map(_bytes_in, value.values()))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _read(folder: Folder, name: str) -> tuple[Any, ...]:
    """The count in a file, alone in a tuple; nothing where the file is not what was written."""
    value = folder.read_json(name) or {}
    tally = value.get("tally")
    if tally is None or value.get("check") != _check(tally):
        return ()
    return (decode_tally(tally)["counted"],)


def _check(tally: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(tally, sort_keys=True).encode(), digest_size=16).hexdigest()


def _known_counts(
    bench: Workbench, step: str, work: Sequence[PartitionWork], constants: Mapping[str, Any]
) -> dict[int, Any]:
    """By index what earlier results, or a broken attempt at this one, have counted already."""
    wanted = {item.content for item in work if item.content}
    if not step or not wanted or bench.run.fresh:
        return {}
    folder = bench.run.store.folder
    there = folder.sizes(f"{bench.place}/counts")
    earlier = find_earlier_parts(
        bench, step, {content for content in wanted if mark_of(bench, content) not in there}, _counts_in
    )
    known: dict[int, Any] = {}
    for item in work:
        part = earlier.get(item.content)
        if item.mark in there or (part is not None and folder.share(part.files[0].file, item.mark)):
            for value in _read(folder, item.mark):
                known[item.index] = value
    origins = {item.index: earlier[item.content].taken_from for item in work if item.content in earlier}
    _verify_counts(bench, work, constants, {index: known[index] for index in known if index in origins}, origins)
    return known


def _counts_in(manifest: Manifest) -> Iterator[Part]:
    yield from manifest.counted


def _verify_counts(
    bench: Workbench,
    work: Sequence[PartitionWork],
    constants: Mapping[str, Any],
    taken: Mapping[int, Any],
    origins: Mapping[int, str],
) -> None:
    """Count some of the partitions again whose counts were taken; RunError where one is not the same."""
    drawn = draw_to_verify(bench, "counts", taken)
    chosen = {item.index: replace(item, mark="") for item in work if item.index in drawn}
    if not chosen:
        return
    engine = bench.engine
    shared = engine.share(dict(constants))
    calls = (Call(index, item.name, count_partition, (item, shared), {}) for index, item in chosen.items())
    for outcome in engine.run(calls, gpu=bench.gpu):
        again = chosen[outcome.index]
        require_computed(bench, again, outcome)
        if fingerprint(outcome.value) != fingerprint(taken[outcome.index]):
            raise not_the_same(bench, again, origins[outcome.index], "counts")
        bench.counts_verified += 1


def _record_counts(bench: Workbench, work: Sequence[PartitionWork], taken: int) -> None:
    """Keep in mind what was taken, and which counts lie there now for others to take."""
    bench.counts_taken += taken
    bench.counts_looked_for += sum(bool(item.content) for item in work)
    there = bench.run.store.folder.sizes(f"{bench.place}/counts") if any(item.content for item in work) else {}
    for item in work:
        if item.mark in there:
            file = PartFile(item.mark, 0, "", there[item.mark])
            bench.counted.append(Part(item.index, (file,), (), HERE, "cpu", 0.0, 0.0, content=item.content))
