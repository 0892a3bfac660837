"""A conductor under which stages finish in a shuffled order, for tests of what goes on at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from typing import Any

from assay.infra.stages.runs import Conductor, Playable


class Shuffled(Conductor):
    """Holds every stage up, before it begins and when it is over, by times drawn from a seed."""

    def __init__(self, seed: int, most_seconds: float = 0.05) -> None:
        self._random, self._most, self._lock = random.Random(seed), most_seconds, threading.Lock()

    def play(self, stage: Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The stage's handles, after a while."""
        with self._lock:
            before, after = (self._random.uniform(0, self._most) for _ in range(2))
        time.sleep(before)
        handles = super().play(stage, args, kwargs)
        time.sleep(after)
        return handles
