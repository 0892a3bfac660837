"""One step of a stage over all its partitions: what is there already is taken, the rest is computed or counted, and
some of what was taken is computed again to verify it.

What a reduction counted in a partition is merged exactly. A worker leaves it in a small file beside the stage's
results, where it comes back out of the file as it went in and is no more than `MOST_COUNT_BYTES`; such files are
looked up as partitions are.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from assay.infra.engines.calls import Call, Folded, Outcome
from assay.infra.errors import AssayError, InputError, RunError, error_text
from assay.infra.stages.exact import Seeds, decode_tally, encode_tally, merge, mergeable
from assay.infra.stages.partition_work import (
    HERE,
    PartitionWork,
    call_function,
    differing_outputs,
    whereabouts,
    write_partition,
)
from assay.infra.stages.reuse import differs_error, find_earlier_parts, json_hash, take_earlier_parts
from assay.infra.stages.stage import Workbench, current_workbench
from assay.infra.storage.artifacts import Artifact, Part, PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.keys import InexactError, fingerprint
from assay.infra.storage.parquet import open_parquet

V = TypeVar("V")
MOST_COUNT_BYTES = 4 << 20


@dataclass(frozen=True)
class StepWork:
    """The partitions of a step, the constants that all share, and the key by which earlier results know it: empty where
    none is taken from them."""

    bench: Workbench
    work: Sequence[PartitionWork]
    constants: Mapping[str, Any]
    key: str

    def calls(
        self, function: Callable[..., object], work: Iterable[PartitionWork], parts: Mapping[int, Part] | None = None
    ) -> Iterator[Call]:
        """The function for the work of partitions, with the constants and, if given, its part beside it."""
        shared = self.bench.engine.share(dict(self.constants))
        for item in work:
            given = item, shared, *(() if parts is None else (parts[item.index],))
            yield Call(item.index, item.name, function, given, priority=self.bench.priority)

    def computed_again(
        self,
        name: str,
        function: Callable[..., object],
        taken: Collection[int],
        parts: Mapping[int, Part] | None = None,
    ) -> Iterator[tuple[PartitionWork, Any]]:
        """What the function gives for some of the partitions that were taken: the next of an order that the run's seed
        draws, day by day, so that all of n come up in n / verify nights in a row."""
        bench = self.bench
        count = min(bench.run.verify, len(taken))
        if not count:
            return
        generator = Seeds(bench.run.seed, f"verify {bench.stage} {name}").generator()
        order = generator.permutation(sorted(taken)).tolist()
        day = datetime.fromisoformat(bench.run.record.started).toordinal()
        drawn = {order[(day * count + at) % len(order)] for at in range(count)}
        chosen = {item.index: item for item in self.work if item.index in drawn}
        for outcome in bench.engine.run(self.calls(function, chosen.values(), parts), gpu=bench.gpu):
            item = chosen[outcome.index]
            if outcome.error is not None:
                reason = error_text(outcome.error, bench.run.masked)
                raise RunError(f"{bench.title}: {item.name}, could not be computed again to verify it: {reason}") from (
                    None if bench.run.masked else outcome.error
                )
            yield item, outcome.value


def write_step(step: StepWork, names: Sequence[str], kinds: Sequence[type[Table]]) -> tuple[Artifact[Any], ...]:
    """Compute what is not finished yet and no earlier result holds, and hand out the artifacts."""
    bench, work = step.bench, step.work
    finished, folder = bench.finished_parts(names[0]), bench.run.store.folder
    parts = {  # those made from the partition that stands at their place now
        item.index: finished[item.index]
        for item in work
        if item.index in finished and finished[item.index].inputs == item.marks()
    }
    bench.reused += len(parts)
    taken = take_earlier_parts(bench, step.key, [item for item in work if item.index not in parts])
    for item, differing in step.computed_again(names[0], differing_outputs, taken, taken):
        if differing:
            raise differs_error(bench, item, taken[item.index].taken_from, " and ".join(differing))
        bench.verified += 1
    parts |= taken
    bench.taken += len(taken)
    bench.may_be_taken += sum(bool(item.content) for item in work)
    failures = []
    todo = [item for item in work if item.index not in parts]
    for outcome in bench.engine.run(step.calls(write_partition, todo), gpu=bench.gpu) if todo else ():
        if isinstance(outcome.error, InputError):
            raise outcome.error
        if outcome.error is not None:
            failures.append(outcome)
        else:
            parts[outcome.index] = part = cast(Part, outcome.value)
            bench.computed += 1
            bench.count(part)
        bench.progress(len(parts) + len(failures), len(work))
    raise_failures(bench, failures)
    ordered = tuple(parts[index] for index in sorted(parts))
    if not ordered:
        raise RunError(f"Nothing of {names[0]} could be computed: every partition failed.")
    artifacts = []
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        with open_parquet(folder, ordered[0].files[place].file) as parquet:
            schema = parquet.schema_arrow.remove_metadata()
        artifacts.append(bench.add_table(name, kind, schema, ordered, place))
    return tuple(artifacts)


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
        reason, listed = error_text(first, bench.run.masked), "; ".join(names[:5])
        many = "1 partition" if len(failures) == 1 else f"{len(failures)} partitions"
        failed = RunError(f"{many} failed for good ({listed}). The first said: {reason}")
        raise failed from (None if bench.run.masked else first)
    bench.quarantined.extend(names)
    bench.run.notice(
        f"Left out after repeated failures: {'; '.join(names)}. The first said: {error_text(first, bench.run.masked)}"
    )


def on_workers(function: Callable[..., V], *each: Sequence[object], **constants: Any) -> list[V]:
    """What the function gives for the first of each, for the second, and so on, computed on the workers.

    For work that belongs to no partition and is too long for the flow's process, where all stages share one processor.
    """
    bench = current_workbench()
    shared = bench.engine.share(constants)
    calls = [
        Call(index, f"{bench.title}, call {index + 1}", _timed, (function, given, shared), priority=bench.priority)
        for index, given in enumerate(zip(*each, strict=True))
    ]
    values = dict[int, V]()
    for outcome in bench.engine.run(calls, gpu=bench.gpu):
        raise_failure(bench, outcome, calls[outcome.index].name)
        values[outcome.index], seconds = cast("tuple[V, float]", outcome.value)
        if outcome.worker != HERE:
            bench.spent(seconds, seconds)
    return [values[index] for index in range(len(calls))]


def _timed(function: Callable[..., V], given: tuple[object, ...], constants: Mapping[str, Any]) -> tuple[V, float]:
    """What the function gives, and the seconds of its processor."""
    began = time.process_time()
    return function(*given, **constants), time.process_time() - began


def raise_failure(bench: Workbench, outcome: Outcome, what: str) -> None:
    """Raise what a call ended with, in words, if it failed."""
    error, masked = outcome.error, bench.run.masked
    if isinstance(error, AssayError):
        raise error
    if error is not None:
        raise RunError(f"{what} failed for good: {error_text(error, masked)}") from (None if masked else error)


def count_partitions(step: StepWork) -> Any:
    """What the function of the work counts in all partitions; those of a step with a key are looked up first."""
    bench, work, known = step.bench, step.work, _known_counts(step)
    todo = [item for item in work if item.index not in known]
    counted = [known[index] for index in sorted(known)]
    if todo or not work:
        calls, done = step.calls(timed_count, todo), lambda more: bench.progress(len(known) + more, len(work))
        folded: Folded[Timed] = bench.engine.fold(calls, merge_timed, gpu=bench.gpu, done=done)
        raise_failures(bench, folded.failed)
        if folded.value is not None:  # None where all failed that the run may do without
            counted.append(folded.value.counted)
            bench.spent(folded.value.seconds, folded.value.longest)
    bench.computed += len(todo)
    # Keep in mind what was taken, and which counts lie there now for others to take.
    bench.counts_taken += len(known)
    bench.counts_looked_for += sum(bool(item.content) for item in work)
    there = bench.run.store.folder.sizes(f"{bench.place}/counts") if any(item.content for item in work) else {}
    for item in work:
        if item.mark in there:
            file = PartFile(item.mark, 0, "", there[item.mark])
            bench.counted.append(Part(item.index, (file,), (), HERE, "cpu", 0.0, 0.0, content=item.content))
    return functools.reduce(merge, counted) if counted else None


class Timed(NamedTuple):
    """What was counted in some partitions, and the seconds of workers' processors, in all and of the longest call."""

    counted: Any
    seconds: float
    longest: float


def timed_count(work: PartitionWork, constants: Mapping[str, Any]) -> Timed:
    """What the function counted in one partition, with its time on a worker; 0 in this process, whose time is measured
    with the stage's own."""
    counted, seconds = _timed(count_partition, (work, constants), {})
    spent = seconds if whereabouts()[0] != HERE else 0.0
    return Timed(counted, spent, spent)


def merge_timed(left: Timed, right: Timed) -> Timed:
    """Two counts merged: seconds add up, the longest call is the longer of the two."""
    return Timed(merge(left.counted, right.counted), left.seconds + right.seconds, max(left.longest, right.longest))


def count_partition(work: PartitionWork, constants: Mapping[str, Any]) -> object:
    """What the function counted in one partition, in the one form in which counts merge exactly."""
    counted: object = call_function(work, constants)
    value = mergeable(counted, work.name)
    if work.mark:
        _keep(Folder(work.store), work.mark, value)
    return value


def mark_of(bench: Workbench, content: str) -> str:
    """Where a count is kept; nowhere where it could not be looked up."""
    return f"{bench.place}/counts/{content}.json" if content else ""


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
        folder.write_json(name, {"tally": tally, "check": json_hash(tally)})


def _bytes_in(value: object) -> int:
    """How large the arrays of a count are: as text they would be larger still."""
    if isinstance(value, Mapping):
        return sum(map(_bytes_in, value.values()))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _read(folder: Folder, name: str) -> tuple[Any, ...]:
    """The count in a file, alone in a tuple; nothing where the file is not what was written."""
    value = folder.read_json(name) or {}
    tally = value.get("tally")
    if tally is None or value.get("check") != json_hash(tally):
        return ()
    return (decode_tally(tally)["counted"],)


def _known_counts(step: StepWork) -> dict[int, Any]:
    """By index what earlier results, or a broken attempt at this one, have counted already."""
    bench, work = step.bench, step.work
    wanted = {item.content for item in work if item.content}
    if not step.key or not wanted or bench.run.fresh:
        return {}
    folder = bench.run.store.folder
    there = folder.sizes(f"{bench.place}/counts")
    unknown = {content for content in wanted if mark_of(bench, content) not in there}
    earlier = find_earlier_parts(bench, step.key, unknown, lambda manifest: manifest.counted)
    known: dict[int, Any] = {}
    for item in work:
        part = earlier.get(item.content)
        if item.mark in there or (part is not None and folder.share(part.files[0].file, item.mark)):
            for value in _read(folder, item.mark):
                known[item.index] = value
    taken = {item.index for item in work if item.index in known and item.content in earlier}
    again = replace(step, work=[replace(item, mark="") for item in work])
    for item, counted in again.computed_again("counts", count_partition, taken):
        if fingerprint(counted) != fingerprint(known[item.index]):
            raise differs_error(bench, item, earlier[item.content].taken_from, "counts")
        bench.counts_verified += 1
    return known
