"""How much memory each process of a run had at its highest: the flow's, the workers', Prefect's server.

Forked workers share what was imported before the fork. The resident set size (`peaks`) counts all of it for each of
them, the proportional set size (`parts`, on Linux, sampled once a second) shares it out among them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

_SECONDS, _SECONDS_OF_PARTS = 0.1, 1.0


class MemoryWatch:
    """Watches a process and all that descend from it; on Linux by the kernel's own high-water mark (VmHWM)."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._peaks: dict[tuple[str, int], int] = {}
        self._parts: dict[tuple[str, int], int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def peaks(self, role: str) -> list[int]:
        """The peaks in megabytes of all processes of a role (`flow`, `worker`, `server`, `other`), largest first."""
        return _of_role(self._peaks, role)

    def parts(self, role: str) -> list[int]:
        """The same of proportional set sizes, in which a page that two processes share counts half for each."""
        return _of_role(self._parts, role)

    def _watch(self) -> None:
        parts_at = time.monotonic()
        while not self._over.wait(_SECONDS):
            with_parts = time.monotonic() >= parts_at
            parts_at = time.monotonic() + _SECONDS_OF_PARTS if with_parts else parts_at
            with suppress(psutil.Error):
                for process in [self._root, *self._root.children(recursive=True)]:
                    with suppress(psutil.Error, OSError):
                        key = (self._role(process), process.pid)
                        self._peaks[key] = max(self._peaks.get(key, 0), _peak(process))
                        if with_parts:
                            part = getattr(process.memory_full_info(), "pss", 0)
                            self._parts[key] = max(self._parts.get(key, 0), part)

    def _role(self, process: psutil.Process) -> str:
        if process == self._root:
            return "flow"
        words = " ".join(process.cmdline())
        if "spawn_main" in words or (_FORKS in words and _FORKS in " ".join(process.parent().cmdline())):
            return "worker"
        return "server" if "assay.infra.prefect.server" in words else "other"


_FORKS = "multiprocessing.forkserver"


def _of_role(peaks: Mapping[tuple[str, int], int], role: str) -> list[int]:
    return sorted((round(peak / 1e6) for (of, _), peak in peaks.items() if of == role), reverse=True)


def _peak(process: psutil.Process) -> int:
    status = Path(f"/proc/{process.pid}/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak: int = process.memory_info().rss
    return peak
