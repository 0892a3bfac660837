"""A Prefect server that the runs of one user share, and that outlives them for a while: it takes longer to start than
many nights take.

A daemon keeps it. A run connects to the daemon's Unix socket, says which software it runs, and is told the address and
the secret of the server, which are written nowhere. It stays connected for as long as it needs the server, and so gives
it back whatever end it comes to. The socket lies in a folder that only its owner enters. A daemon that no run has been
connected to for `ASSAY_SERVER_IDLE` seconds ends, and its server with it.

There are several slots, each with a lock that its daemon holds, a socket and a database. A run takes the first slot
whose daemon accepts it, or that no daemon holds.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

from assay.infra.errors import AssayError, InputError, RunError
from assay.infra.masking import register
from assay.infra.prefect.server import SLOTS, START_SECONDS, PrefectServer

IDLE = "ASSAY_SERVER_IDLE"
_IDLE_SECONDS = 300.0
_RUNS_AT_ONCE = 4  # that many wait little for each other's writes to SQLite


def idle_seconds() -> float:
    """How long a shared server waits for another run; with 0, each run starts a server of its own."""
    asked = os.environ.get(IDLE, "").strip()
    try:
        seconds = float(asked or _IDLE_SECONDS)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise InputError(f"{IDLE} is {asked!r}: give seconds, such as 300, or 0 for a server that ends with its run.")
    return seconds


def server_of_run() -> PrefectServer:
    """The server that a run asks for: a shared one, unless its user wants none to stay."""
    return SharedServer() if idle_seconds() else PrefectServer()


class SharedServer(PrefectServer):
    """The shared server as a run sees it. Where a daemon cannot have a socket, it is a server of the run's own."""

    _lease: socket.socket | None = None

    def launch(self) -> PrefectServer:
        """Connect to a daemon, or start one, and return at once; `wait` waits until its server answers."""
        if self._lease is not None:
            return self
        self._make_home()
        try:
            self._connect(0)
        except OSError:  # a path too long for a socket, or a file system without them
            return super().launch()
        return self

    def _connect(self, first: int) -> None:
        for self._number in range(first, SLOTS):
            self._lease = _connected(self._home.absolute(), self._number)
            if self._lease is not None:
                return
        raise RunError(f"{SLOTS} Prefect servers are at work on this machine: wait for a run to end, or set {IDLE}=0.")

    def wait(self) -> str:
        """The API's address, once the server answers."""
        while self._lease is not None and not self.url:
            if not self._accepted(self._lease):  # the daemon has other software or runs enough, or was about to end
                self._lease.close()
                self._connect(self._number + 1)
        return self.url if self._lease is not None else super().wait()

    def _accepted(self, lease: socket.socket) -> bool:
        lines, answer = lease.makefile(encoding="utf-8"), ""
        lease.settimeout(START_SECONDS)
        with suppress(ConnectionError):
            handed = socket.recv_fds(lease, 1, 1)[1]
            answer = lines.readline()
        lease.settimeout(None)
        if not answer:
            return False
        told = json.loads(answer)
        if not handed:
            raise RunError(told["error"])
        self._name_files(f"shared-{self._number}")
        self.url, self._secret, self.socket = told["url"], told["secret"], socket.socket(fileno=handed[0])
        self.socket.set_inheritable(False)
        register("PREFECT_API_AUTH_STRING", self._secret)
        threading.Thread(target=self._listen, args=(lines,), name="assay-prefect", daemon=True).start()
        return True

    def _listen(self, lines: TextIO) -> None:
        """Pass on what the daemon says. Where it is killed, one of its runs keeps the server, on the same port."""
        with suppress(ConnectionError):
            for sentence in lines:
                self.notice(sentence.rstrip())
        with (self._home / f"shared-{self._number}.lock").open("w") as lock:
            if not self._stopping.is_set():
                fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._stopping.is_set():
                self.notice("The daemon of Prefect's server was ended: this run starts the server again and goes on")
                self._start()
                self._watch()

    def stop(self) -> None:
        """Give the server back."""
        self._stopping.set()
        if self._lease is not None:
            with suppress(OSError):
                self._lease.shutdown(socket.SHUT_RDWR)
            self._lease.close()
            self._lease = None
        super().stop()


def _connected(home: Path, slot: int) -> socket.socket | None:
    """A connection to the daemon of a slot, started where nobody holds the slot; None where it does not answer."""
    door = home / f"shared-{slot}.sock"
    lease = socket.socket(socket.AF_UNIX)
    try:
        lease.connect(str(door))
    except (FileNotFoundError, ConnectionError):
        lease.close()
        lease = socket.socket(socket.AF_UNIX)
        if not _started(home, slot, door):
            return None
        lease.connect(str(door))
    with suppress(ConnectionError):
        lease.sendall(f"{_software()}\n".encode())
    return lease


def _started(home: Path, slot: int, door: Path) -> bool:
    """Start the daemon of a slot, unless somebody holds it. Its socket takes connections from now on."""
    with (home / f"shared-{slot}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        door.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening, (home / f"daemon-{slot}.log").open("wb") as log:
            listening.bind(str(door))
            listening.listen()
            path = [str(Path(each).absolute()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
            handed = listening.fileno(), lock.fileno()  # the daemon holds the lock for as long as it lives
            subprocess.Popen(
                [sys.executable, "-P", "-m", "assay.infra.prefect.shared_server", str(handed[0]), str(home), str(slot)],
                cwd=home,  # no folder of the user's is kept in use
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=handed,
                start_new_session=True,  # Ctrl-C and the end of a terminal are for the run
            )
    return True


def _software() -> str:
    """A digest of what two runs must have in common to share a server."""
    code = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("PREFECT_"))
    network = Path("/proc/self/ns/net")  # another container's loopback is not ours
    place = socket.gethostname(), os.readlink(network) if network.exists() else ""
    return hashlib.sha256(repr((sys.executable, version("prefect"), code, settings, place)).encode()).hexdigest()


def main(listening: socket.socket, home: Path, slot: int) -> None:
    """Keep a server for the runs that connect, until there has been none for a while, or it died under them."""
    server, idle, software = PrefectServer(home, slot=f"shared-{slot}"), idle_seconds(), _software()
    runs = list[socket.socket]()

    def tell(sentence: str) -> None:
        for run in tuple(runs):
            with suppress(OSError):
                run.sendall(f"{sentence}\n".encode())

    server.notice = tell
    try:
        answer = {"url": server.launch().wait(), "secret": server.environment["PREFECT_API_AUTH_STRING"]}
    except AssayError as error:
        answer, idle = {"error": str(error)}, 0.0
    starts, handed = server.starts, [] if server.socket is None or "error" in answer else [server.socket.fileno()]
    while ready := select.select([listening, *runs], [], [], None if runs else idle)[0]:
        for each in ready:
            if each in runs:  # it has nothing to say but that it ends
                runs.remove(each)
                each.close()
                continue
            run, _ = listening.accept()
            if len(runs) < _RUNS_AT_ONCE and server.starts == starts and _first_line(run) == software:
                socket.send_fds(run, [b"+"], handed)
                run.sendall(f"{json.dumps(answer)}\n".encode())
                runs += [run] if handed else []
            else:
                run.close()
        if server.starts > starts and not runs:
            break
    listening.close()
    server.stop()


def _first_line(run: socket.socket) -> str:
    run.settimeout(5)
    with suppress(OSError), run.makefile(encoding="utf-8") as lines:
        return lines.readline().strip()
    return ""


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]))
