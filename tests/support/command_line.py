"""Drives the `assay` command as a person does: a process of its own, waited for by what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ASSAY = str(Path(sys.executable).parent / "assay")
OURS = ("ASSAY_", "PREFECT_", "DASK_", "PYTHONPATH", "OMP_NUM_THREADS")
PATIENCE = 240.0


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a newcomer's shell says: nothing of ours, but state folders that are not the person's own."""
    home.mkdir(parents=True, exist_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    homes = {"ASSAY_HOME": str(home / "assay"), "PREFECT_HOME": str(home / "prefect")}
    return clean | homes | {"ASSAY_SERVER_IDLE": "0"} | more  # no process is left behind


@dataclass
class Command:
    """An `assay` command at work, in a process group of its own; what it says goes to files."""

    process: subprocess.Popen[bytes]
    said: Path
    complained: Path

    @classmethod
    def start(
        cls,
        arguments: Sequence[str],
        *,
        folder: Path,
        env: Mapping[str, str],
        within: Sequence[str] = (),
        program: str = ASSAY,
    ) -> Command:
        """The command `assay ARGUMENTS` in a folder; `within` is a command that runs commands (unshare, say)."""
        stamp = f"{time.monotonic_ns()}"
        said, complained = folder / f"{stamp}.out", folder / f"{stamp}.err"
        with said.open("wb") as out, complained.open("wb") as err:
            process = subprocess.Popen(
                [*within, program, *arguments],
                cwd=folder,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return cls(process, said, complained)

    @property
    def out(self) -> str:
        """Its standard output so far."""
        return self.said.read_text()

    @property
    def err(self) -> str:
        """Its standard error so far."""
        return self.complained.read_text()

    @property
    def answer(self) -> dict[str, Any]:
        """The object in the last line of standard output (`--json`)."""
        answer: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return answer

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code; a command that takes too long is ended, with what it said in the failure."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {seconds:.0f} s\n{self.out}\n{self.err}") from None

    def until(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait until the condition holds, while the command runs."""
        deadline = time.monotonic() + seconds
        while not condition():
            ended = self.process.poll()
            assert ended is None, f"ended with {ended} before {what}\n{self.out}\n{self.err}"
            assert time.monotonic() < deadline, f"no sign after {seconds:.0f} s of {what}\n{self.out}\n{self.err}"
            time.sleep(0.05)

    def offspring(self) -> list[psutil.Process]:
        """Every process it started, directly or not, whatever their process groups."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def interrupt(self) -> None:
        """Ctrl-C in its terminal."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to its process group: nothing of it gets to clean up."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


def still_there(processes: Sequence[psutil.Process], seconds: float = 20.0) -> list[str]:
    """Those of the processes that have not ended after a while, by their command lines."""
    left = []
    for one in psutil.wait_procs(processes, timeout=seconds)[1]:
        with suppress(psutil.NoSuchProcess):
            if one.status() != psutil.STATUS_ZOMBIE:
                left.append(" ".join(one.cmdline()) or one.name())
    return left


def records(store: Path) -> list[dict[str, Any]]:
    """The records of all runs, oldest first."""
    found = [json.loads(file.read_text()) for file in (store / "runs").glob("*.json")]
    return sorted(found, key=lambda record: str(record["started"]))


def stages(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What every stage of a run did, by position and name."""
    return {f"{position} {stage['stage']}": stage for position, stage in enumerate(record["stages"])}


def digests(record: Mapping[str, Any]) -> dict[str, str]:
    """The digest of every artifact that a run used, by the stage's position, its name and the output's."""
    return {
        f"{stage} {name}": handle["digest"]
        for stage, done in stages(record).items()
        for name, handle in done["outputs"].items()
    }
