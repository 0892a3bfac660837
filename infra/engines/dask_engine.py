"""Calls on Dask workers: a bounded window of futures, each seen through to a value or to an error worth reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar, cast

import cloudpickle
from distributed import Future

from assay.infra.compute import Call, Folded, Outcome, Profile, Slot, Slots
from assay.infra.engines.dask_losses import Losses
from assay.infra.engines.dask_start import Connection
from assay.infra.engines.dask_turns import Blame, Turns
from assay.infra.engines.dask_window import LEAST_AHEAD, PATIENCE_SECONDS, Finished, Pool, Shared, Window
from assay.infra.engines.dask_workers import Workers
from assay.infra.engines.routing import Notices, route
from assay.infra.engines.versions import refuse_mismatch, versions_here
from assay.infra.engines.work import Piece, Place, unpack
from assay.infra.settings import Compute

V = TypeVar("V")
FAN_IN = 8
INLINE_BYTES = 64_000


class DaskEngine:
    """Calls on the workers of one Dask scheduler, started by us or by somebody else."""

    def __init__(
        self,
        connection: Connection,
        settings: Compute,
        notice: Callable[[str], None] = lambda _: None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._connection = connection
        self._client = connection.client
        self._settings = settings
        self._patience = patience
        self._say = Notices(notice)
        self.notices: list[str] = self._say
        self._workers = Workers(self._client, connection.name)
        self._losses = Losses(self._client, self._workers, self._say.once)
        self._turns: dict[Slot, Turns] = {"CPU": Turns(LEAST_AHEAD), "GPU": Turns(LEAST_AHEAD)}
        self._pool = Pool(connection, self._workers, self._losses, self._turns, Blame(), self._say)
        self._processors: dict[Slot, set[str]] = {}
        for worker, (versions, _) in self._workers.facts().items():
            refuse_mismatch(versions_here(), versions, worker)

    def slots(self) -> Slots:
        """The slots of the workers that the scheduler knows now."""
        return self._workers.crew().slots

    def run(self, calls: Iterable[Call], *, gpu: bool = False) -> Iterator[Outcome]:
        """The outcome of every call, as they finish."""
        return self._outcomes(self._window(gpu), calls)

    def fold(
        self,
        calls: Iterable[Call],
        merge: Callable[[V, V], V],
        *,
        gpu: bool = False,
        finished: Callable[[int], None] = lambda _: None,
    ) -> Folded[V]:
        """The values of all calls merged on the workers, `FAN_IN` at a time; only the last one comes here."""
        window = self._window(gpu)
        packed = cloudpickle.dumps(merge)
        levels: list[list[Future]] = []
        attempts: dict[int, int] = {}
        outcomes: list[Outcome] = []
        for batch in window.finished(calls, fetch=False):
            for one in batch:
                attempts[one.attempt.call.index] = one.attempt.number
                if one.error is None:
                    _climb(levels, one.future, lambda futures: window.join(packed, futures))
                else:
                    outcomes.append(_failure(one))
            finished(len(attempts))
        rest = [future for level in levels for future in level]
        if not rest:
            return Folded(None, tuple(outcomes))
        piece = cast("Piece[V]", window.merged(window.join(packed, rest)))
        outcomes += [_success(place, None, attempts[place.index]) for place in piece.places]
        return Folded(piece.value, tuple(outcomes))

    def share(self, value: object) -> object:
        """A stand-in for the value: it travels to a worker once, and again only to a worker that comes later."""
        packed = cloudpickle.dumps(value)
        if len(packed) <= INLINE_BYTES:
            return value
        return Shared(self._client.submit(unpack, packed, pure=False))

    def profile(self, *, gpu: bool = False) -> Profile:
        """What the workers on that kind of slot are; processors that differ are all named."""
        window = self._window(gpu)
        window.wait_for_worker()
        crew = self._workers.crew()
        members = crew.gpu if window.slot == "GPU" else crew.plain or crew.gpu
        seen = self._processors.setdefault(window.slot, set())
        seen |= {processor for _, processor in self._workers.facts(list(members)).values()}
        return Profile("cuda" if window.slot == "GPU" else "cpu", " + ".join(sorted(seen)), versions_here())

    def close(self) -> None:
        """Let go of the client, and of the workers where they are ours."""
        for turns in self._turns.values():
            turns.close()
        try:
            self._losses.stop()
        finally:
            self._connection.close()

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

    def _outcomes(self, window: Window, calls: Iterable[Call]) -> Iterator[Outcome]:
        for batch in window.finished(calls, fetch=True):
            for one in batch:
                if one.piece is None:
                    yield _failure(one)
                else:
                    yield _success(one.piece.places[0], one.piece.value, one.attempt.number)


def _climb(levels: list[list[Future]], future: Future, joined: Callable[[list[Future]], Future]) -> None:
    """Add a leaf to the fan-in tree; a level that is full becomes one entry of the next."""
    for level in levels:
        level.append(future)
        if len(level) < FAN_IN:
            return
        future = joined(level)
        level.clear()
    levels.append([future])


def _success(place: Place, value: object, attempts: int) -> Outcome:
    return Outcome(place.index, value, None, place.worker, place.slot, place.seconds, place.cpu_seconds, attempts)


def _failure(finished: Finished) -> Outcome:
    return Outcome(finished.attempt.call.index, error=finished.error, attempts=finished.attempt.number)
