"""How a program with workers ends: interrupted or killed, it leaves no process behind and no traceback of Dask's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError
from assay.infra.settings import Compute

PROGRAM = """
import sys, time, os
from pathlib import Path
from assay.infra.engines.calls import Call
from assay.infra.engines.opening import open_engine
from assay.infra.settings import Compute

def wait(number, marks):
    Path(marks, str(os.getpid())).touch()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        time.sleep(0.02)

if __name__ == "__main__":
    try:
        with open_engine(Compute(workers=2, gpu_workers=0)) as engine:
            list(engine.run(Call(n, "waiting", wait, (n, sys.argv[1])) for n in range(4)))
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A program at work, in a process group of its own, and its two workers."""
    source, marks = tmp_path / "program.py", tmp_path / "marks"
    source.write_text(PROGRAM)
    marks.mkdir()
    running = subprocess.Popen(
        [sys.executable, str(source), str(marks)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list(marks.iterdir())) < 2:
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.02)
    workers = [psutil.Process(int(mark.name)) for mark in marks.iterdir()]
    yield running, workers
    for process in [*workers, running]:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    running.wait(30)


def test_an_interrupted_program_ends_quietly(program: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    running, workers = program
    os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does: every process in the foreground hears it
    assert running.stderr is not None
    said = running.stderr.read()
    assert running.wait(60) == 130
    assert said == ""
    assert psutil.wait_procs(workers, timeout=30)[1] == []


def test_a_killed_program_leaves_no_worker_behind(program: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    running, workers = program
    running.kill()
    assert psutil.wait_procs(workers, timeout=30)[1] == []
    assert running.stderr is not None
    assert "Traceback" not in running.stderr.read()


@pytest.mark.parametrize("memory", ["1B", "1 kB", "100MiB", "0.0001"])
def test_workers_that_could_not_start_are_refused_at_once(memory: str) -> None:
    with pytest.raises(InputError, match=f"compute.memory: {memory} is .* one needs 256 MiB to start"):
        open_engine(Compute(workers=1, memory=memory))
