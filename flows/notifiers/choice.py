"""What a notifier is to everybody else, and how a message is delivered: within a time, without a secret in any word."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from pydantic import Field

from assay.infra.errors import InputError
from assay.infra.settings import Settings
from assay.infra.user_code.choices import Named

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""What an environment variable is called: settings of notifiers name one for each secret."""
_MARGIN = 1.0  # seconds that a delivery may overrun before it is left behind


class Message(Protocol):
    """What a notifier is given to send."""

    @property
    def title(self) -> str:
        """All pipelines and their states, in one line."""

    @property
    def text(self) -> str:
        """The whole message as plain text."""

    @property
    def id(self) -> str:
        """The same for every try, and for every notifier."""

    @property
    def test(self) -> bool:
        """Whether nothing happened, and somebody only tries whether messages arrive."""

    def as_json(self) -> bytes:
        """The message for programs."""


class NotifierSettings(Settings):
    """What the settings of every notifier have."""

    seconds: float = Field(default=30.0, gt=0, le=300)
    """How long a delivery may take, with all its tries."""


class NotSentError(Exception):
    """A message did not arrive, and why, in words that hold neither address nor secret."""


@dataclass(frozen=True)
class NotifierChoice(Named):
    """A notifier that pipelines.yaml can name under `notify`: its word, its settings, and how it sends.

    `send` raises `NotSentError` where the message did not arrive. `about` is a sentence for the documents, `example`
    how the settings are written.
    """

    settings: type[NotifierSettings]
    send: Callable[[Message, Any], None]
    about: str
    example: str

    def conformance(self) -> list[str]:
        """What keeps it from being used like the others, a sentence each."""
        fields = self.settings.model_fields.items()
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
        send = partial(self.choice.send, message, self.settings)
        trouble = trouble_within(self.settings.seconds, self.name, send, _in_words)
        return None if trouble is None else f"notify.{self.name}: the message did not arrive: {trouble}."


def _in_words(error: Exception) -> str:
    """Why a message did not arrive; of errors that are not ours the type alone: their words may quote the address."""
    return str(error).rstrip(".") if isinstance(error, NotSentError | InputError) else type(error).__name__


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
