"""What happens where a call runs: it is unpacked, run, timed, and says where that was."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.infra.compute import Slot
from assay.infra.engines.memory import give_back_memory, keep_freed_memory
from assay.infra.engines.threads import one_thread
from assay.infra.engines.versions import refuse_other_versions
from assay.infra.errors import called_without_secrets
from assay.infra.own_code import kept_in

V = TypeVar("V")
_slot: ContextVar[Slot] = ContextVar("slot", default="CPU")


@dataclass(frozen=True)
class Place:
    """Where and how long one call ran."""

    index: int
    worker: str
    slot: Slot
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Piece(Generic[V]):
    """A value, and the places of the calls that it was made of."""

    value: V
    places: tuple[Place, ...]

    def __sizeof__(self) -> int:
        """Dask asks: what it spills, and how many pieces are merged at a time, goes by it."""
        from dask.sizeof import sizeof

        return object.__sizeof__(self) + int(sizeof(self.value))


def slot_here() -> Slot:
    """The kind of slot that the call which asks is running on: code for both kinds takes the device from it."""
    return _slot.get()


def timed(
    index: int,
    function: Callable[..., V],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    worker: str,
    slot: Slot,
) -> Piece[V]:
    """The function's value and the place where it was computed."""
    token = _slot.set(slot)
    keep_freed_memory()
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        with kept_in(f"What {worker} was working on"):
            value = called_without_secrets(lambda: function(*args, **kwargs))
    finally:
        give_back_memory()
        _slot.reset(token)
    place = Place(index, worker, slot, time.perf_counter() - wall, time.thread_time() - cpu)
    return Piece(value, (place,))


def perform(
    index: int, work: bytes, shared: Mapping[int | str, object], slot: Slot, versions: Mapping[str, str]
) -> Piece[object]:
    """Run a pickled call on this Dask worker; `shared` are the arguments (by place or name) that came ahead of it."""
    from distributed import get_worker

    worker = str(get_worker().name)
    refuse_other_versions(versions, worker)
    one_thread()
    function, own = pickle.loads(work)
    given = {**own, **shared}
    args = [given[place] for place in range(sum(isinstance(place, int) for place in given))]
    kwargs = {place: value for place, value in given.items() if isinstance(place, str)}
    return timed(index, function, args, kwargs, worker, slot)


def join(merge: bytes, pieces: Sequence[Piece[V]]) -> Piece[V]:
    """The pieces as one, by a pickled `merge`."""
    two = pickle.loads(merge)
    value = pieces[0].value
    for piece in pieces[1:]:
        value = two(value, piece.value)
    return Piece(value, tuple(place for piece in pieces for place in piece.places))


def unpack(pickled: bytes) -> object:
    """A shared constant, once per worker."""
    return pickle.loads(pickled)
