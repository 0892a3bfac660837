"""Web servers on loopback that take messages: well, slowly, with errors, with a redirect, or not at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hook:
    """Where it listens, how it answers, and what it got."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    """The codes of its answers in turn; the last one stays."""
    location: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    """Set, it answers; with `slow` it waits for that."""
    slow: bool = False
    dripping: bool = False
    """Whether it sends a byte now and then, and never ends."""


@contextmanager
def hook(*answers: int, location: str = "", slow: bool = False, dripping: bool = False) -> Iterator[Hook]:
    """A server for the block."""
    made = Hook(answers=list(answers or (200,)), location=location, slow=slow, dripping=dripping)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            made.got.append((dict(self.headers.items()), self.rfile.read(length)))
            if made.slow:
                made.hold.wait(60)
            if made.dripping:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not made.hold.wait(0.1):
                    self.wfile.write(b"X-More: x\r\n")
                return
            code = made.answers[min(len(made.got), len(made.answers)) - 1]
            self.send_response(code)
            if made.location:
                self.send_header("Location", made.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            made.got.append(({}, b"a redirect was followed"))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}/in/T0PSECRET"
    try:
        yield made
    finally:
        made.hold.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def refused_url() -> str:
    """An address on loopback where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/in/T0PSECRET"
