"""Somebody's module in this process: imported once, and again when its source or its files are others."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import sys
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from assay.infra.errors import AssayError, InputError
from assay.infra.listening import read_by
from assay.infra.shipped_modules import import_shipped

if TYPE_CHECKING:
    from assay.infra.code_reference import CodeReference


@lru_cache(maxsize=32)
def load_object(reference: CodeReference) -> object:
    """The object that a reference is to, made once per process."""
    module = import_module_of(reference)
    if not reference.attribute:
        return module
    target = inspect.getattr_static(module, reference.attribute, None)
    if target is None:
        close = difflib.get_close_matches(reference.attribute, [n for n in vars(module) if n[0] != "_"], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(f'"{reference.written}" names an object that is not there.{hint}')
    return vars(module)[reference.attribute]


_imported: dict[str, tuple[str, dict[str, str]]] = {}
"""Per imported module the hash of its sources, and its files as they were then."""


def import_module_of(reference: CodeReference) -> ModuleType:
    """The module, imported again where a long-lived process knows it with another source or with other files."""
    name, sources, files = reference.names[0], dict(reference.sources), dict(reference.files)
    source = hashlib.sha256(repr(reference.sources).encode()).hexdigest()
    before, known = _imported.get(name, (source, files))
    if before != source or any(known[file] != files[file] for file in known.keys() & files.keys()):
        for module_name in reference.names:
            sys.modules.pop(module_name, None)
            read_by(module_name).files.clear()
        known = {}
    try:
        with reference.at_import():
            if reference.shipped:
                module = import_shipped(reference.module, sources, reference.home)
            else:
                module = importlib.import_module(reference.module)
    except AssayError:
        raise
    except Exception as fault:
        reason = f"{type(fault).__name__}: {fault}{reference.line_of(fault)}"
        raise InputError(f'"{reference.written}" does not import: {reason}.') from fault
    _imported[name] = source, known | files
    return module
