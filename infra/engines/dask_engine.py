"""Calls on Dask workers: a bounded window of futures, each seen through to a value or to an error worth reading."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar, cast

import cloudpickle
from distributed import Future

from assay.infra.compute import Call, Folded, Outcome, Profile, Slot, Slots
from assay.infra.engines.dask_losses import Losses
from assay.infra.engines.dask_rejoining import (
    MOST_LOSSES,
    RETURN_SECONDS,
    Outstanding,
    SchedulerLostError,
    Shared,
    Shipments,
    joined_again,
    let_go,
    lost_in_words,
    returned,
)
from assay.infra.engines.dask_start import Connection
from assay.infra.engines.dask_turns import Blame, Turns
from assay.infra.engines.dask_watch import LostSightError
from assay.infra.engines.dask_window import LEAST_AHEAD, PATIENCE_SECONDS, Finished, Pool, Window
from assay.infra.engines.dask_workers import Workers
from assay.infra.engines.routing import Notices, route
from assay.infra.engines.versions import refuse_mismatch, versions_here
from assay.infra.engines.work import Piece, Place
from assay.infra.settings import Compute

V = TypeVar("V")
FAN_IN = 8
FAN_IN_BYTES = 64 << 20
"""A worker that merges holds values of about so many bytes at a time, but two at least."""
INLINE_BYTES = 64_000


class DaskEngine:
    """Calls on the workers of one Dask scheduler, started by us or by somebody else."""

    def __init__(
        self,
        connection: Connection,
        settings: Compute,
        notice: Callable[[str], None] = lambda _: None,
        patience: float = PATIENCE_SECONDS,
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
        self._processors: dict[Slot, set[str]] = {}

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

    def fold(
        self,
        calls: Iterable[Call],
        merge: Callable[[V, V], V],
        *,
        gpu: bool = False,
        finished: Callable[[int], None] = lambda _: None,
    ) -> Folded[V]:
        """The values of all calls merged on the workers, `FAN_IN` at a time or fewer large ones; the last is here."""
        window, outstanding = self._steadily(lambda: self._window(gpu)), Outstanding(calls)
        while True:
            try:
                with lost_in_words(self._pool.connection.name):
                    return _folded(window, outstanding, merge, finished)
            except (SchedulerLostError, LostSightError) as loss:  # and what its workers held: all is folded again
                window = self._window_again(window, outstanding, loss)

    def share(self, value: object) -> object:
        """A stand-in for the value: it travels to a worker once, and again only to a worker that comes later."""
        return value if len(cloudpickle.dumps(value)) <= INLINE_BYTES else Shared(value)

    def profile(self, *, gpu: bool = False) -> Profile:
        """What the workers on that kind of slot are; processors that differ are all named."""
        return self._steadily(lambda: self._profile(gpu))

    def _profile(self, gpu: bool) -> Profile:
        window = self._window(gpu)
        window.wait_for_worker()
        workers = window.pool.workers
        crew = workers.crew()
        members = crew.gpu if window.slot == "GPU" else crew.plain or crew.gpu
        seen = self._processors.setdefault(window.slot, set())
        seen |= {processor for _, processor in workers.facts(list(members)).values()}
        return Profile("cuda" if window.slot == "GPU" else "cpu", " + ".join(sorted(seen)), versions_here())

    def _slots(self) -> Slots:
        workers, check = self._pool.workers, self._turns["CPU"].check
        self._seen = returned(lambda: workers.crew().slots, self._seen, RETURN_SECONDS, check)
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
            self._ask_again(calls, loss)
        else:
            self._rejoin(window.pool, loss)
        self.slots()
        return self._steadily(lambda: Window(self._pool, window.slot, self._settings.retries, self._patience))

    def _ask_again(self, calls: Outstanding, loss: LostSightError) -> None:
        calls.out_of_sight += 1
        if calls.out_of_sight > MOST_LOSSES:
            raise loss
        name = self._pool.connection.name
        self._say.once(f"Dask on {name} lost sight of calls that were under way; they are asked for again")

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
            let_go(lost.connection)
            connection = joined_again(self._connect_again, self._patience, check)
            if connection is None:
                raise loss
            try:
                self._pool = self._join(connection, lost.workers.saw_cpu)
            except SchedulerLostError:
                let_go(connection)  # gone again in the meantime: whoever asks next finds out, and waits again
                return

    def close(self) -> None:
        """Let go of the client, and of the workers where they are ours."""
        for turns in self._turns.values():
            turns.close()
        try:
            self._pool.losses.stop()
        finally:
            self._pool.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _window(self, gpu: bool) -> Window:
        self._turns["CPU"].check()
        slot = route(gpu, self._settings.gpu, self.slots(), self._settings.engine, self._say)
        return Window(self._pool, slot, self._settings.retries, self._patience)

    def _outcomes(self, window: Window, calls: Outstanding) -> Iterator[Outcome]:
        while True:
            try:
                for batch in window.finished(calls, fetch=True):
                    for done in batch:
                        calls.over(done.attempt.call.index)
                        if done.piece is None:
                            yield _failure(done)
                        else:
                            yield _success(done.piece.places[0], done.piece.value, done.attempt.number)
                return
            except (SchedulerLostError, LostSightError) as loss:
                window = self._window_again(window, calls, loss)


def _folded(
    window: Window, calls: Iterable[Call], merge: Callable[[V, V], V], finished: Callable[[int], None]
) -> Folded[V]:
    packed = cloudpickle.dumps(merge)
    levels: list[list[Future]] = []
    attempts: dict[int, int] = {}
    outcomes: list[Outcome] = []
    fan_in = 0
    for batch in window.finished(calls, fetch=False):
        for done in batch:
            attempts[done.attempt.call.index] = done.attempt.number
            if done.error is None:
                fan_in = fan_in or min(FAN_IN, max(2, FAN_IN_BYTES // window.bytes_of(done.future)))
                _climb(levels, done.future, lambda futures: window.join(packed, futures), fan_in)
            else:
                outcomes.append(_failure(done))
        finished(len(attempts))
    rest = [future for level in levels for future in level]
    if not rest:
        return Folded(None, tuple(outcomes))
    piece = cast("Piece[V]", window.merged(window.join(packed, rest)))
    outcomes += [_success(place, None, attempts[place.index]) for place in piece.places]
    return Folded(piece.value, tuple(outcomes))


def _climb(levels: list[list[Future]], future: Future, joined: Callable[[list[Future]], Future], fan_in: int) -> None:
    """Add a leaf to the fan-in tree; a level that is full becomes one entry of the next."""
    for level in levels:
        level.append(future)
        if len(level) < fan_in:
            return
        future = joined(level)
        level.clear()
    levels.append([future])


def _success(place: Place, value: object, attempts: int) -> Outcome:
    return Outcome(place.index, value, None, place.worker, place.slot, place.seconds, place.cpu_seconds, attempts)


def _failure(finished: Finished) -> Outcome:
    return Outcome(finished.attempt.call.index, error=finished.error, attempts=finished.attempt.number)
