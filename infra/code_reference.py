"""A user's code by reference: an importable `module:object`, or a file beside the pipelines file.

What travels to the workers is where the code is and, for a file, its bytes and those of the modules beside it that it
imports. The fingerprint is the content of exactly that code, so that an edited model runs again and an untouched one
does not. What the code reads from other files at run time is not part of it.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from assay.infra.errors import AssayError, InputError
from assay.infra.shipped_modules import import_shipped


@dataclass(frozen=True)
class CodeReference:
    """An object in someone's code, or (`attribute` empty) a module: picklable, hashable, equal when the code is.

    `written` is how the user named it. `module` is imported by that name, unless `shipped`: then it and its
    neighbours are made from `sources`.
    """

    written: str
    module: str
    attribute: str
    sources: tuple[tuple[str, bytes], ...]
    shipped: bool

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the module's source and of every module of the same origin that it imports."""
        state = hashlib.sha256(f"{self.module}:{self.attribute}".encode())
        for name, source in sorted(self.sources):
            state.update(f"\0{name}\0{len(source)}\0".encode() + source)
        return state.hexdigest()

    def load(self) -> object:
        """The object itself; each process makes it once."""
        return _load(self)

    def raised(self, fault: BaseException, masked: bool = False) -> str:
        """What was raised, and in which line; `masked` without its words, which may quote the data it was given."""
        words = "" if masked else f": {fault}"
        return f"{type(fault).__name__}{words}{self.line_of(fault)}"

    def line_of(self, fault: BaseException) -> str:
        """` (line 12)` for an error raised in this code, or nothing."""
        trace, where = fault.__traceback__, ""
        while trace is not None:
            if Path(trace.tb_frame.f_code.co_filename).stem == self.module.rpartition(".")[2]:
                where = f" (line {trace.tb_lineno})"
            trace = trace.tb_next
        return where


def refer_to_code(written: str, beside: Path) -> CodeReference:
    """The reference behind `module:object` or `file.py:object`; paths count from the folder `beside`."""
    place, _, attribute = written.rpartition(":")
    if not place or not attribute:
        raise InputError(f'"{written}" names no object: write module:object, or file.py:object.')
    return _refer(written, place, attribute, beside)


def refer_to_module(written: str, place: str, beside: Path) -> CodeReference:
    """The reference to a whole module: `place` is its dotted name, or a file that counts from the folder `beside`."""
    return _refer(written, place, "", beside)


def _refer(written: str, place: str, attribute: str, beside: Path) -> CodeReference:
    if place.endswith(".py"):
        return _from_file(written, beside / place, attribute)
    return _from_module(written, place, attribute)


def _from_module(written: str, module: str, attribute: str) -> CodeReference:
    top = module.partition(".")[0]
    sources: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources or name.partition(".")[0] != top:
            continue
        path = _origin(name, written)
        if path is not None:
            sources[name] = path.read_bytes()
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting.extend(_imports(sources[name], str(path), package))
    if not sources:
        raise InputError(f'There is no module "{module}" to take "{written}" from: is it installed?')
    return CodeReference(written, module, attribute, tuple(sorted(sources.items())), shipped=False)


def _origin(module: str, written: str) -> Path | None:
    """The source file of an importable module; None when there is no such module or it is not written in Python."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    except Exception as fault:
        raise InputError(f'"{written}" does not import: {type(fault).__name__}: {fault}.') from fault
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None


def _from_file(written: str, path: Path, attribute: str) -> CodeReference:
    if not path.is_file():
        raise InputError(f'There is no file "{path}" to take "{written}" from; paths start beside pipelines.yaml.')
    sources: dict[str, bytes] = {}
    waiting = [path.stem]
    while waiting:
        name = waiting.pop()
        for candidate in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py"):
            neighbour = path.parent / candidate
            if name not in sources and neighbour.is_file():
                sources[name] = neighbour.read_bytes()
                package = name if neighbour.name == "__init__.py" else name.rpartition(".")[0]
                waiting.extend(_imports(sources[name], str(neighbour), package))
    return CodeReference(written, path.stem, attribute, tuple(sorted(sources.items())), shipped=True)


def _imports(source: bytes, path: str, package: str) -> Iterator[str]:
    """The modules that a source imports, anywhere in it; a name imported from a package may be a module as well."""
    try:
        tree = ast.parse(source, path)
    except SyntaxError as fault:
        raise InputError(f"{path} is not Python: {fault.msg} in line {fault.lineno}.") from fault
    except (ValueError, RecursionError, MemoryError) as fault:  # a NUL, or brackets within brackets without number
        raise InputError(f"{path} is not Python: {str(fault) or 'it is nested too deeply'}.") from fault
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".") if package and node.level else []
            parts = [*above[: len(above) - node.level + 1], *([node.module] if node.module else [])]
            if parts:
                yield from _with_parents(".".join(parts))
            for alias in node.names:
                yield ".".join([*parts, alias.name])


def _with_parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        yield ".".join(parts[:length])


@lru_cache(maxsize=32)
def _load(reference: CodeReference) -> object:
    try:
        if reference.shipped:
            module = import_shipped(reference.module, dict(reference.sources))
        else:
            module = importlib.import_module(reference.module)
    except AssayError:
        raise
    except Exception as fault:
        said = f"{type(fault).__name__}: {fault}{reference.line_of(fault)}"
        raise InputError(f'"{reference.written}" does not import: {said}.') from fault
    if not reference.attribute:
        return module
    found = inspect.getattr_static(module, reference.attribute, None)
    if found is None:
        close = difflib.get_close_matches(reference.attribute, [n for n in vars(module) if n[0] != "_"], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(f'"{reference.written}" names an object that is not there.{hint}')
    return vars(module)[reference.attribute]
