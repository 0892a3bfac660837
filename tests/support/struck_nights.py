"""Strikes against a night at work: which signal hits whom, after how much of its work was finished."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from command_line import Command

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
VICTIMS = ("run", "worker", "server", "fork server")
LAST_WORDS = (-9, 0, 130, 143)  # killed; done in spite of it; ended in words


@dataclass(frozen=True)
class Strike:
    """What hits whom."""

    number: signal.Signals
    victim: str

    @classmethod
    def of_case(cls, case: int) -> Strike:
        """Every signal meets every victim within twelve cases.

        >>> len({Strike.of_case(case) for case in range(12)})
        12
        """
        return cls(SIGNALS[case % 3], VICTIMS[case // 3 % 4])

    def hit(self, night: Command) -> list[psutil.Process]:
        """Send the signal to the victim, where it is there yet; the family as it stood."""
        family: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            family = night.offspring()
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            _victims(night, self.victim, family)[-1].send_signal(self.number)
        return family

    def may_end_in(self, code: int, begun: bool) -> bool:
        """Whether a night that was hit so may end with that code; before it began, the signal speaks for itself."""
        return code in LAST_WORDS or (code == -self.number and not begun)


def _victims(night: Command, victim: str, family: Sequence[psutil.Process]) -> list[psutil.Process]:
    words = {one: " ".join(one.cmdline()) for one in family}
    forks = [one for one, command in words.items() if "multiprocessing.forkserver" in command]
    named = {
        "run": [],
        "worker": [one for one in words if "spawn_main" in words[one] or (one in forks and one.parent() in forks)],
        "fork server": [one for one in forks if one.parent() not in forks],  # of which the workers are forks
        "server": [one for one, command in words.items() if "assay.infra.prefect.server" in command],
    }[victim]
    return named or [psutil.Process(night.process.pid)]


def progress_of(store: Path) -> int:
    """How much a night has done so far: its committed results and finished partitions."""
    walk = os.walk(store / "stages")  # unlike a glob it does not mind a folder that the run removes meanwhile
    return sum(name.endswith(".json") for _, _, names in walk for name in names)


def comes_so_far(night: Command, store: Path, further: int) -> bool:
    """Wait until a night has done so much more than its store holds now; False where it was over before."""
    enough = progress_of(store) + further
    with suppress(AssertionError):
        night.until(lambda: progress_of(store) >= enough, "the moment")
        return True
    return False


def strikes_of_case(case: int) -> tuple[random.Random, int]:
    """The draws of a case, and how often its night is struck: every fourth twice."""
    return random.Random(case), 2 if case % 4 == 0 else 1
