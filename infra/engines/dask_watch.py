"""Futures that Dask lost sight of: nobody computes them although somebody is free to, and no word of them will come."""

from __future__ import annotations

import time
from collections.abc import Sequence

from distributed import Client, Future

from assay.infra.compute import Slot
from assay.infra.engines.dask_keys import is_of
from assay.infra.engines.dask_workers import Crew, Workers
from assay.infra.errors import RunError

LOOK_SECONDS = 10.0
LOOKS = 3
_PENDING = ("pending", "lost")
"""A future's status where its client waits to hear of it."""


class LostSightError(RunError):
    """Dask's scheduler has futures that it does nothing for."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the Dask scheduler of {name} leaves calls undone although workers are free, also when it is asked again; "
            "restart it and run again: what was committed is kept"
        )


class Watch:
    """Looks, while nothing is heard of some futures, whether anything of ours is being computed: they, or what they
    need."""

    def __init__(self, client: Client, workers: Workers, name: str) -> None:
        self._client, self._workers, self._name = client, workers, name
        self._looked, self._in_vain = time.monotonic(), 0

    def heard(self) -> None:
        """Something was heard: the futures are looked for anew from now on."""
        self._looked, self._in_vain = time.monotonic(), 0

    def look(self, futures: Sequence[Future], crew: Crew, slot: Slot) -> None:
        """To be called again and again meanwhile; raises after `LOOKS` looks in a row at which nothing was computed
        while a worker on that kind of slot was free."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        waits = any(future.status in _PENDING for future in futures)
        workers = crew.gpu if slot == "GPU" else crew.plain or crew.gpu
        busy_with = self._workers.busy_with()
        at_work = any(is_of(self._client, key) for keys in busy_with.values() for key in keys)
        free = any(not busy_with.get(where, ["gone"]) for where in workers if where in self._workers.running)
        self._in_vain = self._in_vain + 1 if waits and free and not at_work else 0
        if self._in_vain >= LOOKS:
            raise LostSightError(self._name)
