"""A Prefect server that the runs of one user share, and that outlives them for a while: it takes longer to start than
many nights take.

A daemon keeps it. A run connects to the daemon's Unix socket, says which software it runs, and is told the address and
the secret of the server, which are written nowhere. It stays connected for as long as it needs the server, and so gives
it back whatever end it comes to. The socket lies in a folder that only its owner enters. A daemon that has had no run
for `ASSAY_SERVER_IDLE` seconds ends, and its server with it.

There are several slots, each with a lock that its daemon holds, a socket and a database. A run takes the first slot
whose daemon accepts it, or that nobody holds; where there is none, it starts a server of its own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.metadata import version
from multiprocessing import connection
from pathlib import Path
from typing import IO

from assay.infra.errors import AssayError, InputError, RunError
from assay.infra.masking import SECRET_VARIABLE, register
from assay.infra.prefect.server import START_SECONDS, PrefectServer

IDLE = "ASSAY_SERVER_IDLE"
_IDLE_SECONDS = 300.0
_SLOTS = 4
_RUNS_AT_ONCE = 4  # so many wait little for each other's writes to SQLite


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
    """The shared server as a run sees it, or where none can be had, a server of the run's own."""

    _lease: socket.socket | None = None
    _use: IO[str] | None = None
    """A lock: as long as a run holds it, the server's database is used by no other server."""

    def launch(self) -> PrefectServer:
        """Connect to a daemon, or start one, and return at once; `wait` waits until its server answers."""
        if self._lease is None and self._process is None:
            self._home = self._home.absolute()
            self._make_home()
            self._connect(0 if self._home.stat().st_uid == os.geteuid() else _SLOTS)
        return self

    def _connect(self, first: int) -> None:
        self._lease = None
        with suppress(OSError):  # a path too long for a socket, or a file system without them
            for self._number in range(first, _SLOTS):
                self._lease = _connected(self._home, self._number)
                if self._lease is not None:
                    return
        super().launch()

    def wait(self) -> str:
        """The API's address, once the server answers."""
        while self._lease is not None and not self.url:
            if not self._accepted(self._lease):  # the daemon has other software or runs enough, or ends
                self._lease.close()
                self._connect(self._number + 1)
        return self.url if self._lease is not None else super().wait()

    def _accepted(self, lease: socket.socket) -> bool:
        lines, answer, handed = lease.makefile(encoding="utf-8"), "", list[int]()
        lease.settimeout(START_SECONDS + 30)
        with suppress(OSError):
            handed = socket.recv_fds(lease, 1, 1)[1]
            answer = lines.readline()
            lease.settimeout(None)
        reply = json.loads(answer or "{}")
        if "error" in reply:
            raise RunError(reply["error"])
        if not handed:
            return False
        self._name_files(f"shared-{self._number}")
        self._use = _place(self._home, self._number, "runs").open("w")
        fcntl.flock(self._use, fcntl.LOCK_SH)
        self.url, self._secret, self.socket = reply["url"], reply["secret"], socket.socket(fileno=handed[0])
        self.socket.set_inheritable(False)
        register("PREFECT_API_AUTH_STRING", self._secret)
        threading.Thread(target=self._listen, args=(lines,), name="assay-prefect", daemon=True).start()
        return True

    def _listen(self, lines: IO[str]) -> None:
        """Pass on what the daemon says. Where it is killed, one of its runs keeps the server, on the same port."""
        with suppress(OSError):
            for sentence in lines:
                self.notice(sentence.rstrip())
        if self._stopping.is_set():
            return
        with _place(self._home, self._number, "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._start_again("The daemon of Prefect's server was ended: this run starts the server again and goes on")
            self._watch()

    def stop(self) -> None:
        """Give the server back."""
        super().stop()
        if self._lease is not None:
            with suppress(OSError):
                self._lease.shutdown(socket.SHUT_RDWR)
            self._lease.close()
            self._lease = None
        if self._use is not None:
            self._use.close()


def _place(home: Path, slot: int, kind: str) -> Path:
    return home / f"shared-{slot}.{kind}"


def _connected(home: Path, slot: int) -> socket.socket | None:
    """A connection to the daemon of a slot, started where nobody holds the slot; None where it does not answer."""
    door, lease = str(_place(home, slot, "sock")), socket.socket(socket.AF_UNIX)
    with (home / "shared.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # nobody sees a slot that is half taken
        try:
            lease.connect(door)
        except (FileNotFoundError, ConnectionError):
            lease.close()
            if not _started(home, slot):
                return None
            lease = socket.socket(socket.AF_UNIX)
            lease.connect(door)
    with suppress(ConnectionError):
        lease.sendall(f"{_software()}\n".encode())
    return lease


def _started(home: Path, slot: int) -> bool:
    """Start the daemon of a slot, unless somebody holds it. Its socket takes connections from now on."""
    door = _place(home, slot, "sock")
    with _place(home, slot, "lock").open("w") as lock, _place(home, slot, "runs").open("w") as runs:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(runs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        door.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening, (home / f"daemon-{slot}.log").open("wb") as log:
            listening.bind(str(door))
            listening.listen()
            path = [str(Path(each).absolute()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
            handed = listening.fileno(), lock.fileno()  # the daemon holds the lock for as long as it lives
            daemon = subprocess.Popen(
                [sys.executable, "-P", "-m", "assay.infra.prefect.shared_server", str(handed[0]), str(home), str(slot)],
                cwd=home,  # no folder of the user's is kept in use
                env=_without_secrets() | {"PYTHONPATH": os.pathsep.join(path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=handed,
                start_new_session=True,  # Ctrl-C and the end of a terminal are for the run
            )
        threading.Thread(target=daemon.wait, daemon=True).start()  # no zombie where a notebook outlives it
    return True


def _without_secrets() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not SECRET_VARIABLE.search(name)}


def _software() -> str:
    """A digest of what two runs must have in common to share a server."""
    code = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    settings = sorted((name, value) for name, value in _without_secrets().items() if name.startswith("PREFECT_"))
    network = Path("/proc/self/ns/net")  # another container's loopback is not ours
    place = socket.gethostname(), os.readlink(network) if network.exists() else ""
    return hashlib.sha256(repr((sys.executable, version("prefect"), code, settings, place)).encode()).hexdigest()


def main(listening: socket.socket, home: Path, slot: int) -> None:
    """Keep a server for the runs that connect, until there has been none for a while, or it died under them."""
    server, idle, software = PrefectServer(home, slot=f"shared-{slot}"), idle_seconds(), _software()
    runs, handed = list[socket.socket](), list[int]()

    def tell(sentence: str) -> None:
        for run in tuple(runs):
            with suppress(OSError):
                run.sendall(f"{sentence}\n".encode())

    server.notice = tell
    try:
        answer = {"url": server.launch().wait(), "secret": server.environment["PREFECT_API_AUTH_STRING"]}
        assert server.socket is not None
        handed.append(server.socket.fileno())
    except (AssayError, OSError) as error:
        answer, idle = {"error": str(error)}, 0.0
    starts, until = server.starts, time.monotonic() + idle
    while ready := connection.wait([listening, *runs], None if runs else max(0.0, until - time.monotonic())):
        well = True
        for each in ready:
            if each in runs:  # a run writes nothing more: its connection has been closed
                runs.remove(each)
                each.close()
                until = time.monotonic() + idle
                continue
            with suppress(OSError):  # a run that ended while it waited is dropped
                run, _ = listening.accept()
                well = not handed or (server.starts == starts and server.answers())
                if well and len(runs) < _RUNS_AT_ONCE and _first_line(run) == software:
                    socket.send_fds(run, [b"+"], handed)
                    run.sendall(f"{json.dumps(answer)}\n".encode())
                    runs += [run] if handed else []
                else:
                    run.close()
        if not runs and not (well and server.starts == starts):
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
