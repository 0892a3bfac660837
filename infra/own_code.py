"""Running somebody's code in our processes: from its own folder, with no way out of the process.

A model that calls `exit()` must not take the run with it, nor a worker: it is told by name, and the run is refused.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NoReturn

from assay.infra.endings import is_interrupted
from assay.infra.errors import InputError
from assay.infra.listening import is_of_the_system
from assay.infra.stopping import Stopped
from assay.infra.working_folder import working_in

_exit = os._exit


class LeavingError(BaseException):
    """Somebody's code asked the operating system to end this process at once."""

    def __init__(self, code: object) -> None:
        super().__init__(code)
        self.code = code


class _Guests(threading.local):
    """How deep this thread is in somebody's code."""

    depth = 0


_guests = _Guests()


@contextmanager
def kept_in(who: str, folder: str | None = None) -> Iterator[None]:
    """Within the block runs the code of `who`: relative paths start from the folder, and leaving becomes an error."""
    _guests.depth += 1
    os._exit = _exit_or_raise  # it stays: other threads, and processes forked by a guest, end as ever
    try:
        with nullcontext() if folder is None else working_in(folder):
            yield
    except Exception:
        raise
    except BaseException as fault:
        if isinstance(fault, Stopped | GeneratorExit) or (isinstance(fault, KeyboardInterrupt) and is_interrupted()):
            raise
        raise InputError(
            f"{who} {_reason(fault)}{_place(fault)}: a model, rule or builder may return, or raise an Exception."
        ) from fault
    finally:
        _guests.depth -= 1


def _reason(fault: BaseException) -> str:
    match fault:
        case SystemExit():
            return f"tried to end its process (exit {fault.code})"
        case LeavingError():
            return f"tried to end its process (os._exit({fault.code}))"
        case KeyboardInterrupt():
            return "raised KeyboardInterrupt, which nobody at the keyboard asked for"
    return f"raised {type(fault).__name__}, which is no Exception"


def _place(fault: BaseException) -> str:
    """Where somebody's code did it: the last line on the way there that is no library's."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(fault.__traceback__)]
    theirs = [(file, line) for file, line in lines if not is_of_the_system(file) and not file.startswith("<")]
    return f" in {Path(theirs[-1][0]).name}, line {theirs[-1][1]}" if theirs else ""


def _exit_or_raise(status: int) -> NoReturn:
    """What `os._exit` does: in a guest's thread it raises; for everybody else, processes forked by it too, it ends."""
    if _guests.depth and os.getpid() == _here:
        raise LeavingError(status)
    _exit(status)


_here = os.getpid()
