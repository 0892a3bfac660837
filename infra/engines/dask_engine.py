"""Calls on Dask workers: a bounded window of futures, submitted a few ahead, retried and watched, each seen through
to a value or to an error worth reading.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import cloudpickle
from distributed import Future, KilledWorker

from assay.infra.engines.calls import Call, Engine, Folded, Merge, OnDone, Outcome, Slot, Slots, join, perform, unheard
from assay.infra.engines.dask_start import Connection
from assay.infra.engines.dask_workers import (
    MOST_LOSSES,
    RETURN_SECONDS,
    Blame,
    Crew,
    Losses,
    LostSightError,
    Outstanding,
    SchedulerLostError,
    Shared,
    Shipments,
    Turns,
    Watch,
    Workers,
    close_quietly,
    key_of,
    lost_in_words,
    placement,
    rejoin,
    slots_when_back,
)
from assay.infra.engines.devices import Notices, route
from assay.infra.errors import InputError, RunError, Stopped
from assay.infra.settings import Compute
from assay.infra.storage.keys import refuse_mismatch, versions_here

PER_SLOT = 3
LEAST_AHEAD = 4
HEARTBEAT_SECONDS = 2.0
WORKER_WAIT_SECONDS = 600.0
RESTART_SECONDS = 5.0


@dataclass(frozen=True)
class Attempt:
    """A call that was submitted: which attempt it is, and whether it holds one of the turns.

    A suspect holds none; it is the only one at a time, and remembers how many calls were given up before.
    """

    call: Call
    number: int = 1
    holds_turn: bool = True
    given_up_before: int | None = None


@dataclass(frozen=True)
class Finished:
    """A call that is over: its `outcome` is here if it failed or was fetched, else on a worker behind `future`."""

    attempt: Attempt
    future: Future
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Pool:
    """What all runs and folds of an engine share, as long as its scheduler is there."""

    connection: Connection
    workers: Workers
    shipments: Shipments
    losses: Losses
    turns: Mapping[Slot, Turns]
    blame: Blame
    say: Notices


class Window:
    """The futures of one run or fold."""

    def __init__(self, pool: Pool, slot: Slot, retries: int, patience: float) -> None:
        self.pool = pool
        self._client, self._name = pool.connection.client, pool.connection.name
        self._workers, self._say, self._blame = pool.workers, pool.say, pool.blame
        self._turns = pool.turns[slot]
        self._submitted = pool.losses.watch()
        self.slot = slot
        self._retries, self._patience = retries, patience
        self._attempts: dict[str, Attempt] = {}
        self._futures: dict[str, Future] = {}
        self._suspects: deque[Attempt] = deque()
        self._events: queue.SimpleQueue[Future | None] = queue.SimpleQueue()
        """Futures that are over; None where it is this window's turn to submit a call."""
        self._asked = False
        self._idle_since: float | None = None
        self._watch = Watch(self._client, self._workers, self._name)
        self._count_slots()

    def finished(self, calls: Iterable[Call], *, fetch: bool) -> Iterator[list[Finished]]:
        """The calls as they end, in batches, with their values if asked for; leaving early cancels what still runs."""
        try:
            with lost_in_words(self._name):
                yield from self._finished(iter(calls), fetch)
        except SchedulerLostError:
            self._futures.clear()  # nobody is left who could cancel them
            raise
        finally:
            self._leave()

    def _finished(self, source: Iterator[Call], fetch: bool) -> Iterator[list[Finished]]:
        upcoming = next(source, None)
        while upcoming is not None or self._attempts or self._suspects:
            if upcoming is not None and not self._asked:
                self._asked = True
                self._turns.ask(self, lambda: self._events.put(None))
            self._try_suspect(upcoming)
            futures = []
            for event in self._next_events():
                if event is not None:
                    futures.append(event)
                elif upcoming is not None:
                    self._asked = False
                    self._submit(Attempt(upcoming))
                    upcoming = next(source, None)
            batch = [finished for future in futures if (finished := self._judge(future))]
            if fetch:
                batch = self._fetch(batch)
            if batch:
                yield batch

    def wait_for_worker(self) -> None:
        """Return once a worker is there for this kind of slot."""
        while not self._slots:
            self._check_workers()
            time.sleep(HEARTBEAT_SECONDS / 10)
            self._count_slots()

    def join(self, merge: bytes, futures: Sequence[Future]) -> Future:
        """The future of the pieces merged; never placed on a GPU slot where there are others."""
        where = placement(self._crew, "CPU")
        return self._client.submit(join, merge, list(futures), key=key_of(self._client, "join"), priority=2, **where)

    def bytes_of(self, future: Future) -> int:
        """How large a value on a worker is, as far as Dask knows; at least 1."""
        known: Mapping[str, int] = self._client.nbytes([future.key], summary=False)
        return max(1, known.get(future.key, 1))

    def merged(self, future: Future) -> Outcome:
        """What is at the root of a fan-in tree. What was lost with a worker is computed again first, by Dask."""
        given_up: int | None = None
        while True:
            try:
                return self._gather([future], "raise", "CPU")[0]
            except KilledWorker as error:
                self._blame.count()
                if given_up is not None and self._blame.is_proven(given_up):
                    raise RunError(
                        "merging partial results killed its worker again and again (out of memory?); "
                        "raise compute.memory"
                    ) from error
                given_up = self._blame.given_up  # blamed for a neighbour, perhaps
                with suppress(KeyError):  # what is tried again is a call whose future we let go of: Dask's client trips
                    self._client.retry([future])

    def _gather(self, futures: list[Future], errors: str, slot: Slot) -> list[Outcome]:
        """What is behind the futures, here; waits as long as there is somebody on such a slot to compute what got
        lost."""

        async def gather() -> list[Outcome]:
            return list(await self._client.gather(futures, errors=errors, asynchronous=True))

        self._turns.check()  # a client that is closed has no loop any more
        self._watch.heard()
        under_way = asyncio.run_coroutine_threadsafe(gather(), self._client.loop.asyncio_loop)
        while True:  # never given up halfway: Dask gathers for several branches at once, and would give up all of them
            try:
                return under_way.result(HEARTBEAT_SECONDS)
            except TimeoutError:
                if under_way.done():
                    return under_way.result()
            try:
                self._turns.check()
                self._look_around(futures, slot)
            except Stopped:
                under_way.cancel()
                raise
            except LostSightError:
                self._client.cancel(futures)
                raise

    def _fetch(self, batch: list[Finished]) -> list[Finished]:
        """The batch with its values; a call whose value was lost and cannot be had again is judged anew."""
        done = [finished for finished in batch if finished.outcome is None]
        outcomes = self._gather([finished.future for finished in done], "skip", self.slot) if done else []
        by_index = {outcome.index: outcome for outcome in outcomes}
        fetched = [finished for finished in batch if finished.outcome is not None]
        for finished in done:
            index = finished.attempt.call.index
            if index in by_index:
                fetched.append(replace(finished, outcome=by_index[index]))
                continue
            self._track(replace(finished.attempt, holds_turn=False, given_up_before=None), finished.future)
            if (again := self._judge(finished.future)) is not None:
                fetched.append(again)
        return fetched

    def _try_suspect(self, upcoming: Call | None) -> None:
        """Submit a suspect once everything else of this window is over, and no other window tries one."""
        if upcoming is not None or self._attempts or not self._suspects:
            return
        given_up = self._blame.begin()
        if given_up is not None:
            self._submit(replace(self._suspects.popleft(), given_up_before=given_up))

    def _submit(self, attempt: Attempt) -> None:
        call = attempt.call
        given = dict(enumerate(call.args))
        shared = {
            place: self.pool.shipments.future(value) for place, value in given.items() if isinstance(value, Shared)
        }
        own = {place: value for place, value in given.items() if place not in shared}
        work = cloudpickle.dumps((call.function, own))
        key = key_of(self._client, getattr(call.function, "__name__", "call"))
        self._submitted.names[key] = call.name
        where = placement(self._crew, self.slot)
        versions = dict(versions_here())
        future = self._client.submit(
            perform, call.index, work, shared, self.slot, versions, key=key, priority=call.priority, **where
        )
        self._track(attempt, future)
        future.add_done_callback(self._over)

    def _track(self, attempt: Attempt, future: Future) -> None:
        self._attempts[future.key] = attempt
        self._futures[future.key] = future

    def _over(self, future: Future) -> None:
        """Called in a thread of the client's."""
        if future.status == "error" and isinstance(future.exception(), KilledWorker):
            self._blame.count()
        self._events.put(future)

    def _next_events(self) -> list[Future | None]:
        """What happened, at least one thing; meanwhile, watch whether anybody is there to work."""
        if time.monotonic() - self._looked > HEARTBEAT_SECONDS:
            self._count_slots()
        waits_for_others = self._suspects and not self._attempts and not self._asked
        try:
            events = [self._events.get(timeout=HEARTBEAT_SECONDS / 10 if waits_for_others else HEARTBEAT_SECONDS)]
        except queue.Empty:
            self._turns.check()
            self._look_around(list(self._futures.values()), self.slot)
            return []
        self._turns.check()
        self._idle_since = None
        self._watch.heard()
        while not self._events.empty():
            events.append(self._events.get())
        return events

    def _judge(self, future: Future) -> Finished | None:
        """What a finished future means; `None` where its call is to be tried again."""
        attempt = self._attempts.pop(future.key)
        del self._futures[future.key]
        error = future.exception() if future.status == "error" else None
        killed = isinstance(error, KilledWorker)
        proven = killed and attempt.given_up_before is not None and self._blame.is_proven(attempt.given_up_before)
        if attempt.given_up_before is not None:
            self._blame.end()
        if future.status == "cancelled":
            self._turns.check()
            raise SchedulerLostError(self._name)
        again = replace(attempt, number=attempt.number + 1)
        failed = error is not None and not killed
        retry = failed and attempt.number <= self._retries and not isinstance(error, InputError)
        if retry and attempt.holds_turn:
            self._submit(again)
            return None
        if attempt.holds_turn:
            self._turns.give_back(self)
        if retry or (killed and not proven):
            self._suspects.append(replace(again, holds_turn=False, given_up_before=None))
            return None
        if isinstance(error, KilledWorker):
            error = RunError(
                f"{attempt.call.name} killed its worker even when it ran alone (tried {error.allowed_failures + 1} "
                "times): out of memory, or a crash in native code; raise compute.memory, or cut smaller partitions "
                "(compute.partitions)"
            )
        outcome = None if error is None else Outcome(attempt.call.index, error=error)
        return Finished(attempt, future, outcome)  # or finished and then lost with its worker: Dask does it again

    def _leave(self) -> None:
        """Cancel what still runs, and need no turn any more."""
        self._turns.leave(self)
        if any(attempt.given_up_before is not None for attempt in self._attempts.values()):
            self._blame.end()
        if self._futures and not self._turns.closed:
            self._client.cancel(list(self._futures.values()))

    def _count_slots(self) -> None:
        self._crew: Crew = self._workers.crew()
        self._looked = time.monotonic()
        slots = self._crew.slots
        self._slots = slots.gpu if self.slot == "GPU" else slots.cpu
        self._turns.allow(max(LEAST_AHEAD, PER_SLOT * self._slots))

    def _look_around(self, futures: Sequence[Future], slot: Slot) -> None:
        """While nothing is heard of these futures: whether anybody is there to work, and whether they are worked on."""
        self._count_slots()
        self._check_workers()
        self._watch.look(futures, self._crew, slot)

    def _check_workers(self) -> None:
        """Say once that nobody is there to work, and give up after a while."""
        if self._slots:
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


V = TypeVar("V")
FAN_IN = 8
FAN_IN_BYTES = 64 << 20
"""A worker that merges holds values of about so many bytes at a time, but two at least."""
INLINE_BYTES = 64_000


class DaskEngine(Engine):
    """Calls on the workers of one Dask scheduler, started by us or by somebody else."""

    def __init__(
        self,
        connection: Connection,
        settings: Compute,
        notice: Callable[[str], None] = lambda _: None,
        patience: float = WORKER_WAIT_SECONDS,
        connect_again: Callable[[], Connection] | None = None,
    ) -> None:
        self._settings = settings
        self._patience = patience
        self._connect_again = connect_again
        self._say = Notices(notice)
        self.notices: list[str] = self._say
        self._turns: dict[Slot, Turns] = {"CPU": Turns(LEAST_AHEAD), "GPU": Turns(LEAST_AHEAD)}
        self._joining, self._losses = threading.Lock(), 0
        self._pool = self._join(connection, saw_cpu=False)
        self._seen = Slots(0, 0)
        self._processors: set[str] = set()

    def _join(self, connection: Connection, saw_cpu: bool) -> Pool:
        client = connection.client
        workers = Workers(client, connection.name, saw_cpu)
        losses = Losses(client, workers, self._say.once)
        for worker, (versions, _) in workers.facts().items():
            refuse_mismatch(versions_here(), versions, worker)
        return Pool(connection, workers, Shipments(client), losses, self._turns, Blame(), self._say)

    def slots(self) -> Slots:
        """The slots of the workers that the scheduler knows now; a kind that was there before is waited for a while."""
        return self._steadily(self._slots)

    def run(self, calls: Iterable[Call], *, gpu: bool = False) -> Iterator[Outcome]:
        """The outcome of every call, as they finish."""
        return self._outcomes(self._steadily(lambda: self._window(gpu)), Outstanding(calls))

    def fold(self, calls: Iterable[Call], merge: Merge[V], *, gpu: bool = False, done: OnDone = unheard) -> Folded[V]:
        """The values of all calls merged on the workers, `FAN_IN` at a time or fewer large ones; the last is here."""
        window, outstanding = self._steadily(lambda: self._window(gpu)), Outstanding(calls)
        while True:
            try:
                with lost_in_words(self._pool.connection.name):
                    return _folded(window, outstanding, merge, done)
            except (SchedulerLostError, LostSightError) as loss:  # and what its workers held: all is folded again
                window = self._window_again(window, outstanding, loss)

    def share(self, value: object) -> object:
        """A stand-in for the value: it travels to a worker once, and again only to a worker that comes later."""
        return value if len(cloudpickle.dumps(value)) <= INLINE_BYTES else Shared(value)

    def processor(self, profile: str = "strict") -> str:
        """Those of the workers that calls go to where no GPU is asked for; all that were seen, where they differ."""
        return self._steadily(lambda: self._processor(profile))

    def _processor(self, profile: str) -> str:
        window = self._window(gpu=False)
        window.wait_for_worker()
        workers = window.pool.workers
        crew = workers.crew()
        facts = workers.facts(list(crew.plain or crew.gpu), profile).values()
        self._processors |= {processor for _, processor in facts}
        return " + ".join(sorted(self._processors))

    def _slots(self) -> Slots:
        workers, check = self._pool.workers, self._turns["CPU"].check
        self._seen = slots_when_back(lambda: workers.crew().slots, self._seen, RETURN_SECONDS, check)
        return self._seen

    def _steadily(self, ask: Callable[[], V]) -> V:
        """What is answered, by the scheduler that is there or by the one that takes its place."""
        while True:
            pool = self._pool
            try:
                return ask()
            except SchedulerLostError as loss:
                self._rejoin(pool, loss)

    def _window_again(self, window: Window, calls: Outstanding, loss: SchedulerLostError | LostSightError) -> Window:
        """A window like the one whose scheduler was lost, or lost sight of it, on the same kind of slot."""
        if isinstance(loss, LostSightError):
            calls.out_of_sight += 1
            if calls.out_of_sight > MOST_LOSSES:
                raise loss
            name = self._pool.connection.name
            self._say.once(f"Dask on {name} lost sight of calls that were under way; they are asked for again")
        else:
            self._rejoin(window.pool, loss)
        self.slots()
        return self._steadily(lambda: Window(self._pool, window.slot, self._settings.retries, self._patience))

    def _rejoin(self, lost: Pool, loss: SchedulerLostError) -> None:
        """Wait for the scheduler to come back and join it again, unless another branch has done so already."""
        check = self._turns["CPU"].check
        check()
        with self._joining:
            check()
            if self._pool is not lost:
                return
            self._losses += 1
            if self._connect_again is None or self._losses > MOST_LOSSES:
                raise loss
            name = lost.connection.name
            self._say.once(
                f"The Dask scheduler of {name} went away; waiting up to {self._patience:.0f} s for it to come back, "
                "then what was under way is done again"
            )
            close_quietly(lost.connection)
            connection = rejoin(self._connect_again, self._patience, check)
            if connection is None:
                raise loss
            try:
                self._pool = self._join(connection, lost.workers.saw_cpu)
            except SchedulerLostError:
                close_quietly(connection)  # gone again in the meantime: whoever asks next finds out, and waits again
                return

    def close(self) -> None:
        """Let go of the client, and of the workers where they are ours."""
        for turns in self._turns.values():
            turns.close()
        try:
            self._pool.losses.stop()
        finally:
            self._pool.connection.close()

    def _window(self, gpu: bool) -> Window:
        self._turns["CPU"].check()
        slot = route(gpu, self._settings, self.slots(), self._say)
        return Window(self._pool, slot, self._settings.retries, self._patience)

    def _outcomes(self, window: Window, calls: Outstanding) -> Iterator[Outcome]:
        while True:
            try:
                for batch in window.finished(calls, fetch=True):
                    for done in batch:
                        calls.over(done.attempt.call.index)
                        yield cast(Outcome, done.outcome)
                return
            except (SchedulerLostError, LostSightError) as loss:
                window = self._window_again(window, calls, loss)


def _folded(window: Window, calls: Iterable[Call], merge: Merge[V], finished: OnDone) -> Folded[V]:
    packed = cloudpickle.dumps(merge)
    levels: list[list[Future]] = []
    failed: list[Outcome] = []
    fan_in = over = 0
    for batch in window.finished(calls, fetch=False):
        for done in batch:
            if done.outcome is None:
                fan_in = fan_in or min(FAN_IN, max(2, FAN_IN_BYTES // window.bytes_of(done.future)))
                _climb(levels, done.future, lambda futures: window.join(packed, futures), fan_in)
            else:
                failed.append(done.outcome)
        over += len(batch)
        finished(over)
    rest = [future for level in levels for future in level]
    if not rest:
        return Folded(None, tuple(failed))
    return Folded(cast(V, window.merged(window.join(packed, rest)).value), tuple(failed))


def _climb(levels: list[list[Future]], future: Future, joined: Callable[[list[Future]], Future], fan_in: int) -> None:
    """Add a leaf to the fan-in tree; a level that is full becomes one entry of the next."""
    for level in levels:
        level.append(future)
        if len(level) < fan_in:
            return
        future = joined(level)
        level.clear()
    levels.append([future])
