"""How much of a run goes on at once in the flow's process: bodies of stages, and bytes that they have collected."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from assay.infra.errors import RunError
from assay.infra.stopping import Stopped

COLLECTED_BYTES = 2 << 30
process_state = threading.RLock()
"""Held while something is changed for a moment that all threads of the process share: Torch's generator, how Python
warns. A stage's body that does so shares the process with others."""

_LOOK_SECONDS = 0.5


class Stop:
    """Says to everything that a run has under way that the run is over."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def set(self) -> None:
        """From now on nothing new begins, and what waits gives up."""
        self._stopped.set()

    def __bool__(self) -> bool:
        return self._stopped.is_set()

    def check(self) -> None:
        """Raises `Stopped` once the run is over."""
        if self._stopped.is_set():
            raise Stopped


class Allowance:
    """The time that a run may take: when it is over, no further stage is begun; what is under way comes to its end."""

    def __init__(self, seconds: float | None, written: str = "") -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._written = written

    def lift(self) -> None:
        """From now on there is no bound: what concludes a run is short, and without it all would be lost."""
        self._until = None

    def require_time(self, what: str) -> None:
        """Nothing, or the sentence for a stage that is not begun any more."""
        if self._until is not None and time.monotonic() > self._until:
            raise RunError(
                f"{what} was not begun: the budget of {self._written} was over. What was made is kept, and the next "
                "run goes on from there; raise the budget, or run with --sample."
            )


class Bodies:
    """Lets so many stages compute at once; `limit` is looked up anew each time, as a cluster may grow."""

    def __init__(self, limit: Callable[[], int], stop: Stop) -> None:
        self._limit, self._stop = limit, stop
        self._inside = 0
        self._left = threading.Condition()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """The block is entered when there is room."""
        while not self._entered(max(1, self._limit())):
            self._stop.check()
        try:
            yield
        finally:
            with self._left:
                self._inside -= 1
                self._left.notify()

    def _entered(self, limit: int) -> bool:
        with self._left:
            if self._inside >= limit:
                self._left.wait(_LOOK_SECONDS)
            if self._inside >= limit:
                return False
            self._inside += 1
            return True


class Collected:
    """A budget for the columns that stages at work hold in this process: whoever comes when it is spent waits.

    The stage that has held the longest never waits, so that two that want more do not wait for each other.
    """

    def __init__(self, stop: Stop, budget: int = COLLECTED_BYTES) -> None:
        self._stop, self._budget = stop, budget
        self._held: dict[Hashable, int] = {}
        self._freed = threading.Condition()

    def take(self, who: Hashable, size: int) -> None:
        """Count so many bytes more for a stage; returns when there is room for them."""
        with self._freed:
            while self._held and next(iter(self._held)) != who and sum(self._held.values()) + size > self._budget:
                self._stop.check()
                self._freed.wait(_LOOK_SECONDS)
            self._held[who] = self._held.get(who, 0) + size

    def release(self, who: Hashable) -> None:
        """The stage is over."""
        with self._freed:
            self._held.pop(who, None)
            self._freed.notify_all()


class OneEach:
    """Lets one caller at a time work under a key; others that come with the same key wait for it."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._busy: set[Hashable] = set()
        self._free = threading.Condition()

    @contextmanager
    def __call__(self, key: Hashable) -> Iterator[None]:
        """The block is entered when nobody else works under the key."""
        with self._free:
            while key in self._busy:
                self._stop.check()
                self._free.wait(_LOOK_SECONDS)
            self._busy.add(key)
        try:
            yield
        finally:
            with self._free:
                self._busy.remove(key)
                self._free.notify_all()
