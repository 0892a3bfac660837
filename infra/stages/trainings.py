"""One long call on a worker (a training) that survives the worker and the run: it goes on from its last checkpoint.

Checkpoints lie in the store beside the uncommitted key, under `marks`, and go when the stage is committed. A function
that starts from a checkpoint must give what it would have given undisturbed, bit for bit.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from assay.infra.engines.calls import Call
from assay.infra.errors import RunError, Stopped
from assay.infra.stages.partition_work import Slice, read_slices, whereabouts
from assay.infra.stages.stage import Workbench, current_workbench
from assay.infra.stages.steps import raise_failure
from assay.infra.storage.artifacts import Artifact, Files, Part, PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import conform, write_part

KEPT = 2  # checkpoints: the last one, and the one before should the last turn out damaged
_POLL_SECONDS = 0.5


class Checkpoints:
    """Where a training leaves what it needs to go on, and finds what an earlier attempt left."""

    def __init__(self, store: str, place: str) -> None:
        self._folder, self._place = Folder(store), place
        self._due = 0.0

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        """The last step that is saved whole, and its files; None where there is none."""
        for step in sorted(self._steps(), reverse=True):
            if (files := self._read(step)) is not None:
                return step, files
        return None

    def last_step(self) -> int:
        """The last step that was saved; 0 where there is none. Whether its files are whole is not looked at."""
        return max(self._steps(), default=0)

    def save(self, step: int, total: int, files: Mapping[str, bytes]) -> None:
        """Keep these files as the state after `step` of `total`; of earlier ones the last stays, the others go."""
        for name, content in files.items():
            self._folder.write(f"{self._step_path(step)}/{name}", content)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        self._folder.write_json(f"{self._step_path(step)}.json", sums)  # last: without it the step does not count
        for old in sorted(saved for saved in self._steps() if saved < step)[: -(KEPT - 1)]:
            self._folder.remove(f"{self._step_path(old)}.json")
            self._folder.remove(self._step_path(old))
        self._due = 0.0
        self.reached(step, total)

    def reached(self, step: int, total: int) -> None:
        """Say how far the training is, for the bar; the store hears of it as often as the bar looks."""
        if time.monotonic() >= self._due:
            self._folder.write_json(f"{self._place}/progress.json", {"done": step, "total": total})
            self._due = time.monotonic() + _POLL_SECONDS

    def progress(self) -> tuple[int, int] | None:
        """How far the training said it was: done, total."""
        value = self._folder.read_json(f"{self._place}/progress.json")
        return (int(value["done"]), int(value["total"])) if value else None

    def forget(self) -> None:
        """Remove what earlier attempts left."""
        self._folder.remove(self._place)

    def _step_path(self, step: int) -> str:
        return f"{self._place}/step-{step:06d}"

    def _steps(self) -> set[int]:
        start, end = f"{self._place}/step-", ".json"
        names = (name for name in self._folder.sizes(self._place) if name.startswith(start) and name.endswith(end))
        return {int(digits) for name in names if (digits := name[len(start) : -len(end)]).isdecimal()}

    def _read(self, step: int) -> dict[str, bytes] | None:
        sums = self._folder.read_json(f"{self._step_path(step)}.json")
        if sums is None:
            return None
        files = {}
        for name, expected in sums.items():
            try:
                content = self._folder.read(f"{self._step_path(step)}/{name}")
            except FileNotFoundError:
                return None
            if hashlib.sha256(content).hexdigest() != expected:
                return None
            files[name] = content
        return files


@dataclass(frozen=True)
class TrainingWork:
    """A training, small enough to send: what to call, what to read, and where its files and its curve go."""

    name: str
    store: str
    function: Callable[..., Any]
    sources: tuple[tuple[Slice, ...], ...]
    files: str
    curve: tuple[str, type[Table]] | None
    checkpoints: str


@dataclass(frozen=True)
class Trained:
    """What became of it: the parts that were written, the checksums of the files, and the schema of the curve."""

    files: tuple[Part, ...]
    checksums: Mapping[str, str]
    curve: Part | None
    schema: pa.Schema | None


def train_on_worker(
    function: Callable[..., Any],
    *inputs: Artifact[Any],
    into: type[Files],
    curve: type[Table] | None = None,
    name: str = "training",
    **constants: Any,
) -> Any:
    """The files (and, with `curve`, the table beside them) that `function` gives for the whole inputs, on one worker.

    `function(*tables, checkpoints=..., **constants)` returns named bytes, or a pair of those and a table. It runs where
    the stage's work runs (`gpu`), reads its inputs there, and is called again after its worker was lost: then
    `checkpoints.latest()` has what it saved.
    """
    bench = current_workbench()
    files, table = bench.name_output(into, None), bench.name_output(curve, None) if curve else ""
    work = TrainingWork(
        f"{bench.title}, {name}",
        bench.run.store.url,
        function,
        tuple(tuple(Slice(file, 0, file.rows) for file in bench.output(given).in_order) for given in inputs),
        f"{bench.place}/{files}",
        (f"{bench.place}/{table}/part", curve) if curve else None,
        f"{bench.place}/marks/{name}",
    )
    trained = _carry_out(bench, work, constants)
    model = bench.add_files(files, into, trained.files, trained.checksums)
    if curve is None or trained.curve is None:
        return model
    return model, bench.add_table(table, curve, trained.schema, (trained.curve,), 0)


def carry_out(work: TrainingWork, constants: Mapping[str, Any]) -> Trained:
    """Read the inputs, train, write what came out; doing it twice gives the same files."""
    wall, cpu = time.perf_counter(), time.process_time()
    folder = Folder(work.store)
    tables = (read_slices(folder, slices) for slices in work.sources)
    result = work.function(*tables, checkpoints=Checkpoints(work.store, work.checkpoints), **constants)
    contents, table = result if isinstance(result, tuple) else (result, None)
    if (table is None) != (work.curve is None):
        raise RunError(f"{work.name}: the function gave {'no' if table is None else 'a'} table beside its files.")

    def part(index: int, file: PartFile) -> Part:
        seconds = round(time.perf_counter() - wall, 4), round(time.process_time() - cpu, 4)
        return Part(index, (file,), (), *whereabouts(), *(seconds if index == 0 else (0.0, 0.0)))

    parts, checksums = [], {}
    for index, (name, content) in enumerate(sorted(contents.items())):
        folder.write(f"{work.files}/{name}", content)
        checksums[name] = hashlib.sha256(content).hexdigest()
        parts.append(part(index, PartFile(f"{work.files}/{name}", 0, "", len(content))))
    if work.curve is None:
        return Trained(tuple(parts), checksums, None, None)
    prefix, kind = work.curve
    whole = conform(table, kind, work.name)
    file = write_part(folder, f"{prefix}-00000", whole)
    return Trained(tuple(parts), checksums, Part(0, (file,), (), *whereabouts(), 0.0, 0.0), whole.schema)


def _carry_out(bench: Workbench, work: TrainingWork, constants: Mapping[str, Any]) -> Trained:
    checkpoints = Checkpoints(work.store, work.checkpoints)
    if bench.run.fresh:
        checkpoints.forget()
    elif step := checkpoints.last_step():
        bench.run.notice(f"The {bench.title} goes on after step {step}, where it was interrupted.")
    engine = bench.engine
    calls = [Call(0, work.name, carry_out, (work, engine.share(dict(constants))), priority=1)]
    with _watched(bench, checkpoints):
        (outcome,) = engine.run(calls, gpu=bench.gpu)
    raise_failure(bench, outcome, work.name)
    trained = cast(Trained, outcome.value)
    bench.computed += 1
    for part in trained.files:
        bench.count(part)
    return trained


@contextmanager
def _watched(bench: Workbench, checkpoints: Checkpoints) -> Iterator[None]:
    """While the block waits for the worker, what the worker writes down moves the bar."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_POLL_SECONDS):
            # A store or a server that does not answer for a moment is no reason to end the training.
            with suppress(Exception, Stopped):
                if (progress := checkpoints.progress()) is not None:
                    bench.progress(*progress)

    watcher = threading.Thread(target=copy_context().run, args=(watch,), name="assay-training", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
