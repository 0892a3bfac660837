"""Modules made from source bytes that came along, so that a worker on another machine needs no copy of the file."""

from __future__ import annotations

import builtins
import hashlib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType


class _Parcel(MetaPathFinder, InspectLoader):
    """One set of sources, importable under a private package that is named after their content."""

    def __init__(self, sources: Mapping[str, bytes], home: str) -> None:
        self.package, self._home = package_of(sources, home), home
        self._sources = {f"{self.package}.{name}": source for name, source in sources.items()}

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname not in self._sources and not self.is_package(fullname):
            return None
        return spec_from_loader(fullname, self, origin=self._origin(fullname), is_package=self.is_package(fullname))

    def _origin(self, fullname: str) -> str:
        """Where the module's file was when it was read, and is here if this machine has the folder."""
        place = fullname.removeprefix(self.package).strip(".").replace(".", "/")
        return os.path.join(self._home, f"{place}/__init__.py" if self.is_package(fullname) else f"{place}.py")

    def is_package(self, fullname: str) -> bool:
        return any(name.startswith(f"{fullname}.") for name in self._sources)

    def get_source(self, fullname: str) -> str:
        return self._sources.get(fullname, b"").decode()

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        names = vars(module)
        names["__file__"] = self._origin(module.__name__)
        names["__builtins__"] = vars(builtins) | {"__import__": self._import}
        source = self._sources.get(module.__name__, b"")  # a folder without __init__.py is an empty package
        exec(compile(source, spec.origin or module.__name__ if spec else module.__name__, "exec"), names)

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002  the names that Python passes
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What `import` means inside of the parcel: its own modules first, then everybody's."""
        private = f"{self.package}.{name}"
        if level or (private not in self._sources and not self.is_package(private)):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = importlib.import_module(private)
        for each in fromlist or ():
            if f"{private}.{each}" in self._sources:
                importlib.import_module(f"{private}.{each}")
        return module if fromlist else sys.modules[f"{self.package}.{name.partition('.')[0]}"]


def package_of(sources: Mapping[str, bytes], home: str) -> str:
    """The private package under which Python knows modules made of these sources, which lay in the folder `home`."""
    state = hashlib.sha256(home.encode())
    for name, source in sorted(sources.items()):
        state.update(f"{name}\0{len(source)}\0".encode() + source)
    return f"assay_rules_{state.hexdigest()[:16]}"


def import_shipped(name: str, sources: Mapping[str, bytes], home: str = "") -> ModuleType:
    """The module `name`, made from `sources`, which also answer its imports of the modules beside it.

    The modules live under a private name, so that two rulebooks may each have a `words.py`, and a `json.py` beside a
    rulebook is nobody else's `json`.

    >>> module = import_shipped("rules", {"rules": b"from words import SPAM", "words": b"SPAM = 'subscribe'"})
    >>> module.SPAM
    'subscribe'
    """
    parcel = _Parcel(sources, home)
    if not any(isinstance(one, _Parcel) and one.package == parcel.package for one in sys.meta_path):
        sys.meta_path.append(parcel)
    return importlib.import_module(f"{parcel.package}.{name}")
