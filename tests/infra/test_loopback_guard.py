"""What the guard of a server on loopback lets through: the secret, from the server's own address, and nothing else."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.prefect.server import ENTRANCE, LoopbackGuard, Message

PORT, SECRET = 4321, "assay:s3cret"
HOST = (b"host", b"127.0.0.1:4321")
TRUSTED = (b"authorization", b"Basic " + base64.b64encode(SECRET.encode()))


async def application(scope: Message, receive: Any, send: Any) -> None:
    """Answers every request with `inside`, and repeats what a web socket says, after a word of its own."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})
        return
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": "a word before the secret"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


def ask(*headers: tuple[bytes, bytes], path: str = "/api/flows", method: str = "GET", pages: bool = False) -> Any:
    """Status, headers and body of the answer."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    guard = LoopbackGuard(application, port=PORT, secret=SECRET, pages=pages)
    scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}
    asyncio.run(guard(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def talk(*texts: str, headers: tuple[tuple[bytes, bytes], ...] = (HOST,)) -> list[str | int]:
    """What a web socket hears: texts, and the code it is closed with."""
    sent: list[str | int] = []
    coming = iter([{"type": "websocket.connect"}, *({"type": "websocket.receive", "text": text} for text in texts)])

    async def send(message: Message) -> None:
        if message["type"] != "websocket.accept":
            sent.append(message.get("text") or message["code"])

    async def receive() -> Message:
        return dict(next(coming, {"type": "websocket.disconnect", "code": 1000}))

    guard = LoopbackGuard(application, port=PORT, secret=SECRET, pages=False)
    asyncio.run(guard({"type": "websocket", "path": "/api/events/out", "headers": list(headers)}, receive, send))
    return sent


def test_who_has_the_secret_is_answered() -> None:
    assert ask(HOST, TRUSTED)[::2] == (200, b"inside")
    assert ask(HOST, TRUSTED, (b"origin", b"http://127.0.0.1:4321"))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([HOST], 401),
        ([HOST, (b"authorization", b"Basic " + base64.b64encode(b"assay:other"))], 401),
        ([HOST, (b"authorization", b"Bearer " + SECRET.encode())], 401),
        ([HOST, TRUSTED, (b"authorization", b"Basic bm9ib2R5")], 401),
        ([HOST, TRUSTED, (b"origin", b"http://evil.example")], 403),
        ([HOST, TRUSTED, (b"origin", b"null")], 403),
        ([HOST, TRUSTED, (b"origin", b"http://127.0.0.1:9999")], 403),
        ([HOST, TRUSTED, (b"origin", b"http://127.0.0.1:4321"), (b"origin", b"http://evil.example")], 403),
        ([TRUSTED], 421),
        ([TRUSTED, (b"host", b"evil.example:4321")], 421),
        ([TRUSTED, (b"host", b"localhost:4321")], 421),
        ([TRUSTED, HOST, HOST], 421),
    ],
)
@pytest.mark.parametrize("pages", [False, True])
def test_everybody_else_is_refused(headers: list[tuple[bytes, bytes]], status: int, pages: bool) -> None:
    for method in ("GET", "POST", "OPTIONS", "DELETE"):
        answered, sent, body = ask(*headers, method=method, pages=pages)
        assert (answered, b"inside" in body) == (status, False)
        assert not any(name.startswith(b"access-control") for name in sent)


@given(st.text(max_size=40).map(lambda text: "/" + text))
def test_without_a_ui_no_path_is_open(path: str) -> None:
    assert ask(HOST, path=path)[0] == 401


def test_with_a_ui_its_files_are_open_and_nothing_else_is() -> None:
    for path in ("/", "/assets/index.js", "/flow-runs/1", "/ui-settings", "/api/health"):
        assert ask(HOST, path=path, pages=True)[0] == 200
        assert ask(HOST, path=path, pages=True, method="POST")[0] == 401
    for path in ("/api", "/api/flows", "/api/deployments/filter", "/api/health/../flows", "/docs", "/openapi.json"):
        assert ask(HOST, path=path, pages=True)[0] == 401


def test_the_entrance_takes_the_secret_from_the_address_and_nobody_may_frame_it() -> None:
    status, headers, page = ask(HOST, path=ENTRANCE, pages=True)
    assert (status, headers[b"x-frame-options"], headers[b"referrer-policy"]) == (200, b"DENY", b"no-referrer")
    assert b"location.hash" in page
    assert SECRET.encode() not in page
    assert ask(HOST, path=ENTRANCE)[0] == 401


GREETING = json.dumps({"type": "auth", "token": SECRET})


def test_a_web_socket_is_heard_after_the_secret() -> None:
    assert talk(GREETING, "more") == [GREETING, "more"]


@pytest.mark.parametrize(
    "first",
    [
        *("more", "", "[]", "null", '{"type": "auth"}', '{"type": "auth", "token": "x"}'),
        json.dumps({"token": SECRET}),
        pytest.param("[" * 100_000, id="deep"),  # what breaks the reader would be a page of the log for each stranger
        '{"type": "auth", "token": "\\ud800"}',
    ],
)
def test_a_web_socket_without_the_secret_hears_nothing(first: str) -> None:
    assert talk(first, "more", GREETING) == [1008]


def test_a_web_socket_of_another_page_or_name_is_closed_at_once() -> None:
    for header in ((b"origin", b"http://evil.example"), (b"host", b"evil.example:4321")):
        headers = (header,) if header[0] == b"host" else (HOST, header)
        assert talk(GREETING, headers=headers) == [1008]
