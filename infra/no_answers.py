"""What it looks like when nobody answers: a service that somebody's code asks is down, or its address is wrong."""

from __future__ import annotations

import socket
from collections.abc import Iterator

_NO_ANSWER = (ConnectionRefusedError, ConnectionResetError, ConnectionAbortedError, TimeoutError, socket.gaierror)


def no_answer(fault: BaseException) -> str:
    """Why a service did not answer, in the system's words; empty for every other error.

    HTTP clients wrap what the system said in errors of their own, as a cause, a context or a `reason`.

    >>> no_answer(ConnectionRefusedError(111, "Connection refused")), no_answer(ValueError("no number"))
    ('Connection refused', '')
    """
    cause = next((error for error in _causes(fault) if isinstance(error, _NO_ANSWER)), None)
    return "" if cause is None else getattr(cause, "strerror", None) or str(cause) or "it took too long"


def _causes(fault: BaseException) -> Iterator[BaseException]:
    """The error and every one that it was made of, each once."""
    waiting, seen = [fault], set[int]()
    while waiting:
        error = waiting.pop(0)
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        parts = (error.__cause__, error.__context__, getattr(error, "reason", None))
        waiting += [part for part in parts if isinstance(part, BaseException)]
