"""A user's code by reference: an importable `module:object`, or a file beside the pipelines file.

What travels to the workers is where the code is and, for a file, its bytes and those of the modules beside it that it
imports. The fingerprint is the content of exactly that code and of the files that it stands on, so that an edited model
runs again, one whose weights were replaced does too, and an untouched one does not. A file counts when the settings
name it, when the module opens it while it is imported, or when the code names it as a text; one that is opened later
without being known is refused with the line to write.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType

from assay.infra.errors import AssayError, InputError
from assay.infra.ingredients import note_code
from assay.infra.listening import Heard, is_of_the_system, listening, read_by, source_of
from assay.infra.own_code import kept_in
from assay.infra.own_files import (
    Standing,
    digest_of,
    files_in_texts,
    named_files,
    names_an_endpoint,
    shown,
    standing,
    version_of,
)
from assay.infra.settings import StandsOn
from assay.infra.shipped_modules import import_shipped, package_of
from assay.infra.syntax import tree_of

_CLIENTS = {
    "requests",
    "httpx",
    "urllib.request",
    "urllib3",
    "http.client",
    "aiohttp",
    "grpc",
    "websockets",
    "tritonclient",
}
NOTHING_ELSE = StandsOn()


@dataclass(frozen=True)
class CodeReference:
    """An object in someone's code, or (`attribute` empty) a module: picklable, hashable, equal when the code is.

    `written` is how the user named it. `module` is imported by that name, unless `shipped`: then it and its
    neighbours are made from `sources`. `home` is the folder that its modules lie in, `beside` that of pipelines.yaml.
    """

    written: str
    module: str
    attribute: str
    sources: tuple[tuple[str, bytes], ...]
    shipped: bool
    home: str = ""
    beside: str = "."
    files: Standing = ()
    """What the code reads besides: files by name, with the hash of their content."""
    version: str = ""
    """What stands for answers from elsewhere (an endpoint, a clock); empty where there are none."""

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the module's source, of every module of the same origin that it imports, and of its files."""
        state = hashlib.sha256(f"{self.module}:{self.attribute}".encode())
        for name, source in sorted(self.sources):
            state.update(f"\0{name}\0{len(source)}\0".encode() + source)
        for name, digest in self.files:
            state.update(f"\0file\0{name}\0{digest}".encode())
        if self.version:
            state.update(f"\0version\0{self.version}".encode())
        return state.hexdigest()

    @property
    def is_ours(self) -> bool:
        """Whether the code is a part of Assay, which needs no watching."""
        return not self.shipped and self.module.partition(".")[0] == "assay"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names under which Python knows the modules of this code, its own first."""
        package = f"{package_of(dict(self.sources), self.home)}." if self.shipped else ""
        others = sorted(name for name, _ in self.sources if name != self.module)
        return tuple(f"{package}{name}" for name in (self.module, *others))

    def load(self) -> object:
        """The object itself; each process makes it once."""
        return _load(self)

    @contextmanager
    def at_work(self, what: str) -> Iterator[None]:
        """Within the block the code is called: from its folder, unable to leave, and heard in what it reads.

        `what` it is (`model`, `classifier`) begins the sentence where it reads what its key does not know of.
        """
        if self.is_ours:
            yield
            return
        with kept_in(f'The {what} "{self.written}"', self.beside), listening() as heard:
            yield
        self._require_known(what, heard)

    @contextmanager
    def at_import(self) -> Iterator[None]:
        """Within the block the module is imported; what it reads is kept with the names of its modules."""
        if self.is_ours:
            yield
            return
        self._everything(Heard())  # from now on its modules are heard
        with kept_in(f'"{self.written}"', self.beside), listening() as heard:
            yield
        module = read_by(self.names[0])
        module.files |= heard.files
        module.hosts |= heard.hosts

    def _require_known(self, what: str, heard: Heard) -> None:
        """Raises where a file was opened, or a host asked, that could change and the key of the results would not."""
        heard = self._everything(heard)
        known = {digest for _, digest in self.files}
        stranger = next((path for path in _read_files(self, heard) if digest_of(path) not in known), None)
        if stranger is not None:
            name = shown(stranger, Path(self.beside))
            if name in dict(self.files):
                raise InputError(
                    f'{stranger}, which the {what} "{self.written}" reads, is not the file that the run began with: it '
                    "was changed meanwhile, or is another one on this machine; run again."
                )
            raise InputError(
                f'The {what} "{self.written}" opened {name}, and what is in it is not part of the key of its results: '
                f"write `files: [{name}]` beside it (or open the file when the module is imported), so that they are "
                "computed anew when the file changes."
            )
        if heard.hosts and not self.version:
            raise InputError(
                f'The {what} "{self.written}" asked {next(iter(heard.hosts))}, whose answers can change without its '
                "code: write `never_cached: true` beside it, or `version: …` with what stands for the answers."
            )

    def _everything(self, heard: Heard) -> Heard:
        """What a block heard and what the modules of this code read, in whatever thread."""
        every = Heard(dict(heard.files), dict(heard.hosts))
        for name in self.names:
            module = read_by(name, self.home)
            every.files |= module.files
            every.hosts |= module.hosts
        return every

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


def refer_to_code(written: str, beside: Path, stands_on: StandsOn = NOTHING_ELSE) -> CodeReference:
    """The reference behind `module:object` or `file.py:object`; paths count from the folder `beside`.

    Its module is imported on the way, so that the files which it opens are known.
    """
    place, _, attribute = written.rpartition(":")
    if not place or not attribute:
        raise InputError(f'"{written}" names no object: write module:object, or file.py:object.')
    return _refer(written, place, attribute, beside, stands_on)


def refer_to_module(written: str, place: str, beside: Path, stands_on: StandsOn = NOTHING_ELSE) -> CodeReference:
    """The reference to a whole module: `place` is its dotted name, or a file that counts from the folder `beside`."""
    return _refer(written, place, "", beside, stands_on)


def _refer(written: str, place: str, attribute: str, beside: Path, stands_on: StandsOn) -> CodeReference:
    if place.endswith(".py"):
        reference = _from_file(written, beside / place, attribute)
    else:
        reference = _from_module(written, place, attribute)
    reference = replace(reference, beside=str(beside.absolute()))
    return reference if reference.is_ours else _with_what_it_stands_on(reference, stands_on)


def _with_what_it_stands_on(reference: CodeReference, stands_on: StandsOn) -> CodeReference:
    """The reference with its files and its version; the module is imported to hear what it opens."""
    beside = Path(reference.beside)
    sources = [source for _, source in reference.sources]
    texts = files_in_texts(sources, [reference.beside, *([reference.home] if reference.home else [])])
    named = [*named_files(stands_on, reference.written, beside), *(one for one in texts if not _is_system(one))]
    _module(reference)
    heard = reference._everything(Heard())
    files = standing([*named, *_read_files(reference, heard)], beside)
    imports = {name for name, source in reference.sources for name in _imports(source, name, "")}
    asks = bool(heard.hosts) or (names_an_endpoint(sources) and not _CLIENTS.isdisjoint(imports))
    version = version_of(stands_on, reference.written, beside, _run(), asks)
    whole = replace(reference, files=files, version=version)
    note_code(whole)
    return whole


def _run() -> str:
    """The run that this happens in, if any."""
    from assay.infra.runs import current_run

    try:
        return current_run().id
    except LookupError:
        return ""


def _is_system(path: Path) -> bool:
    return is_of_the_system(str(path.resolve()))


def _read_files(reference: CodeReference, heard: Heard) -> Iterator[Path]:
    """Of the files that were opened, those that are somebody's data or code and not yet among the sources."""
    sources = {source for _, source in reference.sources}
    for name in heard.files:
        path = Path(source_of(name))
        at_home = bool(reference.home) and path.is_relative_to(reference.home)
        if not path.is_file() or (not at_home and is_of_the_system(str(path))) or path.suffix in (".so", ".pyc"):
            continue
        if path.suffix == ".py" and (not at_home or path.read_bytes() in sources):
            continue
        yield path


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
    return CodeReference(
        written, module, attribute, tuple(sorted(sources.items())), shipped=False, home=_home_of(top, written)
    )


def _home_of(top: str, written: str) -> str:
    """The folder of a package; none for a module that lies among others, which may be anybody's."""
    origin = _origin(top, written)
    return str(origin.parent) if origin is not None and origin.name == "__init__.py" else ""


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
    home = str(path.parent.absolute())
    return CodeReference(written, path.stem, attribute, tuple(sorted(sources.items())), shipped=True, home=home)


def _imports(source: bytes, path: str, package: str) -> Iterator[str]:
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


@lru_cache(maxsize=32)
def _load(reference: CodeReference) -> object:
    module = _module(reference)
    if not reference.attribute:
        return module
    found = inspect.getattr_static(module, reference.attribute, None)
    if found is None:
        close = difflib.get_close_matches(reference.attribute, [n for n in vars(module) if n[0] != "_"], n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(f'"{reference.written}" names an object that is not there.{hint}')
    return vars(module)[reference.attribute]


_imported: dict[str, tuple[str, dict[str, str]]] = {}
"""Per imported module the hash of its sources, and its files as they were then."""


def _module(reference: CodeReference) -> ModuleType:
    """The module, imported again where a long-lived process knows it with another source or with other files."""
    name, sources, files = reference.names[0], dict(reference.sources), dict(reference.files)
    source = hashlib.sha256(repr(reference.sources).encode()).hexdigest()
    before, known = _imported.get(name, (source, files))
    if before != source or any(known[one] != files[one] for one in known.keys() & files.keys()):
        for one in reference.names:
            sys.modules.pop(one, None)
            read_by(one).files.clear()
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
        said = f"{type(fault).__name__}: {fault}{reference.line_of(fault)}"
        raise InputError(f'"{reference.written}" does not import: {said}.') from fault
    _imported[name] = source, known | files
    return module
