"""A message posted to a webhook: signed JSON, tried again where that may help, never sent on elsewhere."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable

from pydantic import Field

from assay.flows.notifiers.choice import VARIABLE, Message, NotifierChoice, NotifierSettings, NotSentError
from assay.infra.storage.network import answer_within, secret_from

_PAUSES = (1.0, 2.0, 4.0)  # seconds between tries
_SECONDS_A_TRY = 10.0
_BUSY = (408, 425, 429)


class Webhook(NotifierSettings):
    """An address of yours that takes a message as signed JSON."""

    url_from: str = Field(pattern=VARIABLE, examples=["ASSAY_WEBHOOK_URL"])
    """The environment variable that holds the address (`https://…`)."""

    secret_from: str = Field(pattern=VARIABLE, examples=["ASSAY_WEBHOOK_SECRET"])
    """The environment variable with the secret that signs messages."""


def send(message: Message, webhook: Webhook) -> None:
    """Post the message to the address, signed with the secret."""
    post(message, secret_from(webhook.url_from, ascii_only=True), secret_from(webhook.secret_from), webhook.seconds)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What `X-Assay-Signature` says: HMAC-SHA256 over the time, a dot, and the body.

    >>> signature("s3cret", "1763776800", b"{}")[:23]
    'sha256=c9d500ea4e400a76'
    """
    return f"sha256={hmac.new(secret.encode(), timestamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def post(message: Message, url: str, secret: str, seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Deliver the message within that time, or raise `NotSentError`."""
    require_address(url)
    deadline, body, tries = time.monotonic() + seconds, message.as_json(), 0
    while True:
        tries += 1
        trouble, again = _tried(url, secret, message, body, min(_SECONDS_A_TRY, max(0.1, deadline - time.monotonic())))
        if trouble is None:
            return
        pause = _PAUSES[tries - 1] if tries <= len(_PAUSES) else None
        if not again or pause is None or time.monotonic() + pause >= deadline:
            raise NotSentError(trouble if tries == 1 else f"{trouble} ({tries} tries)")
        sleep(pause)


def require_address(url: str) -> None:
    """Raises where what the variable holds is no address on the web."""
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or any(letter.isspace() or not letter.isprintable() for letter in url):
        raise NotSentError("its variable holds no address that begins with https:// (or http://)")


def _tried(url: str, secret: str, message: Message, body: bytes, seconds: float) -> tuple[str | None, bool]:
    """What went wrong with one try, if anything, and whether another may help."""
    now = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "assay",
        "X-Assay-Timestamp": now,
        "X-Assay-Delivery": message.id,
        "X-Assay-Signature": signature(secret, now, body),
    }
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with answer_within(request, seconds):
            return None, False
    except urllib.error.HTTPError as error:
        error.close()
        if 300 <= error.code < 400:
            return f"it answered with a redirect ({error.code}), and none is followed: name the last address", False
        return f"it answered {error.code}", error.code >= 500 or error.code in _BUSY
    except (OSError, http.client.HTTPException) as error:
        return _reason(error.reason if isinstance(error, urllib.error.URLError) else error, seconds), True


def _reason(reason: object, seconds: float) -> str:
    """Why there was no answer, without what the error quotes."""
    if isinstance(reason, TimeoutError):
        return f"no answer within {seconds:.0f} s"
    if isinstance(reason, OSError) and reason.strerror:
        return f"it cannot be reached ({reason.strerror.lower()})"
    return f"it cannot be reached ({type(reason).__name__})"


WEBHOOK = NotifierChoice("webhook", Webhook, send, "{url_from: HOOK_URL, secret_from: HOOK_SECRET}")
