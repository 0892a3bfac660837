"""Who may ask a server of ours on loopback: whoever shows its secret, and no page but the server's own.

Every user of a machine reaches its loopback ports, and so does every web page that is open in a browser there: a page
of another origin may post to `127.0.0.1`, and a name that its owner lets point there (DNS rebinding) makes it the same
origin. So each request has to name our address as its host, must come from no other origin, and has to carry the
secret; what the server would allow to other origins (CORS) never gets that far.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

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
