"""Somebody's code while it is called: it works from its own folder, cannot end the process, and every file it opens
and every host it asks is recorded.

A model that calls `exit()` must not take the run with it, nor a worker: it is refused by name. Python's audit hook
hears what Python itself opens. What a library opens in C++ or Rust (ONNX Runtime, safetensors) it does not: such
files are found by their names in the code, or named in the settings.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import site
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

import assay
from assay.infra.errors import InputError, RunError, Stopped
from assay.infra.terminal import is_interrupted, printable

_MACHINE = ("/proc/", "/dev/", "/sys/", "/etc/", "/usr/", "/lib/", "/lib64/", "/run/", "/var/lib/")


@dataclass(eq=False)
class Accesses:
    """Files that were opened for reading, by absolute path, and hosts that were connected to, in order of time."""

    files: dict[str, None] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)

    def opened(self, path: str, writing: bool) -> None:
        """Take note of a file; one that the code has written itself is no news to it."""
        if writing:
            self._written.add(path)
            self.files.pop(path, None)
        elif path not in self._written:
            self.files[path] = None


class _Thread(threading.local):
    """What is known of this thread: who records what it opens (`deaf` while that is being found out), in which folder
    the code that it calls was promised to stand, and how deep it is in somebody's code."""

    def __init__(self) -> None:
        self.open: list[Accesses] = []
        self.deaf = False
        self.folder: str | None = None
        self.depth = 0


_thread = _Thread()
_modules: dict[str, Accesses] = {}
_homes: set[str] = set()


@contextmanager
def recorded_accesses() -> Iterator[Accesses]:
    """Within the block, everything that this thread reads is heard."""
    _install()
    heard = Accesses()
    _thread.open.append(heard)
    try:
        yield heard
    finally:
        _thread.open.remove(heard)


def accesses_by(module: str, home: str = "") -> Accesses:
    """Everything that the code of a module reads from now on, in whatever thread, as long as it is on the stack.

    `home` is the folder of a package: what is opened there counts even among the interpreter's libraries.
    """
    _install()
    if home:
        _homes.add(f"{home}/")
    return _modules.setdefault(module, Accesses())


def is_of_the_system(path: str) -> bool:
    """Whether a file belongs to the interpreter, its libraries, the machine or Assay: nobody's model.

    An environment may be reached through a link, as in `current/bin/assay`; a link to a file of the machine is not
    the machine's.
    """
    return path.startswith(_libraries() + _MACHINE) or os.path.realpath(path).startswith(_libraries())


def source_of(path: str) -> str:
    """The source behind a compiled file, and every other path as it is."""
    try:
        return source_from_cache(path)
    except (ValueError, NotImplementedError):
        return path


@cache
def _install() -> None:
    sys.addaudithook(_audit_hook)


@cache
def _libraries() -> tuple[str, ...]:
    ours = Path(assay.__file__).parent
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, site.getusersitepackages(), *site.getsitepackages()}
    places |= {*sysconfig.get_paths().values()}
    places |= {str(ours / storey) for storey in ("flows", "tasks", "data", "infra")}
    folders = {f"{path.rstrip('/')}/" for place in places for path in (place, os.path.realpath(place))}
    return tuple(sorted(folder for folder in folders if not folder.startswith(_MACHINE)))


def _audit_hook(event: str, arguments: tuple[object, ...]) -> None:
    if event not in ("open", "socket.connect") or _thread.deaf or not (_thread.open or _modules):
        return
    _thread.deaf = True
    try:
        listeners = [*_thread.open, *_callers()] if _modules else _thread.open
        if not listeners:
            return
        if event == "socket.connect":
            where = arguments[1]
            if isinstance(where, tuple) and len(where) >= 2:  # a socket of this machine has a path instead
                for heard in listeners:
                    heard.hosts[f"{where[0]}:{where[1]}"] = None
            return
        path, mode, flags = arguments
        if not isinstance(path, str | bytes) or not path:
            return  # a descriptor that is open already
        writing = bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)) or (
            isinstance(mode, str) and any(letter in mode for letter in "wax+")
        )
        absolute = os.path.abspath(os.fsdecode(path))
        if is_of_the_system(absolute) and not absolute.startswith(tuple(_homes)):
            return
        for heard in listeners:
            heard.opened(absolute, writing)
    finally:
        _thread.deaf = False


def _callers() -> list[Accesses]:
    callers: list[Accesses] = []
    for frame, _ in traceback.walk_stack(sys._getframe(2)):
        heard = _modules.get(frame.f_globals.get("__name__", ""))
        if heard is not None and heard not in callers:
            callers.append(heard)
    return callers


WAIT_SECONDS = 600.0


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
    wanted, outer = os.path.realpath(folder), _thread.folder
    given_up = None if outer == wanted else outer
    if given_up is not None:
        _leave(given_up)
    try:
        _enter(wanted, WAIT_SECONDS)
        _thread.folder = wanted
        try:
            yield
        finally:
            _leave(wanted)
    finally:
        if given_up is not None:
            _enter(given_up, None)
        _thread.folder = outer


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


_exit = os._exit


class LeavingError(BaseException):
    """Somebody's code asked the operating system to end this process at once."""


@contextmanager
def supervised(who: str, folder: str | None = None) -> Iterator[None]:
    """Within the block runs the code of `who`: relative paths start from the folder, and leaving becomes an error."""
    _thread.depth += 1
    os._exit = _exit_or_raise  # it stays: other threads, and processes forked by a guest, end as ever
    try:
        with nullcontext() if folder is None else working_in(folder):
            yield
    except Exception:
        raise
    except BaseException as fault:
        if isinstance(fault, Stopped | GeneratorExit) or is_interrupted(fault):
            raise
        raise InputError(
            f"{who} {_reason(fault)}{_place(fault)}: a model, rule or builder may return, or raise an Exception."
        ) from fault
    finally:
        _thread.depth -= 1


def _reason(fault: BaseException) -> str:
    match fault:
        case SystemExit():
            return f"tried to end its process (exit {fault.code})"
        case LeavingError():
            return f"tried to end its process (os._exit({fault.args[0]}))"
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
    if _thread.depth and os.getpid() == _here:
        raise LeavingError(status)
    _exit(status)


_here = os.getpid()


class _Printable:
    """A stream that shows what a terminal would obey."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printing_safely() -> Iterator[None]:
    """Within the block, what somebody's code prints reaches the terminal as text alone."""
    out, err = _Printable(sys.stdout), _Printable(sys.stderr)
    with redirect_stdout(cast(TextIO, out)), redirect_stderr(cast(TextIO, err)):
        yield


def import_and_end(attempt: Callable[[], object]) -> NoReturn:
    """Ends a copy of this process, without a word, after the attempt; whatever Python can tell of is as good as done:
    the process that it is a copy of is going to hear it, too."""
    global _here
    _here, silence = os.getpid(), os.open(os.devnull, os.O_WRONLY)
    faulthandler.disable()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nobody's code is to end this process by it unseen
    for stream in (1, 2):
        os.dup2(silence, stream)
    with suppress(BaseException):
        attempt()
    _exit(0)
