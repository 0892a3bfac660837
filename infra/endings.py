"""How a person, or the machine, ends a run: Ctrl-C and SIGTERM, both heard in the same way and told in words."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came: whoever started the run, or the machine that goes down, wants it to end."""


_CLOSING_SECONDS = 30.0
_heard = threading.Event()
_watched = threading.Event()


def is_interrupted() -> bool:
    """Whether a signal may have raised what this thread caught; a KeyboardInterrupt without one is somebody's code's.

    Python hears signals in the main thread only, and there, unless `signals_in_words` looks after them, nobody knows.
    """
    return threading.current_thread() is threading.main_thread() and (_heard.is_set() or not _watched.is_set())


def how_it_ended(kind: type[BaseException]) -> str:
    """What a record says of a run that a signal ended.

    >>> how_it_ended(KeyboardInterrupt)
    'Interrupted (Ctrl-C).'
    """
    return "Interrupted (SIGTERM)." if issubclass(kind, TerminatedError) else "Interrupted (Ctrl-C)."


@contextmanager
def signals_in_words() -> Iterator[None]:
    """Within the block SIGINT and SIGTERM raise in the main thread, once each; what stood there before comes back."""
    if _watched.is_set() or threading.current_thread() is not threading.main_thread():
        yield
        return
    _heard.clear()
    since = [0.0]
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def raise_it(number: int, _frame: FrameType | None) -> None:
        if _heard.is_set() and time.monotonic() - since[-1] < _CLOSING_SECONDS:
            return  # the run is closing: hurried twice it would leave its workers and its record as they are
        since.append(time.monotonic())
        _heard.set()
        raise TerminatedError if number == signal.SIGTERM else KeyboardInterrupt

    for number in before:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, raise_it)
    _watched.set()
    try:
        yield
    finally:
        _watched.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
