"""What a reduction counts in every partition, merged exactly; counts that an earlier result kept are not counted again.

A worker leaves what it counted in a small file beside the stage's results, where it comes back out of the file as it
went in and is no more than `MOST_BYTES`. Such files are looked up as partitions are: see `infra/earlier.py`.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.infra.compute import Call, Folded
from assay.infra.constants import InexactError, fingerprint
from assay.infra.earlier import drawn_to_verify, found_earlier, not_the_same, require_computed
from assay.infra.exact import merge, mergeable
from assay.infra.folders import Folder
from assay.infra.manifests import Manifest, Part, PartFile
from assay.infra.partition_work import HERE, PartitionWork, called
from assay.infra.steps import raise_failures
from assay.infra.tallies import decode_tally, encode_tally
from assay.infra.workbench import Workbench

MOST_BYTES = 4 << 20


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
    if _bytes_in(value) > MOST_BYTES:
        return
    try:
        tally = encode_tally({"counted": value})
        text = json.dumps(tally)
        same = fingerprint(decode_tally(json.loads(text))["counted"]) == fingerprint(value)
    except (TypeError, InexactError):
        return
    if same and len(text) <= MOST_BYTES:
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
    earlier = found_earlier(
        bench, step, {content for content in wanted if mark_of(bench, content) not in there}, _counts_in
    )
    known: dict[int, Any] = {}
    for item in work:
        part = earlier.get(item.content)
        if item.mark in there or (part is not None and folder.share(part.files[0].file, item.mark)):
            for value in _read(folder, item.mark):
                known[item.index] = value
    origins = {item.index: earlier[item.content].taken_from for item in work if item.content in earlier}
    _verify(bench, work, constants, {index: known[index] for index in known if index in origins}, origins)
    return known


def _counts_in(manifest: Manifest) -> Iterator[Part]:
    yield from manifest.counted


def _verify(
    bench: Workbench,
    work: Sequence[PartitionWork],
    constants: Mapping[str, Any],
    taken: Mapping[int, Any],
    origins: Mapping[int, str],
) -> None:
    """Count some of the partitions again whose counts were taken; RunError where one is not the same."""
    drawn = drawn_to_verify(bench, "counts", taken)
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
