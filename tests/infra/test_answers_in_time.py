"""A time limit holds for the whole exchange with a service: handshake, status line, headers, interim answers, body."""

from __future__ import annotations

import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from assay.infra.storage import network
from assay.infra.storage.network import Connection, answer_within

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SLOW: dict[str, tuple[bytes, bytes]] = {
    "says nothing": (b"", b""),
    "drips its status line": (b"", b"H"),
    "drips headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "says to go on, for ever": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "drips its body": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" "),
    "drips its body without an end": (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
    "drips chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}
"""What a service begins with, and what it goes on with every tenth of a second for twenty seconds."""


@contextmanager
def service(begins: bytes, drips: bytes) -> Iterator[str]:
    """The address of a service on loopback that answers so, to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        over = threading.Event()

        def serve() -> None:
            with suppress(OSError):
                asked, _ = listening.accept()
                with asked:
                    asked.recv(1 << 16)
                    asked.sendall(begins)
                    until = time.monotonic() + 20
                    while drips and time.monotonic() < until and not over.wait(0.1):
                        asked.sendall(drips)
                    over.wait(0 if begins == WHOLE else 20)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}/predict"
        finally:
            over.set()
            thread.join()


def read(url: str, seconds: float = 1.0) -> bytes:
    with answer_within(urllib.request.Request(url, b"{}"), seconds) as answer:
        return answer.read()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("how", SLOW)
def test_a_service_that_takes_its_time_is_given_up_in_time(how: str, scheme: str) -> None:
    """Over TLS each of these is a handshake that does not end, or is none."""
    with service(*SLOW[how]) as place:
        began = time.monotonic()
        with pytest.raises((TimeoutError, urllib.error.URLError)) as fault:
            read(f"{scheme}://{place}")
        assert time.monotonic() - began < 10  # of the twenty seconds that it would drip
    if scheme == "http":
        assert isinstance(fault.value, TimeoutError)


def test_an_answer_in_time_is_read_whole() -> None:
    with service(WHOLE, b"") as place:
        assert read(f"http://{place}", seconds=30) == b"ok"


def test_nobody_who_does_not_listen_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(urllib.error.URLError, match="refused"):
        read(f"http://127.0.0.1:{port}/", seconds=30)


def test_a_proxy_that_is_named_later_is_asked_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with service(WHOLE, b"") as place:
        assert read(f"http://{place}", seconds=30) == b"ok"
    with service(WHOLE.replace(b"ok", b"by"), b"") as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.partition('/')[0]}")
        assert read("http://elsewhere.invalid/predict", seconds=30) == b"by"


def test_a_connection_is_kept_after_a_whole_answer_and_not_once_the_other_side_hangs_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "_IDLE_SECONDS", 60.0)  # on a busy machine two seconds pass between two lines
    accepted, asked = list[socket.socket](), threading.Semaphore(0)

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            for answers in (2, 1):
                connection, _ = listening.accept()
                accepted.append(connection)
                for _ in range(answers):
                    request = b""
                    while not request.endswith(b"{}"):  # head and body come apart
                        part = connection.recv(1 << 16)
                        assert part, "hung up in the middle of a request"
                        request += part
                    connection.sendall(WHOLE)
                connection.close()
                asked.release()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        kept: list[Connection] = []
        request = urllib.request.Request(f"http://127.0.0.1:{listening.getsockname()[1]}/", b"{}")
        for time_asked in range(3):
            if time_asked == 2:
                asked.acquire()
            with answer_within(request, 30, kept) as answer:
                assert answer.read() == b"ok"
            assert len(kept) == 1
    assert len(accepted) == 2


def own_certificate(folder: Path) -> Path:
    """A key and a certificate for loopback that nobody has signed, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a service of one's own")])
    begins = datetime.now(UTC) - timedelta(hours=1)
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "own.pem").write_bytes(private + built.public_bytes(Encoding.PEM))
    return folder / "own.pem"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_connection_over_tls_is_kept_where_the_certificate_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: ssl.TLSVersion
) -> None:
    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            accepted.append(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    accepted, kept = list[Answers](), list[Connection]()
    certificate = own_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who does not trust it hangs up
        threading.Thread(target=server.serve_forever, daemon=True).start()
        request = urllib.request.Request(f"https://127.0.0.1:{server.server_port}/", b"{}")
        try:
            monkeypatch.setattr(network, "_certificates", ssl.create_default_context)
            with pytest.raises(urllib.error.URLError, match="certificate"):
                read(request.full_url, seconds=30)
            accepted.clear()
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            for _ in range(3):
                with answer_within(request, 30, kept) as answer:
                    assert answer.read() == b"ok"
        finally:
            server.shutdown()
    assert (len(accepted), len(kept)) == (1, 1)


def test_threads_that_ask_at_once_hang_up_on_their_own_requests_alone() -> None:
    with service(*SLOW["drips headers"]) as slow, service(WHOLE, b"") as ready, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(read, f"http://{slow}", 0.3)
        assert read(f"http://{ready}", seconds=30) == b"ok"
        with pytest.raises(TimeoutError):
            waiting.result()
