"""What somebody's code reads while it runs: the files it opens and the hosts it connects to.

Python's audit hook hears what Python itself opens. What a library opens in C++ or Rust (ONNX Runtime, safetensors) it
does not: such files are found by their names in the code, or named in the settings.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType

import assay

_SYSTEM = ("/proc", "/dev", "/sys", "/etc", "/usr", "/lib", "/lib64", "/run", "/var/lib")


@dataclass(eq=False)
class Heard:
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


class _Ears(threading.local):
    """Who listens to this thread; `deaf` while that is being found out."""

    def __init__(self) -> None:
        self.open: list[Heard] = []
        self.deaf = False


_ears = _Ears()
_modules: dict[str, Heard] = {}
_homes: set[str] = set()


@contextmanager
def listening() -> Iterator[Heard]:
    """Within the block, everything that this thread reads is heard."""
    _install()
    heard = Heard()
    _ears.open.append(heard)
    try:
        yield heard
    finally:
        _ears.open.remove(heard)


def read_by(module: str, home: str = "") -> Heard:
    """Everything that the code of a module reads from now on, in whatever thread, as long as it is on the stack.

    `home` is the folder of a package: what is opened there counts even among the interpreter's libraries.
    """
    _install()
    if home:
        _homes.add(f"{home}/")
    return _modules.setdefault(module, Heard())


def is_of_the_system(path: str) -> bool:
    """Whether a file belongs to the interpreter, its libraries, the machine or Assay: nobody's model."""
    return path.startswith(_libraries())


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
    places |= {*sysconfig.get_paths().values(), *_SYSTEM}
    places |= {str(ours / storey) for storey in ("flows", "tasks", "data", "infra")}
    places |= {os.path.realpath(place) for place in places}
    return tuple(sorted(f"{place.rstrip('/')}/" for place in places if place.rstrip("/")))


def _audit_hook(event: str, arguments: tuple[object, ...]) -> None:
    if event not in ("open", "socket.connect") or _ears.deaf or not (_ears.open or _modules):
        return
    _ears.deaf = True
    try:
        listeners = [*_ears.open, *_callers()] if _modules else _ears.open
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
        _ears.deaf = False


def _callers() -> list[Heard]:
    frame: FrameType | None = sys._getframe(2)
    callers: list[Heard] = []
    while frame is not None:
        heard = _modules.get(frame.f_globals.get("__name__", ""))
        if heard is not None and heard not in callers:
            callers.append(heard)
        frame = frame.f_back
    return callers
