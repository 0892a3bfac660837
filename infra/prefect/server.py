"""A Prefect server of our own on loopback, unless the user has one. It answers only who has its secret.

Prefect's implicit ephemeral server is not for us: Dask processes that touch Prefect start further servers on the same
SQLite file ("database is locked", minutes lost), and its start-up limit is too short for a busy machine.

Every user of a machine reaches its loopback ports, and so does every web page that is open in a browser there: a page
of another origin may post to `127.0.0.1`, and a name that its owner lets point there (DNS rebinding) makes it the same
origin. So each request has to name our address as its host, must come from no other origin, and has to carry the
secret; what the server would allow to other origins (CORS) never gets that far.

Run as a script, this module is the server's process: it serves Prefect's API on a socket of its parent's for as long as
that lives. Its standard input is a pipe from the parent; when that closes, by whatever end the parent came to (SIGKILL
included), the server goes too.
"""

from __future__ import annotations

import base64
import fcntl
import gc
import hmac
import json
import logging
import os
import re
import secrets
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from assay.infra.environment import environment_with
from assay.infra.errors import InputError, RunError
from assay.infra.masking import register
from assay.infra.terminal import quietened

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

ENTRANCE = "/enter"
"""The page that takes the secret from the link of who started the server, and hands it to Prefect's UI."""
_NOT_PAGES = ("/api", "/docs", "/redoc", "/openapi.json")
_PROBES = ("/api/health", "/api/ready")  # Prefect's UI asks them before it knows the secret; the answer is `true`
_POLICY_VIOLATION = 1008
_NO_FRAMES = [
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]
# The secret stands behind the `#`, which a browser sends to nobody; Prefect's UI keeps it where its login would.
_ENTRANCE_PAGE = b"""<!DOCTYPE html><meta charset="utf-8"><title>Prefect</title>
<script>localStorage.setItem("prefect-password", btoa(location.hash.slice(1))); location.replace("/");</script>"""


class LoopbackGuard:
    """An ASGI application that lets requests through to another one if they are the starter's.

    With `pages`, files of a UI are served without the secret, which a browser cannot send while it loads a page: they
    are the same for everybody, and hold nothing of the server's.
    """

    def __init__(self, application: Application, *, port: int, secret: str, pages: bool) -> None:
        self._application, self._pages, self._secret = application, pages, secret
        self._host = f"127.0.0.1:{port}".encode()
        self._origin = b"http://" + self._host
        self._authorization = b"Basic " + base64.b64encode(secret.encode())

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer the request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._answer_socket(scope, receive, send)
        else:
            await self._answer_request(scope, receive, send)

    async def _answer_request(self, scope: Message, receive: Receive, send: Send) -> None:
        refusal = self._stranger(scope)
        if refusal is None and not self._is_page(scope) and not self._has_secret(scope):
            refusal = 401, b"This server answers only who started it: the request carries no secret, or a wrong one."
        if refusal is not None:
            await _respond(send, *refusal)
        elif self._pages and scope["path"] == ENTRANCE:
            await _respond(send, 200, _ENTRANCE_PAGE, b"text/html; charset=utf-8")
        else:
            await self._application(scope, receive, _unframed(send))

    def _stranger(self, scope: Message) -> tuple[int, bytes] | None:
        """Status and sentence for what names another host, or comes from a page of another origin."""
        if _values(scope, b"host") != [self._host]:
            return 421, b"This server is asked as " + self._host + b" and by no other name."
        if any(origin != self._origin for origin in _values(scope, b"origin")):
            return 403, b"This server answers no page of another origin."
        return None

    def _is_page(self, scope: Message) -> bool:
        path, reading = scope["path"], scope["method"] in ("GET", "HEAD")
        return self._pages and reading and (path in _PROBES or not path.startswith(_NOT_PAGES))

    def _has_secret(self, scope: Message) -> bool:
        shown = _values(scope, b"authorization")
        return len(shown) == 1 and hmac.compare_digest(shown[0], self._authorization)

    async def _answer_socket(self, scope: Message, receive: Receive, send: Send) -> None:
        """A web socket shows the secret in its first message, as Prefect's clients and UI do; before it, none is sent.

        Prefect's server asks for the same; a route that forgot to would be no door.
        """
        if self._stranger(scope) is not None:
            await receive()  # websocket.connect
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        trusted = False

        async def checked_receive() -> Message:
            nonlocal trusted
            message = await receive()
            if not trusted and message["type"] == "websocket.receive":
                trusted = self._opens(message)
                if not trusted:
                    await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
                    return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
            return message

        async def checked_send(message: Message) -> None:
            if trusted or message["type"] != "websocket.send":
                await send(message)

        await self._application(scope, checked_receive, checked_send)

    def _opens(self, message: Message) -> bool:
        """Whether the first message of a web socket is Prefect's greeting with the secret."""
        try:
            greeting = json.loads(message.get("text") or "")
        except (ValueError, RecursionError):
            return False
        if not isinstance(greeting, dict) or greeting.get("type") != "auth":
            return False
        return hmac.compare_digest(str(greeting.get("token")).encode(errors="replace"), self._secret.encode())


def _values(scope: Message, name: bytes) -> list[bytes]:
    """Every value of a header."""
    return [value for header, value in scope["headers"] if header.lower() == name]


def _unframed(send: Send) -> Send:
    """What answers, with headers by which no other page may show the answer in a frame."""

    async def send_unframed(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_NO_FRAMES]}
        await send(message)

    return send_unframed


async def _respond(send: Send, status: int, body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *_NO_FRAMES]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


TABLES = Path(__file__).with_name("tables.sql")
_REVISION = re.compile(r"""INSERT INTO "alembic_version" VALUES\('(\w+)'\)""")
LOOPBACK = "127.0.0.1"
START_SECONDS = 180.0
_STARTS = 3
_LEAST_FREE = 1 << 20  # bytes: less than the tables of an empty database
SLOTS = 16


class PrefectServer:
    """A server process with a database of its own, kept between runs; `url` is its API's address.

    Every request has to carry a secret, which is drawn when the server is made and known to nobody else: `environment`
    is what a process of ours needs to ask it. The socket that it serves on is ours: when the process dies in the middle
    of a run it is started again, and whoever asks meanwhile waits in line instead of being refused. With `schedules` it
    also makes runs of schedules (Prefect leaves that service out of a server it calls ephemeral) and has Prefect's UI.
    The `slot` tells its files apart from those of other servers; without it, one is taken that is free.
    """

    def __init__(self, home: Path | None = None, *, schedules: bool = False, slot: str = "") -> None:
        self._home = home or state_folder() / "prefect"
        self._schedules, self._slot = schedules, slot
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self.socket: socket.socket | None = None
        self._stopping, self._turn = threading.Event(), threading.Lock()
        self._watching: threading.Thread | None = None
        self.starts = 0
        self._secret = f"assay:{secrets.token_urlsafe(32)}"
        register("PREFECT_API_AUTH_STRING", self._secret)
        self.url = ""
        self.notice: Callable[[str], None] = lambda _: None
        """Hears the sentence that a person should read when the process died and was started again."""

    def launch(self) -> PrefectServer:
        """Start the process, once, and return at once; `wait` waits until it answers."""
        if self._process is not None:
            return self
        self._make_home()
        self._name_files(self._slot or self._take_slot())
        self._start()
        return self

    def _name_files(self, slot: object) -> None:
        self._database = self._home / f"prefect-{slot}.db"
        self._log = self._home / f"server-{slot}.log"
        self._link = self._home / f"ui-{slot}.html"

    def _make_home(self) -> None:
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            self._home.chmod(0o700)  # what runs were given and said is for their user alone
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(
                f"Prefect's server keeps its database in {self._home}, which cannot be kept for you alone ({reason}): "
                "set ASSAY_HOME to a folder of your own."
            ) from error

    def _start(self) -> None:
        """Start the process, on a new port the first time and where the last process never answered."""
        self.starts += 1
        if self.socket is None:
            self.socket = socket.create_server((LOOPBACK, 0), backlog=1024)
            self.url = f"http://{LOOPBACK}:{self.socket.getsockname()[1]}/api"
        environment = {
            **os.environ,
            "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{self._database}",
            "PREFECT_SERVER_API_AUTH_STRING": self._secret,
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://{LOOPBACK}:{self.socket.getsockname()[1]}",
            "PREFECT_UI_ENABLED": "1" if self._schedules else "0",
            "PREFECT_UI_API_URL": "/api",
            "PREFECT_UI_STATIC_DIRECTORY": str(self._home / "ui"),
            "PREFECT__SERVER_EPHEMERAL": "" if self._schedules else "1",
            "PREFECT__SERVER_FINAL": "1",
        }
        for theirs in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_API_KEY"):
            environment.pop(theirs, None)
        listening = self.socket.fileno()
        # Safe path: a folder of the user's with a `types.py` in it must not become a part of Prefect.
        command = [sys.executable, "-P", "-m", "assay.infra.prefect.server", str(listening), str(self._database)]
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
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._start_elsewhere()
            if self.answers():
                if self._watching is None:
                    self._watching = threading.Thread(target=self._watch, name="assay-prefect", daemon=True)
                    self._watching.start()
                return self.url
            time.sleep(0.1)
        raise RunError(f"Prefect's server did not answer within {START_SECONDS:.0f} s: {self._last_words()}")

    def answers(self) -> bool:
        """Whether the server says that it is well; no proxy is asked for what is on loopback."""
        authorization = f"Basic {base64.b64encode(self._secret.encode()).decode()}"
        question = urllib.request.Request(f"{self.url}/health", headers={"Authorization": authorization})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(question, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    @property
    def environment(self) -> dict[str, str]:
        """What the environment of a process says that may ask this server; nobody else is to see it."""
        unproxied = ",".join(filter(None, [os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), LOOPBACK]))
        api = {"PREFECT_API_URL": self.url, "PREFECT_API_AUTH_STRING": self._secret}
        return api | {"NO_PROXY": unproxied, "no_proxy": unproxied}

    def write_link(self) -> Path:
        """A file that opens Prefect's UI with the secret; only its owner may read it, and it goes with the server."""
        address = f"{self.url.removesuffix('/api')}{ENTRANCE}#{self._secret}"
        page = f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">\n'
        self._link.unlink(missing_ok=True)
        with os.fdopen(os.open(self._link, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(page)
        return self._link

    def _start_elsewhere(self) -> None:
        assert self._process is not None
        if self.starts >= _STARTS:
            raise RunError(
                f"Prefect's server ended with code {self._process.returncode} while starting, {self.starts} times: "
                f"{self._last_words()}"
            )
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        self._start()

    def _last_words(self) -> str:
        """What the log says last, and where it lies; of a full disk that, since the log ends where it began."""
        if shutil.disk_usage(self._home).free < _LEAST_FREE:
            return f"no space is left in {self._home}; make room, or set ASSAY_HOME to a folder on another disk"
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines() if self._log.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f'it said last "{last[:200]}" (all of it in {self._log})' if last else f"it said nothing in {self._log}"

    def _watch(self) -> None:
        """Start the process again where it dies; after a few times, nobody listens any more and the run breaks."""
        while (process := self._process) is not None:
            code = process.wait()
            if self._stopping.is_set():
                return
            if self.starts >= _STARTS:
                self.notice(f"Prefect's server ended again (code {code}) and is given up: {self._last_words()}")
                if self.socket is not None:
                    with suppress(OSError):
                        self.socket.shutdown(socket.SHUT_RDWR)  # what runs have of it as well
                    self.socket.close()
                return
            self._start_again(f"Prefect's server ended (code {code}) and is started again; the run goes on")

    def _start_again(self, sentence: str) -> None:
        with self._turn:
            if not self._stopping.is_set():
                self.notice(sentence)
                self._start()

    def stop(self) -> None:
        """End the process and give its database back."""
        with self._turn:
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
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        if self._lock is not None:
            self._link.unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _take_slot(self) -> int:
        """The number of a database that no other server of ours uses: SQLite serves one server at a time well."""
        for slot in range(SLOTS):
            lock = (self._home / f"prefect-{slot}.lock").open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            self._lock = lock
            return slot
        raise RunError(
            f"{SLOTS} runs are going on already on this machine: wait for one to end, or set PREFECT_API_URL."
        )


@contextmanager
def prefect_api(server: PrefectServer | None) -> Iterator[str]:
    """Within the block Prefect talks to the given server of ours or, without one, to the one the user configured."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY as HEARTBEAT

    if server is None:
        yield str(PREFECT_API_URL.value())
        return
    url, ours = server.wait(), server.environment
    # Nobody misses heartbeats on our server, and a flow waits up to a second for the end of its own.
    asked = {PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: ours["PREFECT_API_AUTH_STRING"], HEARTBEAT: None}
    # Loopback is asked without a proxy.
    with temporary_settings(asked), environment_with({name: ours[name] for name in ("NO_PROXY", "no_proxy")}), _muted():
        try:
            yield url
        finally:
            send_what_is_queued()


@contextmanager
def _muted() -> Iterator[None]:
    """Within the block Prefect does not print what it could not send to a server that is being started again."""
    loud, logging.raiseExceptions = logging.raiseExceptions, False
    try:
        with quietened("prefect._internal"):
            yield
    finally:
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


def main(listening: int, database: Path) -> None:
    """Serve on this socket, which the parent opened, until told to stop, or until standard input ends."""
    threading.Thread(target=_end_with_parent, name="assay-lifeline", daemon=True).start()
    make_tables(database)
    gc.set_threshold(10_000)  # of what importing makes, nothing is garbage: 700 take half a second longer
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import PREFECT_SERVER_API_AUTH_STRING, PREFECT_UI_ENABLED

    ours = socket.socket(fileno=listening)
    secret = PREFECT_SERVER_API_AUTH_STRING.value()
    if not secret:
        sys.exit("Prefect's server is not started without a secret.")
    guarded = LoopbackGuard(
        create_app(), port=ours.getsockname()[1], secret=str(secret), pages=bool(PREFECT_UI_ENABLED.value())
    )
    server = uvicorn.Server(uvicorn.Config(guarded, log_level="error", lifespan="on", server_header=False))
    server.run(sockets=[ours])
    if not server.started:
        sys.exit(3)


def make_tables(database: Path) -> None:
    """A new database with the tables; where it is there, or Prefect does not know them, Prefect migrates it itself.

    There are eighty migrations, which take seven seconds: each first run on a machine, and so each night in a fresh
    container, would wait for them. `tools/prefect_tables.py` writes `tables.sql`; a later Prefect adds what came since.
    """
    script = TABLES.read_text(encoding="utf-8")
    revision = _REVISION.search(script)
    assert revision is not None
    migrations = files("prefect") / "server/database/_migrations/versions/sqlite"
    known = any(f"_{revision[1]}_" in migration.name for migration in migrations.iterdir())
    if known and not database.exists():
        with closing(sqlite3.connect(database)) as connection:
            connection.executescript(script)  # one transaction


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
