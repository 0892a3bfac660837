"""Asks a port as strangers do: without the secret, under other names, from pages of other origins, in no protocol."""

from __future__ import annotations

import http.server
import json
import queue
import socket
import ssl
import subprocess
import threading
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from quiet_browser import QUIET, browser_here

READING = ("/api/health", "/api/flows/count", "/api/admin/settings", "/docs", "/openapi.json")
READING_DASK = ("/info/main/workers.html", "/json/counts.json", "/metrics", "/health", "/proxy/22/127.0.0.1")
STARTING = ("/api/deployments/filter", "/api/flow_runs/", "/api/flows/", "/api/v1/retire_workers")


@dataclass(frozen=True)
class Door:
    """A port that a process listens on."""

    address: str
    port: int


def doors(process: psutil.Process) -> set[Door]:
    """Every TCP and UDP port that a process and its descendants listen on."""
    listening = set()
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            for one in each.net_connections(kind="inet"):
                if one.status == psutil.CONN_LISTEN or (one.type == socket.SOCK_DGRAM and not one.raddr):
                    listening.add(Door(one.laddr.ip, one.laddr.port))
    return listening


def http_answers(port: int) -> dict[str, bytes]:
    """What each HTTP question of a stranger gets, in bytes; nothing where the port speaks no HTTP."""
    ours = f"127.0.0.1:{port}"
    wrong = b64encode(b"assay:guessed").decode()
    disguises = {
        "no secret": {"Host": ours},
        "wrong secret": {"Host": ours, "Authorization": f"Basic {wrong}"},
        "other origin": {"Host": ours, "Origin": "http://evil.example"},
        "rebound name": {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"},
        "web socket": {"Host": ours, "Upgrade": "websocket", "Connection": "Upgrade"},
    }
    if not _raw(port, _request("GET", "/", {"Host": ours})):
        return {}
    answers = {}
    for disguise, headers in disguises.items():
        for path in (*READING, *READING_DASK):
            answers[f"GET {path}, {disguise}"] = _raw(port, _request("GET", path, headers))
        for path in STARTING:
            answers[f"POST {path}, {disguise}"] = _raw(port, _request("POST", path, headers, "{}"))
    return answers


def other_answers(port: int) -> dict[str, bytes]:
    """What a port says first, or to bytes of no protocol, or within TLS to who shows no certificate."""
    return {
        "silence": _raw(port, b""),
        "noise": _raw(port, b"\x00" * 64 + b"PING\r\n\r\n"),
        "a token": _raw(port, b"0" * 32 + b"\n"),
        "TLS without a certificate": _tls(port, _request("GET", "/info/main/workers.html", {"Host": "x"})),
    }


def _request(method: str, path: str, headers: dict[str, str], body: str = "") -> bytes:
    if headers.get("Upgrade"):
        headers = headers | {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version": "13"}
    else:
        headers = headers | {"Connection": "close"}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"] if body else []
    return "\r\n".join([*lines, "", body]).encode()


def _raw(port: int, question: bytes) -> bytes:
    """What comes back until the port closes or falls silent."""
    # A question has an answer however busy the machine is; what is no question is waited for a little.
    patience, answer = 10 if question.startswith((b"GET", b"POST")) else 1, b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(question)
        line.settimeout(patience)
        while part := line.recv(65536):
            answer += part
    return answer


def _tls(port: int, question: bytes) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line, context.wrap_socket(line) as wrapped:
            wrapped.sendall(question)
            return wrapped.recv(65536)
    except OSError:
        return b""


_PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>A page that somebody reads</title>
<form id="form" target="frame" method="post" enctype="text/plain"><input name='{"a":"' value='"}'></form>
<iframe name="frame"></iframe><script>
const ports = %s, heard = [], json = {"Content-Type": "application/json"}, made = '{"name": "from-a-page"}';
async function fetched(port, path, options) {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, options);
    heard.push([port, path, answer.type, answer.type === "opaque" ? "" : await answer.text()]);
  } catch (error) { heard.push([port, path, "refused", ""]); }
}
function socketed(port, path) {
  return new Promise((done) => {
    const line = new WebSocket(`ws://127.0.0.1:${port}${path}`, "prefect");
    const over = (how, text) => { line.onclose = null; heard.push([port, path, how, text]); done(); };
    line.onopen = () => line.send(JSON.stringify({type: "auth", token: null}));
    line.onmessage = (event) => over("heard", event.data);
    line.onclose = () => over("refused", "");
  });
}
(async () => {
  for (const port of ports) {
    await fetched(port, "/api/deployments/filter", {method: "POST", body: "{}", headers: json});
    await fetched(port, "/api/health", {});
    await fetched(port, "/api/flows/", {method: "POST", mode: "no-cors", body: new Blob([made])});
    await fetched(port, "/api/flows/", {method: "POST", mode: "no-cors", credentials: "include", body: made});
    await socketed(port, "/api/events/out");
    await socketed(port, "/api/events/in");
    document.getElementById("form").action = `http://127.0.0.1:${port}/api/flows/`;
    document.getElementById("form").submit();
  }
  await fetch("/heard", {method: "POST", body: JSON.stringify(heard)});
})();
</script>"""


class _Careless(http.server.BaseHTTPRequestHandler):
    """Serves the page, takes what it heard, and answers everything else to everybody, as Prefect's own server does."""

    page: bytes
    heard: queue.Queue[list[list[object]]]

    def do_GET(self) -> None:
        """The page, or a word."""
        self._answer(self.page if self.path == "/page" else b"careless")

    def do_POST(self) -> None:
        """A word."""
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/heard":
            self.heard.put(json.loads(content))
        self._answer(b"careless")

    def do_OPTIONS(self) -> None:
        """Whatever is asked may be asked."""
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        for name in ("Origin", "Headers", "Methods"):
            self.send_header(f"Access-Control-Allow-{name}", "*")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


def heard_by_a_page(port: int, profile: Path) -> tuple[list[list[object]], list[list[object]]]:
    """What a page of another origin, open in Chromium, gets from a port, and what it gets from a careless server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Careless)
    careless = server.server_address[1]
    _Careless.page, _Careless.heard = (_PAGE % json.dumps([port, careless])).encode(), queue.Queue()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    arguments = _chromium(profile, "--remote-debugging-port=0", f"http://evil.example:{careless}/page")
    browser = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        heard = _Careless.heard.get(timeout=180)
    finally:
        browser.terminate()
        browser.wait(30)
        server.shutdown()
        server.server_close()
    return [each[1:] for each in heard if each[0] == port], [each[1:] for each in heard if each[0] == careless]


def shown(address: str, profile: Path, seconds: int) -> str:
    """What a page shows in Chromium after a while, as HTML."""
    arguments = _chromium(profile, f"--virtual-time-budget={seconds * 1000}", "--dump-dom", address)
    return subprocess.run(arguments, capture_output=True, text=True, timeout=240).stdout


def _chromium(profile: Path, *arguments: str) -> list[str]:
    """The command; `evil.example` is a name that points at this machine."""
    resolving = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    return [browser_here(), "--headless", *QUIET, f"--user-data-dir={profile}", resolving, *arguments]
