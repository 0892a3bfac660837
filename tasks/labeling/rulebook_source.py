"""Where a rulebook comes from: a name of ours, an importable `module:object`, or a file beside the pipelines file.

What travels to the workers is a `RulebookReference`: where the rules are and, for a file, the bytes of it and of the
modules beside it that it imports. Its fingerprint is the content of exactly that code, so that an edited rule votes
again and an untouched one does not. Word lists that a rule reads from other files are not part of it: write them as
Python, in a module beside the rules.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType

from assay.infra.errors import AssayError, InputError
from assay.tasks.labeling import rulebooks
from assay.tasks.labeling.rules import Rulebook, rules_of
from assay.tasks.labeling.shipped_modules import import_shipped

_OURS = rulebooks.__name__


@dataclass(frozen=True)
class RulebookReference:
    """A rulebook by reference: picklable, hashable, and equal exactly when the code behind it is.

    `module` is imported by that name, unless `shipped`: then it and its neighbours are made from `sources`.
    """

    functions: str
    module: str
    attribute: str | None
    sources: tuple[tuple[str, bytes], ...]
    shipped: bool

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the rule module's source and of every module of the same origin that it imports."""
        state = hashlib.sha256(f"{self.module}:{self.attribute or ''}".encode())
        for name, source in sorted(self.sources):
            state.update(f"\0{name}\0{len(source)}\0".encode() + source)
        return state.hexdigest()

    def load(self) -> Rulebook:
        """The rulebook itself; each process reads it once."""
        return _load(self)


def refer_to_rulebook(functions: str, beside: Path | None = None) -> RulebookReference:
    """The reference behind what `labeling.functions` says; paths count from the folder `beside`.

    The rulebook is loaded once on the way, so that what is wrong with it is said before anything runs.

    >>> refer_to_rulebook("breast-cancer").load().classes
    ('malignant', 'benign')
    """
    place, _, attribute = functions.partition(":")
    if place.endswith(".py"):
        reference = _from_file(functions, (beside or Path.cwd()) / place, attribute or None)
    elif attribute or "." in place:
        reference = _from_module(functions, place, attribute or None)
    else:
        reference = _from_name(functions)
    reference.load()
    return reference


def _from_name(name: str) -> RulebookReference:
    known = sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(rulebooks.__path__))
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}."
        raise InputError(
            f'There is no rulebook "{name}". {hint} Your own rules are a file.py beside the pipelines file, '
            "or module:object."
        )
    return _from_module(name, f"{_OURS}.{name.replace('-', '_')}", None)


def _from_module(functions: str, module: str, attribute: str | None) -> RulebookReference:
    top = module.partition(".")[0]
    sources: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources or name.partition(".")[0] != top:
            continue
        path = _origin(name, functions)
        if path is not None:
            sources[name] = path.read_bytes()
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting.extend(_imports(sources[name], str(path), package))
    if not sources:
        raise InputError(f'There is no module "{module}" to take the rulebook "{functions}" from: is it installed?')
    return RulebookReference(functions, module, attribute, tuple(sorted(sources.items())), shipped=False)


def _origin(module: str, functions: str) -> Path | None:
    """The source file of an importable module; None when there is no such module or it is not written in Python."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    except Exception as fault:
        raise _does_not_import(functions, module, fault) from fault
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None


def _from_file(functions: str, path: Path, attribute: str | None) -> RulebookReference:
    if not path.is_file():
        raise InputError(f'There is no file "{path}" to take the rulebook "{functions}" from.')
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
    return RulebookReference(functions, path.stem, attribute, tuple(sorted(sources.items())), shipped=True)


def _imports(source: bytes, path: str, package: str) -> Iterator[str]:
    """The modules that a source imports, anywhere in it; a name imported from a package may be a module as well."""
    try:
        tree = ast.parse(source, path)
    except SyntaxError as fault:
        raise InputError(f"The rules in {path} are not Python: {fault.msg} in line {fault.lineno}.") from fault
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
def _load(reference: RulebookReference) -> Rulebook:
    try:
        if reference.shipped:
            module = import_shipped(reference.module, dict(reference.sources))
        else:
            module = importlib.import_module(reference.module)
    except AssayError:
        raise
    except Exception as fault:
        raise _does_not_import(reference.functions, reference.module, fault) from fault
    return _rulebook_in(module, reference)


def _rulebook_in(module: ModuleType, reference: RulebookReference) -> Rulebook:
    """The module's `RULEBOOK`, the object asked for, or a rulebook made of its `CLASSES` and rules."""
    names = vars(module)
    attribute = reference.attribute or ("RULEBOOK" if "RULEBOOK" in names else None)
    if attribute is not None and attribute not in names:
        close = difflib.get_close_matches(attribute, [name for name in names if not name.startswith("_")], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(f'The rules in "{reference.functions}" hold no object named {attribute!r}.{hint}')
    value = names[attribute] if attribute else names.get("RULES", rules_of(list(names.values())))
    if isinstance(value, Rulebook):
        return value
    if not isinstance(value, list | tuple):
        raise InputError(
            f'"{reference.functions}" names a {type(value).__name__}, expected a Rulebook or a list of rules.'
        )
    if "CLASSES" not in names:
        raise InputError(
            f'The rules in "{reference.functions}" do not say which classes their votes stand for: add a line such as '
            'CLASSES = ("ham", "spam"), in the order of the votes 0, 1, ….'
        )
    return Rulebook(reference.functions, names["CLASSES"], value)


def _does_not_import(functions: str, module: str, fault: Exception) -> InputError:
    trace = fault.__traceback__
    where = ""
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).stem == module.rpartition(".")[2]:
            where = f" (line {trace.tb_lineno})"
        trace = trace.tb_next
    return InputError(f'The rules "{functions}" do not import: {type(fault).__name__}: {fault}{where}.')
