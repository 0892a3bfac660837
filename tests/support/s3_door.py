"""The door of an S3 server: every request passes it, and it can refuse, dawdle or lose the answer for a while.

Conditional writes pass one at a time: that of two the first wins is S3's promise, which moto's threads do not keep.
"""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
BROKEN = b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"


class Door:
    """A proxy before `behind`; `mood` is open, refusing (503), slow, or forgetful (done, and then 500)."""

    def __init__(self, behind: tuple[str, int], seed: int = 0) -> None:
        self.mood, self.behind = "open", behind
        self.draw, self.turn = random.Random(seed), threading.Lock()
        self.seen: Counter[str] = Counter()
        """Requests by method, and `refused`, `lost`."""
        self.claims: dict[str, list[int]] = {}
        """The conditional writes by path: what each was answered."""
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                door.handle(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815 - the server looks for these names

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Shut it for good."""
        self._server.shutdown()
        self._server.server_close()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """Let one request through, or not."""
        body, mood = _body(request), self.mood
        self.seen[request.command] += 1
        if mood == "refusing":
            self.seen["refused"] += 1
            return _answer(request, 503, [("Content-Type", "application/xml")], SLOW_DOWN)
        if mood == "slow":
            time.sleep(self.draw.uniform(0.2, 1.0))
        if request.headers.get("If-None-Match"):
            with self.turn:
                status, headers, content = self._passed(request, body)
                self.claims.setdefault(request.path.split("?")[0], []).append(status)
        else:
            status, headers, content = self._passed(request, body)
        if mood == "forgetful" and request.command in ("PUT", "POST", "DELETE") and self.draw.random() < 0.3:
            self.seen["lost"] += 1
            return _answer(request, 500, [("Content-Type", "application/xml")], BROKEN)
        return _answer(request, status, headers, content)

    def _passed(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        line = http.client.HTTPConnection(*self.behind, timeout=60)
        try:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_LINE}
            line.request(request.command, request.path, body, headers | {"Content-Length": str(len(body))})
            answer = line.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            line.close()


_OF_ONE_LINE = ("transfer-encoding", "content-length", "connection", "expect")


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if "chunked" in request.headers.get("Transfer-Encoding", ""):
        chunks = []
        while size := int(request.rfile.readline().split(b";")[0], 16):
            chunks.append(request.rfile.read(size))
            request.rfile.readline()
        request.rfile.readline()
        return b"".join(chunks)
    return request.rfile.read(int(request.headers.get("Content-Length") or 0))


def _answer(request: BaseHTTPRequestHandler, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
    request.send_response(status)
    length = next((value for name, value in headers if name.lower() == "content-length"), str(len(content)))
    for name, value in headers:
        if name.lower() not in (*_OF_ONE_LINE, "server", "date"):
            request.send_header(name, value)
    request.send_header("Content-Length", length if request.command == "HEAD" else str(len(content)))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content)
