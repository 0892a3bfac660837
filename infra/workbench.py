"""Where a stage's body works: the parts it has, the outputs it made, and what earlier attempts left finished."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any

from assay.infra.artifacts import Artifact, Files, Kind, Table
from assay.infra.digests import RowSums, files_digest, table_digest
from assay.infra.manifests import Output, Part
from assay.infra.partition_work import HERE
from assay.infra.progress import ShownStage
from assay.infra.runs import Run
from assay.infra.seeds import Seeds

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.infra.compute import Engine

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
    quarantined: list[str] = field(default_factory=list)
    waited: float = 0.0
    """Seconds in which the stage could not begin: workers were starting, or a library was being imported."""
    started: float = field(default_factory=time.perf_counter)

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
        return self._add(name, kind, digest, rows, parts, place, {})

    def add_files(
        self, name: str, kind: type[Files], parts: tuple[Part, ...], checksums: Mapping[str, str]
    ) -> Artifact[Any]:
        """The handle of a set of files that are written."""
        return self._add(name, kind, files_digest(dict(checksums)), len(checksums), parts, 0, checksums)

    def _add(
        self,
        name: str,
        kind: type[Kind],
        digest: str,
        rows: int,
        parts: tuple[Part, ...],
        place: int,
        checksums: Mapping[str, str],
    ) -> Artifact[Any]:
        uri = f"{self.run.store.url}/{self.place}/{name}"
        artifact: Artifact[Any] = Artifact(kind.__name__, self.key, digest, uri, rows, len(parts))
        self.outputs[name] = Output(artifact, parts, place, dict(checksums))
        return artifact

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
            return [type(pieces[0])(**piece) for piece in recorded["pieces"]]
        if not all(is_dataclass(piece) for piece in pieces):
            raise TypeError("pieces are flat dataclasses of plain values: a plan is written down and resumed")
        folder.write_json(name, {"pieces": [asdict(piece) for piece in pieces]})
        return pieces

    def count(self, part: Part) -> None:
        """Add what a part cost. What was computed in this process is counted with the body that waited for it."""
        if part.worker != HERE:
            self.cpu_seconds += part.cpu_seconds

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
