"""The folder that this process works in while somebody's code is called.

A process has one, whatever its threads want: threads that want the same stand in it together, and one that wants
another waits until they have left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.infra.errors import RunError

WAIT_SECONDS = 600.0


class _Visitor(threading.local):
    """Where the code that this thread calls was promised to stand."""

    folder: str | None = None


_visitor = _Visitor()
_changed = threading.Condition()
_visits: list[str] = []  # of all threads; never two different folders
_home = "."


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Within the block relative paths start from the folder, if this machine has it; the last one out goes home.

    A visit inside of another one gives the outer folder up meanwhile, so that no two threads wait for each other.

    >>> here = os.getcwd()
    >>> with working_in("/"):
    ...     os.getcwd()
    '/'
    >>> os.getcwd() == here
    True
    """
    if not Path(folder).is_dir():
        yield
        return
    wanted, outer = os.path.realpath(folder), _visitor.folder
    given_up = None if outer == wanted else outer
    if given_up is not None:
        _leave(given_up)
    try:
        _enter(wanted, WAIT_SECONDS)
        _visitor.folder = wanted
        try:
            yield
        finally:
            _leave(wanted)
    finally:
        if given_up is not None:
            _enter(given_up, None)
        _visitor.folder = outer


def _enter(folder: str, seconds: float | None) -> None:
    """Stand in the folder as soon as nobody stands in another one."""
    global _home
    with _changed:
        if not _changed.wait_for(lambda: set(_visits) <= {folder}, seconds):
            raise RunError(
                f"Code from {folder} could not be called: for {WAIT_SECONDS:.0f} s code from {_visits[0]} was at work, "
                "and a process works in one folder at a time; run them one after the other."
            )
        if not _visits:
            with suppress(FileNotFoundError):  # somebody removed the folder that we are in: where we were is kept
                _home = os.getcwd()
        os.chdir(folder)
        _visits.append(folder)


def _leave(folder: str) -> None:
    with _changed:
        _visits.remove(folder)
        if not _visits:
            with suppress(FileNotFoundError):
                os.chdir(_home)
        _changed.notify_all()
