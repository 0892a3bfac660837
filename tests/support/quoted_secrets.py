"""Secrets that are hard to keep, a server that sends back what it is sent, and a search in everything written."""

from __future__ import annotations

import base64
import html
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, quote_plus

SECRETS = {
    "line break at the end": "t0k-4711-wxyz\n",
    "carriage return at the end": "t0k-4712-wxyz\r\n",
    "line break inside": "t0k-4713-first\nt0k-4713-second",
    "blanks": "t0k 4714  wx yz",
    "beyond ASCII": "tök-4715-ßwx€yz",
    "quotes": "t0k'4716\"wxyz'\"",
    "percent signs": "t0k%4717%41wx%25yz%",
    "backslashes": "t0k\\4718\\n\\wxyz\\\\z",
    "address": "t0k:4719@wx/yz?a=b&c#d+e",
    "5,000 letters": "".join(f"t0k{number:05d}" for number in range(625)),
}


def encodings(secret: str) -> set[bytes]:
    """The secret as libraries write it: as it is, percent-encoded, quoted by Python and JSON, escaped, in base64."""
    plain = secret.strip()
    found = {plain, quote(plain), quote(plain, safe=""), quote_plus(plain), quote(quote(plain, safe=""), safe="")}
    for once in (repr(plain)[1:-1], ascii(plain)[1:-1], json.dumps(plain)[1:-1], repr(plain.encode())[2:-1]):
        found |= {once, repr(once)[1:-1], json.dumps(once)[1:-1]}
    found |= {html.escape(plain), " ".join(plain.split()), json.dumps(plain, ensure_ascii=False)[1:-1]}
    for before in ("", "night:", "Bearer "):
        content = (before + plain).encode()
        found |= {base64.b64encode(content).decode(), base64.urlsafe_b64encode(content).decode()}
    found |= set(plain.splitlines())
    found.add(plain[:24])  # what is left where somebody cuts off
    return {one.encode() for one in found}


def files_with(secret: str, folder: Path) -> list[str]:
    """The files below a folder in which the secret stands, whatever its encoding."""
    spelled = encodings(secret)
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [str(file) for file in files if any(one in file.read_bytes() for one in spelled)]


class _Echo(BaseHTTPRequestHandler):
    """Answers any request with what it was sent: address and authorization, in headers and body."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sent = self.headers.get("Authorization", "")
        body = f"no JSON: {self.path} with {sent!r}, which is {quote(sent)}".encode()
        self.send_response(200 if "quiet" in self.path else 401)
        self.send_header("Content-Type", f"text/{sent}")
        self.send_header("Location", f"http://{quote(sent, safe='')}.example/")
        self.send_header("X-Model-Version", sent)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_POST = do_HEAD = do_PUT = do_GET  # noqa: N815 - the server looks for these names

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def echo_server() -> Iterator[str]:
    """The address of a server on loopback, while the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
