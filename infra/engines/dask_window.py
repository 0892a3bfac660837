"""A bounded window of futures: submitted a few ahead, retried, and watched, lest they wait for nobody."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import cloudpickle
from distributed import Future, KilledWorker

from assay.infra.compute import Call, Slot
from assay.infra.engines.dask_losses import Submitted
from assay.infra.engines.dask_start import Connection
from assay.infra.engines.dask_workers import Crew, Workers, placement, scheduler_lost
from assay.infra.engines.routing import Notices
from assay.infra.engines.versions import versions_here
from assay.infra.engines.work import Piece, join, perform
from assay.infra.errors import InputError, RunError

PER_SLOT = 3
LEAST_AHEAD = 4
HEARTBEAT_SECONDS = 2.0
PATIENCE_SECONDS = 600.0
RESTART_SECONDS = 5.0
GATHER_SECONDS = 30.0


@dataclass(frozen=True)
class Shared:
    """A constant that waits on the workers."""

    future: Future


@dataclass(frozen=True)
class Flight:
    """A call that was submitted: for the how manieth time, and whether nothing else was in the air with it."""

    call: Call
    attempts: int
    alone: bool = False


@dataclass(frozen=True)
class Landing:
    """A call that is over: its value is on a worker behind `future` (and here as `piece`), or it ended in `error`."""

    flight: Flight
    future: Future
    error: BaseException | None = None
    piece: Piece[object] | None = None


class Window:
    """The futures of one run or fold."""

    def __init__(
        self, connection: Connection, workers: Workers, slot: Slot, retries: int, say: Notices, patience: float,
        submitted: Submitted,
    ) -> None:  # fmt: skip
        self._client = connection.client
        self._name = connection.name
        self._workers = workers
        self.slot = slot
        self._retries = retries
        self._say = say
        self._patience = patience
        self._submitted = submitted
        self._flying: dict[str, Flight] = {}
        self._suspects: deque[Flight] = deque()
        self._landed: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._futures: dict[str, Future] = {}
        self._idle_since: float | None = None
        self._look()

    def land(self, calls: Iterable[Call], *, fetch: bool) -> Iterator[list[Landing]]:
        """The calls as they end, in batches, with their values if asked for; leaving early cancels what still runs."""
        source = iter(calls)
        try:
            while self._fill(source):
                landings = [landing for future in self._finished() if (landing := self._judge(future))]
                if fetch:
                    landings = self._fetch(landings)
                if landings:
                    yield landings
        finally:
            if self._futures:
                self._client.cancel(list(self._futures.values()))

    def wait_for_somebody(self) -> None:
        """Return once a worker is there for this kind of slot."""
        while not self._there:
            self._worry()
            time.sleep(HEARTBEAT_SECONDS / 10)
            self._look()

    def join(self, merge: bytes, futures: Sequence[Future]) -> Future:
        """The future of the pieces merged; never placed on a GPU slot where there are others."""
        where = placement(self._crew, "CPU")
        return self._client.submit(join, merge, list(futures), key=f"join-{uuid4().hex}", priority=1, **where)

    def merged(self, future: Future) -> Any:
        """The value at the root of a fan-in tree. What was lost with a worker is computed again first, by Dask."""
        try:
            return self._gather([future], errors="raise")[0]
        except KilledWorker:
            self._client.retry([future])  # blamed for a neighbour, perhaps: nothing else is in the air now
        try:
            return self._gather([future], errors="raise")[0]
        except KilledWorker as error:
            raise RunError(
                "merging partial results killed its worker again and again (out of memory?); raise compute.memory"
            ) from error

    def _gather(self, futures: list[Future], errors: str) -> list[Any]:
        """The values behind the futures, here; waits as long as there is somebody to compute what got lost."""

        async def gather() -> list[Any]:
            return list(await self._client.gather(futures, errors=errors, asynchronous=True))

        patience = GATHER_SECONDS
        while True:
            try:
                return list(self._client.sync(gather, callback_timeout=patience))
            except TimeoutError:
                self._look()
                self._worry()
                patience *= 2

    def _fetch(self, landings: list[Landing]) -> list[Landing]:
        """The landings with their values; one whose value was lost and cannot be had again is judged anew."""
        landed = [landing for landing in landings if landing.error is None]
        pieces = self._gather([landing.future for landing in landed], errors="skip") if landed else []
        by_index = {piece.places[0].index: piece for piece in pieces}
        fetched = [landing for landing in landings if landing.error is not None]
        for landing in landed:
            index = landing.flight.call.index
            if index in by_index:
                fetched.append(replace(landing, piece=by_index[index]))
                continue
            self._board(landing.flight, landing.future)
            if (again := self._judge(landing.future)) is not None:
                fetched.append(again)
        return fetched

    def _fill(self, source: Iterator[Call]) -> bool:
        """Submit up to the bound; suspects go last, one at a time. False once everything is over."""
        if time.monotonic() - self._looked > HEARTBEAT_SECONDS:
            self._look()
        while len(self._flying) < self._bound and (call := next(source, None)) is not None:
            self._submit(Flight(call, 1))
        if not self._flying and self._suspects:
            self._submit(self._suspects.popleft())
        return bool(self._flying)

    def _submit(self, flight: Flight) -> None:
        call = flight.call
        given: dict[int | str, object] = {**dict(enumerate(call.args)), **dict(call.kwargs.items())}
        shared = {place: value.future for place, value in given.items() if isinstance(value, Shared)}
        own = {place: value for place, value in given.items() if place not in shared}
        work = cloudpickle.dumps((call.function, own))
        key = f"{getattr(call.function, '__name__', 'call')}-{uuid4().hex}"
        self._submitted.names[key] = call.name
        where = placement(self._crew, self.slot)
        future = self._client.submit(
            perform, call.index, work, shared, self.slot, dict(versions_here()), key=key, **where
        )
        self._board(flight, future)
        future.add_done_callback(self._landed.put)

    def _board(self, flight: Flight, future: Future) -> None:
        self._flying[future.key] = flight
        self._futures[future.key] = future

    def _finished(self) -> list[Future]:
        """The futures that are over, at least one; meanwhile, watch whether anybody is there to work."""
        while True:
            try:
                futures = [self._landed.get(timeout=HEARTBEAT_SECONDS)]
            except queue.Empty:
                self._look()
                self._worry()
                continue
            self._idle_since = None
            while not self._landed.empty():
                futures.append(self._landed.get())
            return futures

    def _judge(self, future: Future) -> Landing | None:
        """What a finished future means; `None` where its call is to be tried again."""
        flight = self._flying.pop(future.key)
        del self._futures[future.key]
        if future.status == "cancelled":
            raise scheduler_lost(self._name)
        if future.status != "error":  # finished; or finished and then lost with its worker, so that Dask does it again
            return Landing(flight, future)
        error = future.exception()
        again = replace(flight, attempts=flight.attempts + 1)
        if isinstance(error, KilledWorker):
            if flight.alone:
                return Landing(flight, future, _killer(flight.call, error))
            self._suspects.append(replace(again, alone=True))
            return None
        if flight.attempts > self._retries or isinstance(error, InputError):
            return Landing(flight, future, error)
        self._submit(again)
        return None

    def _look(self) -> None:
        self._crew: Crew = self._workers.crew()
        self._looked = time.monotonic()
        slots = self._crew.slots
        self._there = slots.gpu if self.slot == "GPU" else slots.cpu
        self._bound = max(LEAST_AHEAD, PER_SLOT * self._there)

    def _worry(self) -> None:
        """Say once that nobody is there to work, and give up after a while."""
        if self._there:
            self._idle_since = None
            return
        self._idle_since = self._idle_since or time.monotonic()
        waited = time.monotonic() - self._idle_since
        if waited < min(RESTART_SECONDS, self._patience):  # a worker that restarts is nothing to talk about
            return
        what = "GPU worker" if self.slot == "GPU" else "worker"
        self._say.once(
            f"No {what} of {self._name} is there yet, or any more; waiting up to {self._patience:.0f} s for one"
        )
        if waited > self._patience:
            raise RunError(
                f"no {what} of {self._name} came within {self._patience:.0f} s; start one (`assay worker ADDRESS`) and "
                "run again: what was committed is kept"
            )


def _killer(call: Call, error: KilledWorker) -> RunError:
    """The error of a call that took its worker down every time, even with nothing beside it."""
    return RunError(
        f"{call.name} killed its worker even when it ran alone (tried {error.allowed_failures + 1} times): out of "
        "memory, or a crash in native code; raise compute.memory, or cut smaller partitions (compute.partitions)"
    )
