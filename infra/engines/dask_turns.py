"""Whose call is submitted next: the calls that all runs and folds of an engine have with Dask are bounded together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from assay.infra.stopping import Stopped

_MOMENT_SECONDS = 0.5


class Turns:
    """Hands out turns to submit a call: to whoever asks and has the fewest calls submitted, round robin among equals.

    So a stage of a thousand partitions has the whole bound to itself while it is alone, and a training that comes
    second is submitted as soon as one of them is done.

    >>> turns, order = Turns(bound=3), []
    >>> for _ in range(3):
    ...     turns.ask("thousand", lambda: order.append("partition"))
    >>> turns.ask("thousand", lambda: order.append("one more partition"))
    >>> turns.ask("second", lambda: order.append("training"))
    >>> order
    ['partition', 'partition', 'partition']
    >>> turns.give_back("thousand"); order[-1]
    'training'
    """

    def __init__(self, bound: int) -> None:
        self._lock = threading.Lock()
        self._bound = bound
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self.closed = False

    def ask(self, who: Hashable, granted: Callable[[], None]) -> None:
        """Ask for one turn; `granted` is called as soon as it is there, now or by another thread."""
        with self._lock:
            self._held.setdefault(who, 0)
            self._waiting[who] = granted
            self._hand_out()

    def give_back(self, who: Hashable) -> None:
        """A call of theirs is over, or its turn is not needed."""
        with self._lock:
            self._held[who] -= 1
            self._hand_out()

    def leave(self, who: Hashable) -> None:
        """They need no turn any more, and give back all that they hold."""
        with self._lock:
            self._held.pop(who, None)
            self._waiting.pop(who, None)
            self._hand_out()

    def allow(self, bound: int) -> None:
        """From now on so many calls may be submitted at once."""
        with self._lock:
            self._bound = bound
            self._hand_out()

    def close(self) -> None:
        """The engine closes: whoever waits is woken up, and finds out."""
        with self._lock:
            self.closed = True
            for granted in self._waiting.values():
                granted()

    def check(self) -> None:
        """Raises `Stopped` once the engine is closed."""
        if self.closed:
            raise Stopped

    def _hand_out(self) -> None:
        while self._waiting and sum(self._held.values()) < self._bound:
            who = min(self._waiting, key=lambda one: self._held[one])
            self._held[who] += 1
            self._waiting.pop(who)()


class Blame:
    """Finds out which call kills its worker: suspects of all runs and folds are tried again one at a time.

    Others go on beside a suspect. If one of those was given up too meanwhile, it may have been that one.
    """

    def __init__(self) -> None:
        self._lock, self._alone = threading.Lock(), threading.Lock()
        self.given_up = 0

    def begin(self) -> int | None:
        """The number of calls given up so far, where no other suspect is being tried; else None."""
        return self.given_up if self._alone.acquire(blocking=False) else None

    def end(self) -> None:
        """The suspect has been tried."""
        self._alone.release()

    def count(self) -> None:
        """A call was given up by Dask because its workers died."""
        with self._lock:
            self.given_up += 1

    def is_proven(self, before: int) -> bool:
        """Whether nothing but the suspect was given up since it began; what went with it is heard of a moment later."""
        time.sleep(_MOMENT_SECONDS)
        return self.given_up - before <= 1
