"""What is said when a worker is lost in the middle of its work: which one, and what is therefore done again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from distributed import Client
from distributed.client import ClosedClientError

from assay.infra.engines.dask_workers import Workers

TOPIC = "all"
"""The topic on which Dask's scheduler says that a worker went."""


@dataclass(eq=False)
class Submitted:
    """The calls of one run or fold: Dask's keys, each with the name that people know the call by."""

    names: dict[str, str] = field(default_factory=dict)


class Losses:
    """Hears of every worker that went unasked, and says what it took along; silent where it was idle."""

    def __init__(self, client: Client, workers: Workers, say: Callable[[str], None]) -> None:
        self._client = client
        self._workers = workers
        self._say = say
        self._windows: WeakSet[Submitted] = WeakSet()
        self._lock = threading.Lock()
        client.subscribe_topic(TOPIC, self._hear)

    def watch(self) -> Submitted:
        """A place for the calls of a run or fold; watched as long as somebody holds it."""
        submitted = Submitted()
        with self._lock:
            self._windows.add(submitted)
        return submitted

    def stop(self) -> None:
        """Hear no more: a scheduler that still had something to say to a client that is gone would complain aloud."""
        # A client whose scheduler went down hears nothing more anyway; its ClosedClientError is a plain Exception.
        with suppress(OSError, ValueError, ClosedClientError):
            self._client.unsubscribe_topic(TOPIC)

    def _hear(self, event: tuple[float, Any]) -> None:
        _, message = event
        if not isinstance(message, Mapping) or message.get("action") != "remove-worker" or message.get("expected"):
            return
        worker = self._workers.name_of(str(message.get("worker", "")))
        working, done = (self._named(message.get(kind, ())) for kind in ("processing-tasks", "lost-computed-tasks"))
        if working or done:
            self._say(sentence(worker, working, done))

    def _named(self, keys: Collection[object]) -> list[str]:
        """The calls of ours among the keys, by name."""
        with self._lock:
            windows = list(self._windows)
        return sorted({window.names[str(key)] for key in keys for window in windows if str(key) in window.names})


def sentence(worker: str, working: Collection[str], done: Collection[str]) -> str:
    """What a person is told.

    >>> sentence("cpu-1", ["votes, partition 3 of 10"], [])
    'Worker cpu-1 was lost (killed, or out of memory). Done again: votes, partition 3 of 10.'
    """
    lost = [*working, *(f"the result of {name}" for name in done)]
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    listed = "; ".join(lost[:3])
    return f"Worker {worker} was lost (killed, or out of memory). Done again: {listed}{more}."
