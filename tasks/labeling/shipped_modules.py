"""Modules made from source bytes that came along, so that a worker on another machine needs no copy of the file."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from threading import RLock
from types import ModuleType

_LOCK = RLock()


class _Shipped(MetaPathFinder, InspectLoader):
    """Finds and loads exactly the modules whose sources it was given."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = dict(sources)

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname not in self._sources and not self.is_package(fullname):
            return None
        return spec_from_loader(fullname, self, origin=f"{fullname}.py", is_package=self.is_package(fullname))

    def is_package(self, fullname: str) -> bool:
        return any(name.startswith(f"{fullname}.") for name in self._sources)

    def get_source(self, fullname: str) -> str:
        return self._sources.get(fullname, b"").decode()

    def exec_module(self, module: ModuleType) -> None:
        source = self._sources.get(module.__name__, b"")  # a folder without __init__.py is an empty package
        exec(compile(source, f"{module.__name__}.py", "exec"), vars(module))


def import_shipped(name: str, sources: Mapping[str, bytes]) -> ModuleType:
    """The module `name`, made from `sources`, which also answer its imports of the modules beside it.

    Installed modules of the same name come back afterwards; those that only we know stay, for imports inside of
    functions.

    >>> module = import_shipped("rules", {"rules": b"from words import SPAM", "words": b"SPAM = 'subscribe'"})
    >>> module.SPAM
    'subscribe'
    """
    finder = _Shipped(sources)
    with _LOCK:
        hidden = {known: sys.modules.pop(known) for known in sources if known in sys.modules}
        sys.meta_path.insert(0, finder)
        try:
            return importlib.import_module(name)
        finally:
            sys.meta_path.remove(finder)
            for known, module in hidden.items():
                if not isinstance(getattr(module.__spec__, "loader", None), _Shipped):
                    sys.modules[known] = module
