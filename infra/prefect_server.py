"""A Prefect server of our own on loopback, one per run, unless the user has one.

Prefect's implicit ephemeral server is not for us: Dask processes that touch Prefect start further servers on the same
SQLite file ("database is locked", minutes lost), and its start-up limit is too short for a busy machine.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from assay.infra.errors import InputError, RunError

LOOPBACK = "127.0.0.1"
_START_SECONDS = 180.0
_STARTS = 3
_SLOTS = 16


class PrefectServer:
    """A server process with a database of its own, kept between runs; `url` is its API's address.

    The socket that it serves on is ours: when the process dies in the middle of a run it is started again, and whoever
    asks meanwhile waits in line instead of being refused. With `schedules` it also makes runs of schedules: Prefect
    leaves that service out of a server it calls ephemeral.
    """

    def __init__(self, home: Path | None = None, *, schedules: bool = False) -> None:
        self._home = home or state_folder() / "prefect"
        self._schedules = schedules
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._socket: socket.socket | None = None
        self._stopping = threading.Event()
        self._watching: threading.Thread | None = None
        self._starts = 0
        self.url = ""
        self.notice: Callable[[str], None] = lambda _: None
        """Hears the sentence that a person should read when the process died and was started again."""

    def launch(self) -> PrefectServer:
        """Start the process and return at once; `wait` waits until it answers."""
        self._home.mkdir(parents=True, exist_ok=True)
        slot = self._take_slot()
        self._database = self._home / f"prefect-{slot}.db"
        self._log = self._home / f"server-{slot}.log"
        self._start()
        return self

    def _start(self) -> None:
        """Start the process, on a new port the first time and where the last process never answered."""
        self._starts += 1
        if self._socket is None:
            self._socket = socket.create_server((LOOPBACK, 0), backlog=1024)
            self.url = f"http://{LOOPBACK}:{self._socket.getsockname()[1]}/api"
        environment = {
            **os.environ,
            "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{self._database}",
            "PREFECT_UI_ENABLED": "0",
            "PREFECT__SERVER_EPHEMERAL": "" if self._schedules else "1",
            "PREFECT__SERVER_FINAL": "1",
        }
        environment.pop("PREFECT_API_URL", None)
        listening = self._socket.fileno()
        # Safe path: a folder of the user's with a `types.py` in it must not become a part of Prefect.
        command = [sys.executable, "-P", "-m", "assay.infra.prefect_server_process", str(listening)]
        with self._log.open("wb") as log:
            # The server gets a process group of its own: Ctrl-C goes to us, and we stop it when the run has ended.
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.PIPE,  # never written to: it closes when we end, and the server ends with it
                pass_fds=(listening,),
                process_group=0,
            )

    def wait(self) -> str:
        """The API's address, once it answers; a process that ends while it starts is started again, elsewhere."""
        assert self._process is not None, "launch the server first"
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._start_elsewhere()
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                    if answer.status == 200:
                        self._start_watching()
                        return self.url
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RunError(f"Prefect's server did not answer within {_START_SECONDS:.0f} s: {self._last_words()}")

    def _start_elsewhere(self) -> None:
        assert self._process is not None
        if self._starts >= _STARTS:
            raise RunError(
                f"Prefect's server ended with code {self._process.returncode} while starting, {self._starts} times: "
                f"{self._last_words()}"
            )
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._start()

    def _last_words(self) -> str:
        """What the log says last, and where it lies."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines() if self._log.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f'it said last "{last[:200]}" (all of it in {self._log})' if last else f"it said nothing in {self._log}"

    def _start_watching(self) -> None:
        if self._watching is None:
            self._watching = threading.Thread(target=self._watch, name="assay-prefect", daemon=True)
            self._watching.start()

    def _watch(self) -> None:
        """Start the process again where it dies; after a few times, nobody listens any more and the run breaks."""
        while (process := self._process) is not None:
            code = process.wait()
            if self._stopping.is_set():
                return
            if self._starts >= _STARTS:
                self.notice(f"Prefect's server ended again (code {code}) and is given up: {self._last_words()}")
                if self._socket is not None:
                    self._socket.close()
                return
            self.notice(f"Prefect's server ended (code {code}) and is started again; the run goes on")
            self._start()

    def stop(self) -> None:
        """End the process and give its database back."""
        self._stopping.set()
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
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
    with temporary_settings({PREFECT_API_URL: url}), _muted():
        try:
            yield url
        finally:
            send_what_is_queued()


@contextmanager
def _muted() -> Iterator[None]:
    """Within the block Prefect does not print what it could not send to a server that is being started again."""
    internal, loud = logging.getLogger("prefect._internal"), logging.raiseExceptions
    level = internal.level
    internal.setLevel(logging.CRITICAL)
    logging.raiseExceptions = False
    try:
        yield
    finally:
        internal.setLevel(level)
        logging.raiseExceptions = loud


def send_what_is_queued() -> None:
    """Let log lines and events reach the server before it stops; they would complain on the terminal otherwise."""
    # In a notebook this thread has a loop at work, and Prefect would hand back a coroutine that nobody awaits.
    sending = threading.Thread(target=_drain)
    sending.start()
    sending.join()


def _drain() -> None:
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
