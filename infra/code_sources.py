"""The sources of somebody's code: a module, and those of the same origin that it imports, found without running it."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from assay.infra.errors import InputError
from assay.infra.syntax import tree_of


def sources_of_module(module: str, written: str) -> dict[str, bytes]:
    """The source of an importable module and of every module of its package that it imports, by name.

    Of a module of ours, such as an embedded rulebook, what it imports of `assay.infra` is left out: how errors are
    worded changes no result.
    """
    top = module.partition(".")[0]
    sources: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources or name.partition(".")[0] != top or f"{name}.".startswith("assay.infra."):
            continue
        path = _origin(name, written)
        if path is not None:
            sources[name] = path.read_bytes()
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting.extend(imported_by(sources[name], str(path), package))
    if not sources:
        raise InputError(f'There is no module "{module}" to take "{written}" from: is it installed?')
    return sources


def folder_of_package(module: str, written: str) -> str:
    """The folder of the package that a module is in; none for one that lies among others, which may be anybody's."""
    origin = _origin(module.partition(".")[0], written)
    return str(origin.parent) if origin is not None and origin.name == "__init__.py" else ""


def _origin(module: str, written: str) -> Path | None:
    """The source file of an importable module; None when there is no such module or it is not written in Python."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    except Exception as fault:
        raise InputError(f'"{written}" does not import: {type(fault).__name__}: {fault}.') from fault
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def sources_of_file(path: Path, written: str) -> dict[str, bytes]:
    """The source of a file and of every module beside it that it imports, by name."""
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
                waiting.extend(imported_by(sources[name], str(neighbour), package))
    return sources


def imported_by(source: bytes, path: str, package: str) -> Iterator[str]:
    """The modules that a source imports, anywhere in it; a name imported from a package may be a module as well."""
    try:
        tree = tree_of(source, path)
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
