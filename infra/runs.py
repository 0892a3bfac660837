"""One run: which store, engine, seed and console its stages use, and the record of what it did."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from assay.infra.compute import Call, Slots
from assay.infra.conductors import Conductor, Direct
from assay.infra.devices import accelerator_here
from assay.infra.engines.opening import expected_slots
from assay.infra.errors import AssayError
from assay.infra.keys import numeric_profile
from assay.infra.manifests import RunRecord
from assay.infra.settings import Compute
from assay.infra.store import Store
from assay.infra.sweep import Lease

if TYPE_CHECKING:
    from assay.infra.compute import Engine
    from assay.infra.progress import Progress

_current: ContextVar[Run | None] = ContextVar("assay_run", default=None)


class Run:
    """The surroundings of a run's stages; a context manager that opens and closes the run's record."""

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
    ) -> None:
        self.store, self.progress, self.seed, self.fresh = store, progress, seed, fresh
        self.compute = compute or Compute()
        self.conductor: Conductor = conductor or Direct()
        self._open_engine, self._engine_lock = engine, threading.Lock()
        self._engine: Engine | None = None
        self._accelerator: dict[str, str] | None = None
        self.record = RunRecord(new_run_id(), pipeline, _now(), seed, socket.gethostname(), os.getpid())
        self._lease = Lease(store, self.record.id)
        self._token: Token[Run | None] | None = None
        self._began = time.perf_counter()
        self.masked = False
        """Whether no error may quote the data: see `told`."""
        self.failures: list[AssayError] = []
        """The errors of the branches that failed."""

    @property
    def id(self) -> str:
        """The run's name: when it started, and four letters that make it unique."""
        return self.record.id

    @property
    def engine(self) -> Engine:
        """The engine that computes partitions; opened when it is first needed."""
        with self._engine_lock:
            if self._engine is None:
                self._engine = self._open_engine()
            return self._engine

    def slots(self) -> Slots:
        """The CPU and GPU slots of the run's engine; asking for them starts it only where nothing else can tell."""
        expected = expected_slots(self.compute) if self._engine is None else None
        return expected or self.engine.slots()

    def numeric_profile(self) -> dict[str, str]:
        """The profile of where partitions are computed: this machine, or the workers of a cluster."""
        profile = dict(numeric_profile())
        if self.compute.engine not in ("local", "serial"):
            profile["processor"] = self.engine.profile().processor
        return profile

    def accelerator(self) -> dict[str, str]:
        """What a result from a GPU of this run depends on: the device, CUDA, cuDNN, and where TF32 is used."""
        if self._accelerator is None:
            if self.compute.engine in ("local", "serial"):
                self._accelerator = accelerator_here()
            else:
                call = Call(0, "asking a GPU worker what it is", accelerator_here, (), {})
                (outcome,) = self.engine.run([call], gpu=True)
                if outcome.error is not None:
                    raise outcome.error
                self._accelerator = cast(dict[str, str], outcome.value)
        return self._accelerator

    def warm_up(self) -> threading.Thread:
        """Open the engine in the background, while other things start."""

        def open_quietly() -> None:
            try:
                _ = self.engine
            except Exception:  # noqa: BLE001 - whoever needs the engine opens it again and gets the error then
                return

        thread = threading.Thread(target=open_quietly, name="assay-engine", daemon=True)
        thread.start()
        return thread

    def notice(self, text: str) -> None:
        """Say a sentence that a person should read, and keep it in the record; once, though flows are walked twice."""
        if text in self.record.notices:
            return
        self.record.notices.append(text)
        self.progress.notice(text)

    def save(self) -> None:
        """Write the record down as it stands, with what the engine had to say.

        Until there is a report, the time is that so far: a run that ends early keeps it.
        """
        if self.record.report is None:
            self.record.seconds = round(time.perf_counter() - self._began, 2)
        if self._engine is not None:
            said = [text for text in self._engine.notices if text not in self.record.notices]
            self.record.notices.extend(said)
        self.store.save_run(self.record)

    @contextmanager
    def unrecorded(self) -> Iterator[Run]:
        """The run as surroundings only: nothing is written, no lease is taken; for plans."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    def __enter__(self) -> Run:
        self._token = _current.set(self)
        self._lease.take()
        self.save()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._token is not None:
            _current.reset(self._token)
        if kind is not None and self.record.status == "running":
            self.record.status = "broken"
            said = "Interrupted (Ctrl-C)." if kind is KeyboardInterrupt else f"{kind.__name__}: {error}"
            said = kind.__name__ if self.masked and not isinstance(error, AssayError) else said
            self.record.failures.append(said)
        try:
            self.save()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Close the engine and give the lease back, whatever became of the record."""
        with self._engine_lock:
            engine, self._engine = self._engine, None
        try:
            if engine is not None:
                engine.close()
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
