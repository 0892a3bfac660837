"""Whom a project's messages go to, and how they are delivered: within a time, and without a secret in any word."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assay.flows.nights.in_time import trouble_within
from assay.flows.nights.message import Message
from assay.flows.nights.settings import Notify, Services, Webhook
from assay.flows.nights.webhook import NotSentError, post
from assay.infra.credentials import secret_addresses, secret_from
from assay.infra.errors import InputError


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
