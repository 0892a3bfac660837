"""What Dask says about a busy disk is not for the person at the terminal: not from us, and not from a worker."""

import os
import subprocess
import sys

BUSY = "Creating scratch directories is taking a surprisingly long time. (3.14s) This is often due to"
WARN = f"import warnings; warnings.warn({BUSY!r})"
QUIET = "from assay.infra.engines.dask_start import quiet; quiet(); quiet()"
IN_A_WORKER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WARN!r}], check=True)"


def said(*lines: str) -> str:
    unset = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=unset)
    return done.stderr


def test_a_busy_disk_is_not_told_in_the_process_that_starts_workers() -> None:
    assert "surprisingly long" in said(WARN)
    assert said(QUIET, WARN) == ""


def test_nor_in_the_processes_that_it_starts() -> None:
    assert "surprisingly long" in said(IN_A_WORKER)
    assert said(QUIET, IN_A_WORKER) == ""


def test_other_warnings_are_still_heard() -> None:
    assert "something else" in said(QUIET, "import warnings; warnings.warn('something else')")
