"""Messages delivered to a webhook or through Apprise: within a time, and without a secret in any word."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import logging
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assay.flows.nights.message import Message
from assay.flows.project_settings import Notify, Services, Webhook
from assay.infra.errors import InputError
from assay.infra.storage.network import http_only, secret_addresses, secret_from

_MARGIN = 1.0  # seconds that a delivery may overrun before it is left behind


def trouble_within(
    seconds: float, name: str, work: Callable[[], None], in_words: Callable[[Exception], str]
) -> str | None:
    """Why the work was not done, in words; None where it was. Comes back in time, whatever happens.

    >>> trouble_within(5, "example", lambda: None, str) is None
    True
    """
    outcome: list[str | None] = []

    def carry_out() -> None:
        try:
            work()
            outcome.append(None)
        except Exception as error:  # noqa: BLE001 - its words may quote an address: the caller says what is told
            outcome.append(in_words(error))

    # A thread of its own: a server that sends a byte now and then keeps any time-out of a socket from firing.
    thread = threading.Thread(target=carry_out, name=f"assay-{name}", daemon=True)
    thread.start()
    thread.join(seconds + _MARGIN)
    return outcome[0] if outcome else f"no answer within {seconds:.0f} s"


_PAUSES = (1.0, 2.0, 4.0)
_PATIENCE = 10.0  # for one try
_BUSY = (408, 425, 429)


class NotSentError(Exception):
    """A message did not arrive, and why, in words that hold neither address nor secret."""


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
        trouble, again = _tried(url, secret, message, body, min(_PATIENCE, max(0.1, deadline - time.monotonic())))
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
        with http_only().open(request, timeout=seconds):
            return None, False
    except urllib.error.HTTPError as error:
        error.close()
        if 300 <= error.code < 400:
            return f"it answered with a redirect ({error.code}), and none is followed: name the last address", False
        return f"it answered {error.code}", error.code >= 500 or error.code in _BUSY
    except TimeoutError:
        return f"no answer within {seconds:.0f} s", True
    except urllib.error.URLError as error:
        return _reason(error.reason, seconds), True
    except (OSError, http.client.HTTPException) as error:
        return _reason(error, seconds), True


def _reason(reason: object, seconds: float) -> str:
    """Why there was no answer, without what the error quotes."""
    if isinstance(reason, TimeoutError):
        return f"no answer within {seconds:.0f} s"
    if isinstance(reason, OSError) and reason.strerror:
        return f"it cannot be reached ({reason.strerror.lower()})"
    return f"it cannot be reached ({type(reason).__name__})"


@dataclass(frozen=True)
class Notifier:
    """One way out: its key under `notify`, how to send, and how long that may take."""

    name: str
    send: Callable[[Message], None]
    seconds: float

    def deliver(self, message: Message) -> str | None:
        """Why the message did not arrive, in a sentence; None where it did. Comes back in time, whatever happens."""
        trouble = trouble_within(self.seconds, self.name, lambda: self.send(message), _in_words)
        return None if trouble is None else f"notify.{self.name}: the message did not arrive: {trouble}."


def notifiers_of(notify: Notify) -> Iterator[Notifier]:
    """The ways out that the project has."""
    if (webhook := notify.webhook) is not None:
        yield Notifier("webhook", lambda message: _to_webhook(message, webhook), webhook.seconds)
    if (services := notify.apprise) is not None:
        yield Notifier("apprise", lambda message: _to_services(message, services), services.seconds)


def _in_words(error: Exception) -> str:
    """Why a message did not arrive; of errors that are not ours the type alone: their words may quote the address."""
    return str(error).rstrip(".") if isinstance(error, NotSentError | InputError) else type(error).__name__


def _to_webhook(message: Message, webhook: Webhook) -> None:
    url = secret_from(webhook.url_from, ascii_only=True)
    post(message, url, secret_from(webhook.secret_from), webhook.seconds)


def _to_services(message: Message, services: Services) -> None:
    addresses = secret_addresses(services.url_from)
    try:
        import apprise
    except ImportError:
        raise NotSentError('Apprise is not installed: pip install "assay-audit[notify]"') from None
    kind = apprise.NotifyType.INFO if message.test else apprise.NotifyType.WARNING
    with _unlogged():
        known = apprise.Apprise()
        wrong = sum(not known.add(address) for address in addresses)
        if wrong:
            raise NotSentError(f"Apprise does not know {wrong} of the {len(addresses)} URLs in {services.url_from}")
        if not known.notify(title=message.title, body=message.text, notify_type=kind):
            raise NotSentError("Apprise could not deliver it to all of the services")


@contextmanager
def _unlogged() -> Iterator[None]:
    """Within the block nothing is logged that may hold an address: Apprise and what it sends with write some of them
    down where somebody logs in detail."""
    loggers = [logging.getLogger(name) for name in ("apprise", "urllib3", "requests", "asyncio")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
