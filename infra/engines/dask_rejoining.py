"""A scheduler that goes away and comes back: what was under way with it is known here, and is asked for again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from weakref import WeakKeyDictionary

import cloudpickle
from distributed import Client, Future
from distributed.client import CancelledError, ClosedClientError
from distributed.comm import CommClosedError

from assay.infra.compute import Call, Slots
from assay.infra.engines.dask_keys import key_of
from assay.infra.engines.dask_start import Connection
from assay.infra.engines.work import unpack
from assay.infra.errors import RunError

MOST_LOSSES = 20
RETURN_SECONDS = 60.0
"""How long a kind of worker that was there a moment ago is waited for: it restarts, most likely."""
_PAUSE_SECONDS = 0.5


class SchedulerLostError(RunError):
    """The scheduler went away while work was running."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the Dask scheduler of {name} went away while work was running; once it is back, run again: "
            "what was committed is kept and not computed again"
        )


@contextmanager
def lost_in_words(name: str) -> Iterator[None]:
    """Within the block, what Dask's client raises where its scheduler is gone becomes `SchedulerLostError`."""
    try:
        yield
    except (CommClosedError, ClosedClientError, CancelledError, TimeoutError) as fault:
        raise SchedulerLostError(name) from fault


class Outstanding:
    """The calls of a run or fold; iterated again, those that were drawn and are not over come first.

    >>> calls = Outstanding(Call(n, "", print) for n in range(4))
    >>> drawn = iter(calls)
    >>> first, second = next(drawn), next(drawn)
    >>> calls.over(second.index)
    >>> [call.index for call in calls]
    [0, 2, 3]
    """

    def __init__(self, calls: Iterable[Call]) -> None:
        self._rest = iter(calls)
        self._drawn: dict[int, Call] = {}
        self.out_of_sight = 0
        """How often Dask lost sight of some of them."""

    def over(self, index: int) -> None:
        """That call has its outcome."""
        self._drawn.pop(index, None)

    def __iter__(self) -> Iterator[Call]:
        yield from list(self._drawn.values())
        for call in self._rest:
            self._drawn[call.index] = call
            yield call


class Shared:
    """A stand-in for a constant that is shipped to the workers once, and once more to those of a later scheduler."""

    def __init__(self, value: object) -> None:
        self.value = value


class Shipments:
    """The futures of shared constants with one scheduler, each kept as long as somebody holds its stand-in."""

    def __init__(self, client: Client) -> None:
        self._client, self._lock = client, threading.Lock()
        self._futures: WeakKeyDictionary[Shared, Future] = WeakKeyDictionary()

    def future(self, shared: Shared) -> Future:
        """The future that stands for the constant here; submitted when it is first asked for."""
        with self._lock:
            if shared not in self._futures:
                key = key_of(self._client, "unpack")
                self._futures[shared] = self._client.submit(unpack, cloudpickle.dumps(shared.value), key=key)
            return self._futures[shared]


def let_go(connection: Connection) -> None:
    """Close a client whose scheduler is gone, whatever it has to say about it."""
    with suppress(Exception, CancelledError):
        connection.client.close(timeout=1)


def joined_again(connect: Callable[[], Connection], seconds: float, check: Callable[[], None]) -> Connection | None:
    """A connection to the scheduler that is back, or None where it is not within that time; `check` may end it."""
    deadline = time.monotonic() + seconds
    while True:
        check()
        try:
            return connect()
        except RunError:
            if time.monotonic() >= deadline:
                return None
        time.sleep(_PAUSE_SECONDS)


def returned(slots: Callable[[], Slots], before: Slots, seconds: float, check: Callable[[], None]) -> Slots:
    """The slots once every kind that was there before is there again, or as they are after that time.

    Keys say on which kind of worker a stage computes: one that restarts must not change them.
    """
    deadline = time.monotonic() + seconds
    while True:
        check()
        now = slots()
        whole = (now.gpu or not before.gpu) and (now.cpu or not before.cpu)
        if whole or time.monotonic() >= deadline:
            return now
        time.sleep(_PAUSE_SECONDS)
