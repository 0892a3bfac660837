"""One run: which store, engine, seed and console its stages use, the record of what it did in the order that the flow
declares, and who plays its stages (directly, as Prefect tasks, or as a plan).
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import Any, Generic, Protocol, TypeVar, cast

from assay.infra.engines.calls import Allowance, AtMost, Call, Collected, Engine, Slots, Stop
from assay.infra.engines.devices import accelerator_here
from assay.infra.engines.opening import expected_slots
from assay.infra.errors import AssayError, Stopped, error_text
from assay.infra.masking import mask
from assay.infra.settings import Compute
from assay.infra.storage.artifacts import RunRecord, StageRecord
from assay.infra.storage.keys import Work, numeric_profile
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import Lease
from assay.infra.terminal import Progress, interruption_text
from assay.infra.user_code.references import MOST_KEPT_BYTES, Ingredients, noting

Position = tuple[int, ...]
T = TypeVar("T")


class _Scope:
    """The flow, or the branch or stage inside it, whose parts are numbered as they are declared."""

    def __init__(self, position: Position, name: str) -> None:
        self.position, self.name, self.numbers, self.latest = position, name, count(), -1


_scope: ContextVar[_Scope | None] = ContextVar("assay_scope", default=None)


def next_position() -> Position:
    """The position of what is declared now: after all that the same branch has declared so far."""
    scope = _scope.get()
    if scope is None:
        return ()
    scope.latest = next(scope.numbers)
    return (*scope.position, scope.latest)


def position_of_notice() -> Position:
    """Behind all that the same branch has declared so far, and without a number of its own: a plan says nothing, and
    its stages stand where those of the run do.
    """
    scope = _scope.get()
    return () if scope is None else (*scope.position, scope.latest, sys.maxsize)


def current_position() -> Position:
    """The position of the branch or stage that the caller is in."""
    scope = _scope.get()
    return scope.position if scope is not None else ()


def current_branch() -> str:
    """The name of the branch that the caller is in; empty outside of branches."""
    scope = _scope.get()
    return scope.name if scope is not None else ""


@contextmanager
def at_position(position: Position, branch: str | None = None) -> Iterator[None]:
    """Within the block, what is declared stands below this position, in this branch or that of the caller."""
    token = _scope.set(_Scope(position, current_branch() if branch is None else branch))
    try:
        yield
    finally:
        _scope.reset(token)


class InOrder(Generic[T]):
    """Keeps a list in the order of positions, whatever the order in which its items arrive.

    >>> stages = []
    >>> in_order = InOrder(stages)
    >>> for position, name in [((0,), "ingest"), ((2,), "late"), ((1, 0), "early")]:
    ...     in_order.add(position, name)
    >>> stages
    ['ingest', 'early', 'late']
    """

    def __init__(self, items: list[T]) -> None:
        self._items = items
        self._positions: list[Position] = [()] * len(items)

    def add(self, position: Position, item: T) -> None:
        """Put the item where it belongs; what others appended to the list meanwhile stays behind it."""
        at = bisect_right(self._positions, position)
        self._positions.insert(at, position)
        self._items.insert(at, item)


R = TypeVar("R")
OnProgress = Callable[[int, int], None]


class Playable(Protocol):
    """What a conductor knows of a stage."""

    name: str
    title: str
    gpu: bool
    body: Callable[..., Any]

    def on_gpu(self, run: Run) -> bool:
        """Whether its calls go to GPU workers in this run."""

    def key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """The key of the stage with these arguments in the current run."""

    def work(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Work:
        """What kind of work the stage with these arguments is, and how much of it."""

    def perform(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], on_progress: OnProgress
    ) -> tuple[Any, StageRecord]:
        """The handles, from the store or computed, and the record of what happened."""


OnMissing = Callable[[str], None]
"""Called with the name of a stage that the store does not hold."""


class Conductor:
    """What becomes of a stage, or of a part of a flow, that is called inside a run: this one performs and calls them,
    and nobody watches."""

    at_once = True
    """Whether branches of a flow may go on at once: then it is called from several threads."""

    def play(self, stage: Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What the stage's caller gets."""
        return stage.perform(args, kwargs, lambda _done, _total: None)[0]

    def lead(self, name: str, about: str, part: Callable[[], R]) -> R:  # noqa: ARG002 - others name the part
        """What the caller of a part of a flow gets."""
        return part()


_GRACE_SECONDS = 5.0
_current: ContextVar[Run | None] = ContextVar("assay_run", default=None)


class Run:
    """The surroundings of a run's stages; a context manager that opens and closes the run's record.

    One that stands `aside` is no night: its record says what it is writing, and goes when it ends.
    """

    def __init__(
        self,
        pipeline: str,
        store: Store,
        engine: Callable[[], Engine],
        progress: Progress,
        *,
        seed: int = 0,
        compute: Compute | None = None,
        fresh: bool = False,
        conductor: Conductor | None = None,
        keep_bytes: int = MOST_KEPT_BYTES,
        aside: bool = False,
        verify: int = 0,
        share: float = 1.0,
        allowance: Allowance | None = None,
        began: float | None = None,
    ) -> None:
        self.store, self.progress, self.seed, self.fresh = store, progress, seed, fresh
        self.verify = verify
        """How many of the partitions that a step takes from earlier results are computed again and compared."""
        self.compute = compute or Compute()
        self.conductor = conductor or Conductor()
        self._open_engine, self._engine_lock = engine, threading.Lock()
        self._engine: Engine | None = None
        self._opening: threading.Thread | None = None
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.record = RunRecord(new_run_id(), pipeline, started, seed, socket.gethostname(), os.getpid(), share=share)
        self.allowance = allowance or Allowance(None)
        self.made_by: dict[str, str] = {}
        """By digest, what kind of work made it: see `infra/storage/keys.py`."""
        self._aside, self._begun = aside, False
        self.ingredients = Ingredients(store, self.record, keep_bytes, self.save)
        self._lease = Lease(store, self.record.id)
        store.folder.notice = self.notice
        self._surroundings = ExitStack()
        self._began = time.perf_counter() if began is None else began
        self.masked = False
        """Whether no error may quote the data: see `error_text`."""
        self.failures: list[AssayError] = []
        """The errors of the branches that failed, in the order in which the flow declares them."""
        self.threads: list[threading.Thread] = []
        """Those of its branches."""
        self.stop = Stop()
        self.bodies = AtMost(self.most_at_once, self.stop)
        self.one_each, self.collected = AtMost(lambda: 1, self.stop), Collected(self.stop)
        self._record_lock, self._closed = threading.RLock(), False
        self._stages, self._errors = InOrder(self.record.stages), InOrder(self.failures)
        self._failed, self._missing = InOrder(self.record.failures), InOrder(self.record.missing)
        self._notices = InOrder(self.record.notices)

    @property
    def id(self) -> str:
        """The run's name: when it started, and four letters that make it unique."""
        return self.record.id

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return time.perf_counter() - self._began

    @property
    def is_night(self) -> bool:
        """Whether it leaves a record: a plan does not, nor what stands aside."""
        return self._begun and not self._aside

    @property
    def engine(self) -> Engine:
        """The engine that computes partitions; opened when it is first needed."""
        with self._engine_lock:
            if self._engine is None:
                self.stop.check()
                self._engine = self._open_engine()
            return self._engine

    def slots(self) -> Slots:
        """The CPU and GPU slots of the run's engine; asking for them starts it only where nothing else can tell."""
        return (expected_slots(self.compute) if self._engine is None else None) or self.engine.slots()

    @property
    def goes_on_at_once(self) -> bool:
        """Whether branches go on at once, in threads; else one after the other, as they are declared."""
        if not self.conductor.at_once:
            return False
        if self.compute.at_once != "auto":
            return self.compute.at_once > 1
        return self._slots_here is None or self._slots_here.cpu + self._slots_here.gpu > 1

    def most_at_once(self) -> int:
        """How many stages may compute at once: as many as the engine has slots, unless the settings say how many."""
        if self.compute.at_once != "auto":
            return self.compute.at_once
        slots = self._slots_here or self.slots()
        return max(1, slots.cpu + slots.gpu)

    @cached_property
    def _slots_here(self) -> Slots | None:
        return Slots(1, 0) if self.compute.engine == "serial" else expected_slots(self.compute)

    def numeric_profile(self) -> dict[str, str]:
        """The profile of where partitions are computed: this machine, or the workers of a cluster."""
        profile = dict(numeric_profile(self.compute.profile))
        if not self.compute.on_this_machine:
            profile["processor"] = self.engine.processor(self.compute.profile)
        return profile

    @cached_property
    def accelerator(self) -> dict[str, str]:
        """What a result from a GPU of this run depends on: the device, CUDA, cuDNN, and where TF32 is used."""
        if self.compute.on_this_machine:
            return accelerator_here()
        (outcome,) = self.engine.run([Call(0, "asking a GPU worker what it is", accelerator_here)], gpu=True)
        if outcome.error is not None:
            raise outcome.error
        return cast(dict[str, str], outcome.value)

    def warm_up(self) -> None:
        """Open the engine in the background, while other things start; once, however often it is asked for."""

        def open_quietly() -> None:
            with suppress(Exception, Stopped):  # whoever needs the engine opens it again and gets the error
                _ = self.engine

        with self._record_lock:
            if self._opening is None:
                self._opening = threading.Thread(target=open_quietly, name="assay-engine", daemon=True)
                self._opening.start()

    def begin(self, writing: str) -> None:
        """Write down that a stage works under a key, so that no clean-up takes what it writes."""
        with self._record_lock:
            self.stop.check()
            self.record.writing.append(writing)
            self.save()

    def finish(self, writing: Collection[str], position: Position, stage: StageRecord) -> None:
        """Write down what a stage did, where it stands in the flow."""
        with self._record_lock:
            self.stop.check()
            self._stages.add(position, stage)
            for key in writing:
                self.record.writing.remove(key)
            self.save()

    def fail(self, position: Position, error: AssayError, text: str) -> None:
        """Write down that a branch failed, where it stands in the flow; not what only the run's end brought down."""
        with self._record_lock:
            if self.stop:
                return
            self._errors.add(position, error)
            self._failed.add(position, text)

    def leave_out(self, position: Position, text: str) -> None:
        """Write down that a branch was not begun, and because of what."""
        with self._record_lock:
            if self.stop:
                return
            self._missing.add(position, text)
        self.progress.notice(text)

    def notice(self, text: str) -> None:
        """Say a sentence that a person should read, and keep it in the record; once, though branches may repeat it."""
        text = mask(text)
        with self._record_lock:
            if text in self.record.notices:
                return
            self._notices.add(position_of_notice(), text)
        self.progress.notice(text)

    def note_asked_again(self, subject: str, text: str) -> None:
        """Write down that some of a subject's stored answers were held against those of today, and what came of it."""
        with self._record_lock:
            self.record.asked_again[subject] = text

    def note_work(self, like: str, digests: Iterable[str]) -> None:
        """Write down what kind of work made these; who makes the same again is not who made it."""
        for digest in digests:
            self.made_by.setdefault(digest, like)

    def save(self) -> None:
        """Write the record down as it stands, with what the engine had to say.

        Until there is a report, the time is that so far: a run that ends early keeps it.
        """
        with self._record_lock:
            if self._closed:
                return
            if self.record.report is None:
                self.record.seconds, self.record.slots = round(self.seconds, 2), self.most_at_once()
            if self._engine is not None:
                self.record.notices.extend([text for text in self._engine.notices if text not in self.record.notices])
            self.store.save_run(self.record, self._aside)

    @contextmanager
    def unrecorded(self) -> Iterator[Run]:
        """Within the block, the run is the current one, and its parts are numbered from the first; nothing is written,
        and no lease is taken, which is all that plans need."""
        token = _current.set(self)
        try:
            with at_position(()), noting(self.ingredients):
                yield self
        finally:
            _current.reset(token)

    def __enter__(self) -> Run:
        self._surroundings.enter_context(self.unrecorded())
        self._lease.take()
        self._begun = True
        self.save()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            if kind is None:
                for thread in self.threads:
                    thread.join()
        except BaseException as interruption:
            kind, error = type(interruption), interruption
            raise
        finally:
            self.stop.set()
            self._surroundings.close()
            try:
                self._close_record(kind, error)
            finally:
                self._release()

    def _close_record(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        with self._record_lock:
            if kind is not None and self.record.status == "running":
                self.record.status = "broken"
                interrupted = issubclass(kind, KeyboardInterrupt)
                self.record.failures.append(interruption_text(kind) if interrupted else error_text(error, self.masked))
            try:
                self.save()
                if self._aside:
                    self.store.forget_aside(self.id)
            finally:
                self._closed = True

    def _release(self) -> None:
        """Close the engine, which ends what branches wait for, and give the lease back, whatever became of the record.

        Branches that compute in this process end at their next step; none is waited for longer than a few seconds.
        """
        with self._engine_lock:
            engine, self._engine = self._engine, None
        try:
            if engine is not None:
                engine.close()
            deadline = time.monotonic() + _GRACE_SECONDS
            for thread in self.threads:
                thread.join(max(0.0, deadline - time.monotonic()))
        finally:
            self._lease.release()


def current_run() -> Run:
    """The run that surrounds the caller; stages can be called only inside one."""
    run = _current.get()
    if run is None:
        raise LookupError("a stage can be called only inside a run: `with Run(...)`")
    return run


def new_run_id() -> str:
    """A name that sorts by time and that a person can read out: `2026-11-22-0200-k3f9`."""
    letters = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(4))
    return f"{datetime.now().astimezone():%Y-%m-%d-%H%M}-{letters}"
