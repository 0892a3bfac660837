"""A Prefect server of our own on loopback, one per run, unless the user has one.

Prefect's implicit ephemeral server is not for us: Dask processes that touch Prefect start further servers on the same
SQLite file ("database is locked", minutes lost), and its start-up limit is too short for a busy machine.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from assay.infra.errors import InputError, RunError

_START_SECONDS = 180.0
_SLOTS = 16


class PrefectServer:
    """A server process with a database of its own, kept between runs; `url` is its API's address.

    With `schedules` it also makes runs of schedules: Prefect leaves that service out of a server it calls ephemeral.
    """

    def __init__(self, home: Path | None = None, *, schedules: bool = False) -> None:
        self._home = home or state_folder() / "prefect"
        self._schedules = schedules
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self.url = ""

    def launch(self) -> PrefectServer:
        """Start the process and return at once; `wait` waits until it answers."""
        self._home.mkdir(parents=True, exist_ok=True)
        slot = self._take_slot()
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}/api"
        environment = {
            **os.environ,
            "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{self._home / f'prefect-{slot}.db'}",
            "PREFECT_UI_ENABLED": "0",
            "PREFECT__SERVER_EPHEMERAL": "" if self._schedules else "1",
            "PREFECT__SERVER_FINAL": "1",
        }
        environment.pop("PREFECT_API_URL", None)
        # Safe path: a folder of the user's with a `types.py` in it must not become a part of Prefect.
        command = [sys.executable, "-P", "-m", "assay.infra.prefect_server_process", str(port)]
        self._log = self._home / f"server-{slot}.log"
        with self._log.open("wb") as log:
            # The server gets a process group of its own: Ctrl-C goes to us, and we stop it when the run has ended.
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.PIPE,  # never written to: it closes when we end, and the server ends with it
                process_group=0,
            )
        return self

    def wait(self) -> str:
        """The API's address, once it answers."""
        assert self._process is not None, "launch the server first"
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RunError(
                    f"Prefect's server ended with code {self._process.returncode} while starting: see {self._log}"
                )
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return self.url
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RunError(f"Prefect's server did not answer within {_START_SECONDS:.0f} s: see {self._log}")

    def stop(self) -> None:
        """End the process and give its database back."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_slot(self) -> int:
        """The number of a database that no other server of ours uses: SQLite serves one server at a time well."""
        for slot in range(_SLOTS):
            lock = (self._home / f"prefect-{slot}.lock").open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            self._lock = lock
            return slot
        raise RunError(
            f"{_SLOTS} runs are going on already on this machine: wait for one to end, or set PREFECT_API_URL."
        )


@contextmanager
def prefect_api(server: PrefectServer | None) -> Iterator[str]:
    """Within the block Prefect talks to the given server of ours or, without one, to the one the user configured."""
    if server is None:
        from prefect.settings import PREFECT_API_URL

        yield str(PREFECT_API_URL.value())
        return
    from prefect.settings import PREFECT_API_URL, temporary_settings

    url = server.wait()
    with temporary_settings({PREFECT_API_URL: url}):
        try:
            yield url
        finally:
            send_what_is_queued()


def send_what_is_queued() -> None:
    """Let log lines and events reach the server before it stops; they would complain on the terminal otherwise."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=10)
    EventsWorker.drain_all(timeout=10)


def configured_api() -> str | None:
    """The Prefect server that the user's environment names, or the active profile of `prefect config set`, if any."""
    if os.environ.get("PREFECT_API_URL"):
        return os.environ["PREFECT_API_URL"]
    profiles = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect") / "profiles.toml"
    if not profiles.is_file():
        return None
    try:
        known = tomllib.loads(profiles.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, OSError) as error:
        raise InputError(f"Prefect's {profiles} cannot be read ({error}); mend it, or set PREFECT_API_URL.") from error
    active = os.environ.get("PREFECT_PROFILE") or known.get("active", "")
    return known.get("profiles", {}).get(active, {}).get("PREFECT_API_URL") or None


def state_folder() -> Path:
    """Where Assay keeps what outlives a run but is no artifact: `ASSAY_HOME`, else the user's state folder."""
    named = os.environ.get("ASSAY_HOME")
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(named) if named else Path(base) / "assay"


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
