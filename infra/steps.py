"""One step of a stage over all its partitions: what is there already is taken, the rest is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from assay.infra.artifacts import Artifact, Table
from assay.infra.compute import Call, Outcome
from assay.infra.earlier import drawn_to_verify, not_the_same, require_computed, taken_parts
from assay.infra.errors import InputError, RunError, told
from assay.infra.manifests import Part, PartFile
from assay.infra.parquet import open_parquet
from assay.infra.partition_work import PartitionWork, differing_outputs, write_partition
from assay.infra.workbench import Workbench


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
    taken = taken_parts(bench, step.known_by, [item for item in step.work if item.index not in parts])
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
    drawn = drawn_to_verify(bench, step.names[0], taken)
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
