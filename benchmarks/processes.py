"""Commands run to their end in processes of their own: what they said and when, wall and CPU time, peak memory."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memory_watch import MemoryWatch

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Finished:
    """A command that ended well. CPU seconds are those of the process and of all that it started and waited for."""

    output: str
    lines: tuple[tuple[float, str], ...]  # of standard error, each with the seconds since the start
    wall: float
    cpu: float
    peaks: MemoryWatch

    def when(self, text: str) -> float:
        """The seconds after which a line of standard error held the text."""
        return next(seconds for seconds, line in self.lines if text in line)


_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ASSAY_SERVER_IDLE": "0"}
"""One numeric thread, and no Prefect server that a run before has left."""


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> Finished:
    """Run the command with one numeric thread and wait for it; if it fails, show what it said on standard error."""
    began, before = time.perf_counter(), _cpu_of_children()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | _ENVIRONMENT | (environment or {}),
    )
    lines: list[tuple[float, str]] = []
    listener = threading.Thread(target=_listen, args=(process.stderr, began, lines))
    listener.start()
    with MemoryWatch(process.pid) as peaks:
        assert process.stdout is not None
        output = process.stdout.read()
        process.wait()
    wall = time.perf_counter() - began
    listener.join()
    if process.returncode:
        sys.stderr.write("".join(line for _, line in lines))
        raise SystemExit(f"{' '.join(command)} ended with code {process.returncode}")
    return Finished(output, tuple(lines), wall, _cpu_of_children() - before, peaks)


def python(script: str, *arguments: str) -> Finished:
    """Run a script that stands beside this one."""
    return run([sys.executable, str(HERE / script), *arguments])


def assay(*arguments: str, environment: dict[str, str] | None = None) -> Finished:
    """Run the `assay` command of the Python that runs this."""
    return run([str(Path(sys.executable).with_name("assay")), *arguments], environment)


def seconds_by_stage(finished: Finished) -> dict[str, float]:
    """Seconds by stage of an `assay run`, those of one title added up, from the lines that a person sees."""
    seconds: dict[str, float] = {}
    for _, line in finished.lines:
        found = re.match(r"  (.{12}) .*?(?:(\d+) min )?([\d.]+) s$", line.rstrip())
        if found:
            took = 60 * int(found[2] or 0) + float(found[3])
            seconds[found[1].strip()] = round(seconds.get(found[1].strip(), 0.0) + took, 1)
    return seconds


def _listen(stream: IO[str] | None, began: float, lines: list[tuple[float, str]]) -> None:
    assert stream is not None
    lines.extend((time.perf_counter() - began, line) for line in stream)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
