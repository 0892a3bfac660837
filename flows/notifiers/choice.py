"""What a notifier is to everybody else, and how a message is delivered: within a time, without a secret in any word."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from pydantic import Field

from assay.infra.errors import InputError
from assay.infra.settings import Settings, documented_fields
from assay.infra.user_code.choices import Named

V = TypeVar("V")
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""What an environment variable is called: settings of notifiers name one for each secret."""
_MARGIN = 1.0  # seconds that a delivery may overrun before it is left behind


@dataclass(frozen=True)
class Message:
    """What is sent, once, to every notifier."""

    title: str
    """All pipelines and their states, in one line."""
    text: str
    """The whole message as plain text."""
    nights: tuple[Mapping[str, object], ...]
    """What is told of each pipeline, as plain values."""
    sent: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """The same for every try, and for every notifier."""
    test: bool = False
    """Whether nothing happened, and somebody only tries whether messages arrive."""

    def as_json(self) -> bytes:
        """The message for programs, as a webhook gets it."""
        body = {"version": 1, **vars(self), "sent": self.sent.isoformat(timespec="seconds")}
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


class NotifierSettings(Settings):
    """What the settings of every notifier have."""

    seconds: float = Field(default=30.0, gt=0, le=300)
    """How long a delivery may take, with all its tries."""


class NotSentError(Exception):
    """A message did not arrive, and why, in words that hold neither address nor secret."""


@dataclass(frozen=True)
class NotifierChoice(Named):
    """A notifier that pipelines.yaml can name under `notify`: its word, its settings, and how it sends.

    `send` raises `NotSentError` where the message did not arrive. `example` is how the settings are written; what the
    notifier is their docstring says.
    """

    settings: type[NotifierSettings]
    send: Callable[[Message, Any], None]
    example: str

    def conformance(self) -> list[str]:
        """What keeps it from being used like the others, a sentence each."""
        fields = documented_fields(self.settings).items()
        return [
            f"`{name}` of {self.settings.__name__} has no sentence." for name, field in fields if not field.description
        ]


@dataclass(frozen=True)
class Notifier:
    """A notifier with the settings that a project gives it."""

    choice: NotifierChoice
    settings: NotifierSettings

    @property
    def name(self) -> str:
        """Its key under `notify`."""
        return self.choice.word

    def deliver(self, message: Message) -> str | None:
        """Why the message did not arrive, in a sentence; None where it did. Comes back in time, whatever happens."""
        try:
            done_within(self.settings.seconds, self.name, partial(self.choice.send, message, self.settings))
        except NotSentError as trouble:
            return f"notify.{self.name}: the message did not arrive: {trouble}."
        return None


def without_quoting(error: Exception) -> str:
    """Why something was not sent; of errors that are not ours the type alone: their words may quote the address."""
    return str(error).rstrip(".") if isinstance(error, NotSentError | InputError) else type(error).__name__


def done_within(
    seconds: float, name: str, work: Callable[[], V], in_words: Callable[[Exception], str] = without_quoting
) -> V:
    """What the work gives; `NotSentError` says in words why there is nothing. Comes back in time, whatever happens.

    >>> done_within(5, "example", lambda: "sent")
    'sent'
    """
    outcome: Future[V] = Future()

    def carry_out() -> None:
        try:
            outcome.set_result(work())
        except Exception as error:  # noqa: BLE001 - its words may quote an address: the caller says what is told
            outcome.set_exception(NotSentError(in_words(error)))

    # A thread of its own: a server that sends a byte now and then keeps any time-out of a socket from firing.
    threading.Thread(target=carry_out, name=f"assay-{name}", daemon=True).start()
    try:
        return outcome.result(seconds + _MARGIN)
    except TimeoutError:
        raise NotSentError(f"no answer within {seconds:.0f} s") from None
