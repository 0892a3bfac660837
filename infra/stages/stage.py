"""A stage: a function of artifacts and settings that asks the store first and commits what it makes.

`@stage` turns the function into something that, called inside a run, looks its key up, shows as a Prefect task where
the run is orchestrated, computes if it must, commits atomically, and returns handles. While its body works, a workbench
holds its outputs and what earlier attempts left finished.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import re
import time
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from typing import Any, Generic, ParamSpec, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter

from assay.infra.engines.calls import Engine, give_back_memory
from assay.infra.errors import RunError
from assay.infra.masking import mask
from assay.infra.stages.branches import announced_kinds, as_announced
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partition_work import HERE
from assay.infra.stages.runs import (
    OnProgress,
    Run,
    at_position,
    current_branch,
    current_position,
    current_run,
    next_position,
)
from assay.infra.storage import keys
from assay.infra.storage.artifacts import Artifact, Files, Kind, Manifest, Output, Part, PartFile, StageRecord, Table
from assay.infra.storage.parquet import RowSums, conform, files_digest, table_digest, write_part
from assay.infra.storage.sweep import is_shared
from assay.infra.terminal import ShownStage
from assay.infra.user_code.choices import plugin_in_key

_current: ContextVar[Workbench | None] = ContextVar("assay_workbench", default=None)


@dataclass(eq=False)
class Workbench:
    """The state of one stage in one run, from its start to its commit."""

    run: Run
    stage: str
    title: str
    key: str
    gpu: bool
    seeds: Seeds | None
    on_progress: Callable[[int, int], None]
    shown: ShownStage
    outputs: dict[str, Output] = field(default_factory=dict)
    summary: str = ""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    """What a stage's key is made of besides its arguments."""
    computed: int = 0
    reused: int = 0
    taken: int = 0
    may_be_taken: int = 0
    """Partitions of steps that earlier results may hold; `taken` are those that one of them does."""
    counted: list[Part] = field(default_factory=list)
    """What reductions counted, for later results to take."""
    counts_taken: int = 0
    counts_looked_for: int = 0
    counts_verified: int = 0
    verified: int = 0
    cpu_seconds: float = 0.0
    longest_call: float = 0.0
    quarantined: list[str] = field(default_factory=list)
    priority: int = 0
    waited: float = 0.0
    """Seconds in which the stage could not begin: workers were starting, or a library was being imported."""
    started: float = 0.0
    cost: dict[str, float] = field(default_factory=dict)
    """What it took, once the stage is committed."""

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within the block the stage waits for what whichever stage comes first has to wait for."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.waited += time.perf_counter() - began

    @property
    def engine(self) -> Engine:
        """The run's engine; the first stage that needs it waits for its workers."""
        with self.waiting():
            return self.run.engine

    @property
    def place(self) -> str:
        """The folder of the stage's files in the store."""
        return self.run.store.place(self.stage, self.key)

    @property
    def taken_of(self) -> tuple[int, int, int]:
        """How many partitions were taken from earlier results, of how many, and how many of them were computed again:
        of their rows, or of their counts in a stage that only counts."""
        if self.may_be_taken:
            return self.taken, self.may_be_taken, self.verified
        return self.counts_taken, self.counts_looked_for, self.counts_verified

    def name_output(self, kind: type[Kind], name: str | None) -> str:
        """The folder of an output: its kind in small letters, or the name the stage chose."""
        chosen = name or re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        if chosen in self.outputs:
            raise ValueError(f"stage {self.stage} makes two outputs called {chosen!r}: give one a name of its own")
        return chosen

    def add_table(
        self, name: str, kind: type[Table], schema: pa.Schema, parts: tuple[Part, ...], place: int
    ) -> Artifact[Any]:
        """The handle of a table whose parts are written."""
        files = [part.files[place] for part in parts]
        rows = sum(file.rows for file in files)
        digest = table_digest(schema, (RowSums.from_text(file.sums, file.rows) for file in files))
        self.outputs[name] = output = Output(self._handle(name, kind, digest, rows, len(parts)), parts, place)
        return output.artifact

    def add_files(
        self, name: str, kind: type[Files], parts: tuple[Part, ...], checksums: Mapping[str, str]
    ) -> Artifact[Any]:
        """The handle of a set of files that are written."""
        handle = self._handle(name, kind, files_digest(dict(checksums)), len(checksums), len(parts))
        self.outputs[name] = Output(handle, parts, 0, dict(checksums))
        return handle

    def _handle(self, name: str, kind: type[Kind], digest: str, rows: int, parts: int) -> Artifact[Any]:
        return Artifact(kind.__name__, self.key, digest, f"{self.run.store.url}/{self.place}/{name}", rows, parts)

    def output(self, artifact: Artifact[Any]) -> Output:
        """The parts behind a handle: of this stage while it works, else of the store."""
        for output in self.outputs.values():
            if output.artifact == artifact:
                return output
        return self.run.store.output(artifact)

    def finished_parts(self, step: str) -> dict[int, Part]:
        """Parts of a step that an earlier attempt left whole, by index."""
        if self.run.fresh:
            return {}
        folder, parts = self.run.store.folder, {}
        sizes = folder.sizes(self.place)
        marks = [name for name in sizes if name.startswith(f"{self.place}/marks/{step}/") and name.endswith(".json")]
        values = [value for value in map(folder.read_json, marks) if value]
        damaged = self.run.store.manifest(self.stage, self.key)
        outputs = damaged.outputs.values() if damaged else ()
        committed = [part for output in outputs if output.artifact.uri.endswith(f"/{step}") for part in output.parts]
        for part in [*map(Part.from_json, values), *committed]:
            if all(sizes.get(file.file) == file.bytes for file in part.files):
                parts[part.index] = part
        return parts

    def settle_plan(self, step: str, pieces: list[Any]) -> list[Any]:
        """The pieces to work by: those an earlier attempt wrote down, so that its finished parts fit, else these."""
        name, folder = f"{self.place}/marks/{step}/plan", self.run.store.folder
        recorded = None if self.run.fresh else folder.read_json(name)
        if recorded is not None and pieces:
            return list(map(TypeAdapter(type(pieces[0])).validate_python, recorded["pieces"]))
        if not all(is_dataclass(piece) for piece in pieces):
            raise TypeError("pieces are flat dataclasses of plain values: a plan is written down and resumed")
        folder.write_json(name, {"pieces": [asdict(piece) for piece in pieces]})
        return pieces

    def count(self, part: Part) -> None:
        """Add what a part cost. What was computed in this process is counted with the body that waited for it."""
        if part.worker != HERE:
            self.spent(part.cpu_seconds, part.cpu_seconds)

    def spent(self, seconds: float, longest: float) -> None:
        """Add what calls on workers cost, the longest of them so many seconds."""
        self.cpu_seconds += seconds
        self.longest_call = max(self.longest_call, longest)

    def progress(self, done: int, total: int) -> None:
        """Tell whoever watches how far the stage is; it goes no further once the run is over."""
        self.run.stop.check()
        self.run.progress.advance(self.shown, done, total)
        self.on_progress(done, total)

    def __enter__(self) -> Workbench:
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.run.collected.release(self)
        _current.reset(self._token)


def workbench_here() -> Workbench | None:
    """The workbench of the stage whose body calls; None outside of stages."""
    return _current.get()


def current_workbench() -> Workbench:
    """The workbench of the stage whose body calls."""
    bench = _current.get()
    if bench is None:
        raise LookupError("this can be called only inside the body of a stage")
    return bench


P = ParamSpec("P")
R = TypeVar("R")
_numbers = itertools.count()


class Stage(Generic[P, R]):
    """A function that the store remembers; `version` goes up whenever the same arguments may give another result."""

    def __init__(
        self, body: Callable[P, R], *, version: int, title: str, draws: bool, gpu: bool, libraries: Sequence[str] = ()
    ) -> None:
        self.body, self.version, self.draws, self.gpu, self.libraries = body, version, draws, gpu, libraries
        self.name = body.__name__
        self.title = title or self.name.replace("_", " ")
        functools.update_wrapper(self, body)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The handles of what the stage made, now or in an earlier run."""
        with at_position(next_position()):
            return typing.cast(R, current_run().conductor.play(self, args, kwargs))

    def ingredients(self, run: Run, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Everything that the stage's key is made of."""
        profile = run.numeric_profile() | {name: keys.package_versions()[name] for name in self.libraries}
        if self.gpu:
            profile |= {"device": "gpu", **run.accelerator} if self.on_gpu(run) else {"device": "cpu"}
        return {
            "stage": self.name,
            "version": self.version,
            "arguments": {name: keys.key_part(value) for name, value in self._bound(args, kwargs).items()},
            "seed": run.seed if self.draws else None,
            "profile": profile,
            **plugin_in_key(self.body.__module__),
        }

    def key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """The key of the stage with these arguments in the current run."""
        return keys.stage_key(self.ingredients(current_run(), args, kwargs))

    def work(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> keys.Work:
        """What kind of work it is with these arguments in the current run, and how much of it."""
        run = current_run()
        device, trains = "gpu" if self.on_gpu(run) else "cpu", keys.learns([*announced_kinds(self.body).values()])
        return keys.work_signature(self.name, self._bound(args, kwargs), run.made_by, device=device, learns=trains)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults included."""
        bound = inspect.signature(self.body).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    def on_gpu(self, run: Run) -> bool:
        """Whether its calls go to GPU workers in this run."""
        return self.gpu and run.compute.gpu != "never" and run.slots().gpu > 0

    def perform(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], on_progress: OnProgress
    ) -> tuple[R, StageRecord]:
        """The handles and the record of what happened; computes only what the store does not hold."""
        run, began = current_run(), time.perf_counter()
        ingredients, work = self.ingredients(run, args, kwargs), self.work(args, kwargs)
        key = keys.stage_key(ingredients)
        shown = ShownStage(next(_numbers), self.title, current_branch())
        writing, bench = {f"{self.name}/{key}"}, None
        run.begin(f"{self.name}/{key}")
        with run.one_each(f"{self.name}/{key}"):
            held = run.store.find(self.name, key)
            if held is None:
                manifest, bench = self._computed(run, key, ingredients, work, args, kwargs, on_progress, shown)
            elif run.fresh and held.run != run.id:  # beside what the store holds, which stays
                again = keys.stage_key(ingredients | {"again": run.id})
                writing.add(f"{self.name}/{again}")
                run.begin(f"{self.name}/{again}")
                manifest, bench = self._computed(run, again, ingredients, work, args, kwargs, on_progress, shown)
                manifest = run.store.settle(held, manifest, key, run.notice)
            else:
                manifest = held
            if bench is not None:
                run.store.index_partitions(manifest)
        record = self._record(manifest, bench, work, began if bench is None else bench.started)
        run.note_work(work.like, (output.artifact.digest for output in manifest.outputs.values()))
        run.finish(writing, current_position(), record)
        summary = " · ".join(filter(None, (manifest.summary, record.taken_in_words)))
        run.progress.stage_done(shown, summary, record.seconds, record.cached)
        return self.handles(manifest), record

    def _computed(
        self,
        run: Run,
        key: str,
        ingredients: dict[str, Any],
        work: keys.Work,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        on_progress: OnProgress,
        shown: ShownStage,
    ) -> tuple[Manifest, Workbench]:
        """The manifest of what the body makes now, and what making it was like; as soon as a body may work."""
        run.warm_up()
        # Within a budget the subjects that came first are to be through with everything, rather than all be trained.
        weight = work.weight if run.allowance.until is None else ()
        # Of trainings that are started together the longest begins first, though it may be named last.
        with run.bodies(weight=weight, delay=0.1 if work.learns else 0.0):
            run.allowance.require_time(self.title)
            seeds = Seeds(run.seed, self.name) if self.draws else None
            bench = Workbench(
                run, self.name, self.title, key, self.gpu, seeds, on_progress, shown, started=time.perf_counter()
            )
            bench.surroundings = {name: part for name, part in ingredients.items() if name != "arguments"}
            cpu = time.thread_time()
            run.progress.stage_started(shown)
            try:
                with bench:
                    result = self.body(*args, **kwargs)
                manifest = self._commit(bench, ingredients, result, time.thread_time() - cpu)
            except Exception as error:
                run.progress.stage_failed(shown, str(error))
                raise
            finally:
                give_back_memory()
            since = run.seconds - (time.perf_counter() - bench.started)
            bench.cost = manifest.cost | {"began": round(since, 3), "waited": round(bench.waited, 3)}
        return manifest, bench

    def _record(self, manifest: Manifest, bench: Workbench | None, work: keys.Work, began: float) -> StageRecord:
        """What the run remembers of the stage."""
        samples = (output.artifact for output in manifest.outputs.values() if keys.is_by_sample(output.artifact.kind))
        return StageRecord(
            self.name,
            self.title,
            manifest.key,
            bench is None,
            round(time.perf_counter() - began, 3),
            manifest.summary,
            {name: output.artifact.to_json() for name, output in manifest.outputs.items()},
            *((0, 0, 0, 0, 0) if bench is None else (bench.computed, bench.reused, *bench.taken_of)),
            place=".".join(map(str, current_position())),
            work=work.to_json(keys.rows_among({}, work.given) or max((made.rows for made in samples), default=0)),
            cost={} if bench is None else bench.cost,
        )

    def _commit(self, bench: Workbench, ingredients: dict[str, Any], result: R, cpu_seconds: float) -> Manifest:
        outputs = {name: bench.output(artifact) for name, artifact in _named(result).items()}
        manifest = Manifest(
            stage=self.name,
            version=self.version,
            key=bench.key,
            title=self.title,
            outputs=outputs,
            ingredients=ingredients,
            summary=bench.summary,
            run=bench.run.id,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            wall_seconds=round(time.perf_counter() - bench.started, 3),
            cpu_seconds=round(bench.cpu_seconds + cpu_seconds, 3),
            packages=keys.package_versions(),
            commit=keys.git_commit(),
            quarantined=tuple(bench.quarantined),
            counted=tuple(bench.counted),
            least_seconds=round(bench.longest_call + cpu_seconds, 3),
        )
        committed = bench.run.store.commit(manifest)
        if not is_shared(bench.run.store, f"{self.name}/{bench.key}", but=bench.run.id):
            self._drop_intermediates(bench, outputs)
        return committed

    def _drop_intermediates(self, bench: Workbench, outputs: Mapping[str, Output]) -> None:
        """Remove intermediate tables that the stage did not return, and the marks of finished partitions."""
        kept = {output.artifact.uri for output in outputs.values()}
        for name, output in bench.outputs.items():
            if output.artifact.uri not in kept:
                bench.run.store.folder.remove(f"{bench.place}/{name}")
        if not bench.quarantined:
            bench.run.store.folder.remove(f"{bench.place}/marks")

    def handles(self, manifest: Manifest) -> R:
        """The handles in the shape that the function announces: one, or a named tuple of several."""
        artifacts = {name: output.artifact for name, output in manifest.outputs.items()}
        return typing.cast(R, as_announced(self.body, artifacts))


def stage(
    *, version: int, title: str = "", draws: bool = False, gpu: bool = False, libraries: Sequence[str] = ()
) -> Callable[[Callable[P, R]], Stage[P, R]]:
    """A decorator that makes a function a stage; `draws` lets the seed into its key, `gpu` sends it to GPU workers, and
    `libraries` are those whose versions its results depend on, besides the ones that every key holds."""

    return lambda body: Stage(body, version=version, title=title, draws=draws, gpu=gpu, libraries=libraries)


def say(summary: str) -> None:
    """Set the line that a person sees when the stage is done, in this run and whenever it is taken from the store."""
    current_workbench().summary = mask(summary)


def go_last() -> None:
    """Let the partitions of other stages go before this one's, of which nothing but findings is made."""
    current_workbench().priority = -1


def waiting() -> AbstractContextManager[None]:
    """Within it a library is imported, or waited for: that is no work of the stage's, which may not be the first."""
    return current_workbench().waiting()


def stage_seeds() -> Seeds:
    """The stage's source of randomness; only a stage that declares `draws` has one."""
    seeds = current_workbench().seeds
    if seeds is None:
        raise LookupError("only a stage declared with draws=True may draw: otherwise the seed is missing from its key")
    return seeds


def write_table(table: pa.Table, into: type[Table], name: str | None = None) -> Artifact[Any]:
    """The handle of a small table, written as one partition."""
    bench = current_workbench()
    chosen = bench.name_output(into, name)
    whole = conform(table, into, f"{bench.title}, {chosen}")
    file = write_part(bench.run.store.folder, f"{bench.place}/{chosen}/part-00000", whole)
    part = Part(0, (file,), (), "the flow", "cpu", 0.0, 0.0)
    return bench.add_table(chosen, into, whole.schema, (part,), 0)


def write_files(contents: Mapping[str, bytes], into: type[Files], name: str | None = None) -> Artifact[Any]:
    """The handle of a set of named files."""
    bench = current_workbench()
    chosen = bench.name_output(into, name)
    parts, checksums = [], {}
    for index, (file, content) in enumerate(sorted(contents.items())):
        path = f"{bench.place}/{chosen}/{file}"
        bench.run.store.folder.write(path, content)
        checksums[file] = hashlib.sha256(content).hexdigest()
        parts.append(Part(index, (PartFile(path, 0, "", len(content)),), (), "the flow", "cpu", 0.0, 0.0))
    return bench.add_files(chosen, into, tuple(parts), checksums)


def _named(result: object) -> dict[str, Artifact[Any]]:
    if isinstance(result, Artifact):
        return {"result": result}
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        return dict(result._asdict())
    raise RunError(f"A stage returns one artifact or a named tuple of artifacts, not {type(result).__name__}.")
