"""What somebody's code is made of: the sources of its modules, found without running it and importable from their
bytes on another machine, and the files and versions that it stands on.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import accumulate
from pathlib import Path
from threading import Lock
from types import ModuleType

from assay.infra.errors import InputError
from assay.infra.settings import StandsOn, VersionCommand
from assay.infra.user_code.supervision import is_of_the_system

_ONE_AT_A_TIME = Lock()
FileDigests = tuple[tuple[str, str], ...]
"""Files as a person names them, each with the hash of its content, sorted."""


def tree_of(source: str | bytes, file: str = "<unknown>") -> ast.Module:
    """The syntax tree of some Python source.

    >>> [type(node).__name__ for node in tree_of("import math").body]
    ['Import']
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source, file)


def sources_of_module(module: str, written: str) -> dict[str, bytes]:
    """The source of an importable module and of every module of its package that it imports, by name.

    Of a module of ours, such as an embedded rulebook, what it imports of `assay.infra` is left out: how errors are
    worded changes no result.
    """
    top = module.partition(".")[0]

    def find(name: str) -> Path | None:
        is_left_out = name.partition(".")[0] != top or f"{name}.".startswith("assay.infra.")
        return None if is_left_out else _source_file(name)

    sources = _sources_reached([module], find)
    if not sources:
        raise InputError(f'There is no module "{module}" to take "{written}" from: is it installed?')
    return sources


def _sources_reached(names: Iterable[str], find: Callable[[str], Path | None]) -> dict[str, bytes]:
    """The source of modules and of every one that they import, directly or not, as far as its file is found."""
    sources, waiting = dict[str, bytes](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in sources and (path := find(name)) is not None:
            sources[name] = path.read_bytes()
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            waiting.extend(imported_by(sources[name], str(path), package))
    return sources


def folder_of_package(module: str) -> str:
    """The folder of the package that a module is in; none for one that lies among others, which may be anybody's."""
    origin = _source_file(module.partition(".")[0])
    return str(origin.parent) if origin is not None and origin.name == "__init__.py" else ""


def modules_elsewhere(sources: Mapping[str, bytes]) -> FileDigests:
    """The modules that these import, directly or not, and that are a team's own, found in `PYTHONPATH` or an editable
    installation, not among installed packages: each with the hash of its source.
    """

    def find(name: str) -> Path | None:
        path = None if name in sources or name.partition(".")[0] == "assay" else _source_file(name)
        return None if path is None or is_of_the_system(str(path)) else path

    names = (name for inside, source in sources.items() for name in imported_by(source, inside, ""))
    reached = _sources_reached(names, find)
    return tuple((name, hashlib.sha256(reached[name]).hexdigest()) for name in sorted(reached))


def _source_file(module: str) -> Path | None:
    """The source of an importable module, found without importing it; None where there is none that is Python's."""
    top, _, inner = module.partition(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a module that was made by hand
        return None
    if spec is None or not inner:
        return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None
    return next(filter(None, (file_below(folder, inner) for folder in spec.submodule_search_locations or ())), None)


def file_below(folder: str | Path, module: str) -> Path | None:
    """The file of a module that lies in a folder; of a package and a file of one name the package, as Python takes."""
    place = Path(folder, *module.split("."))
    candidates = (place / "__init__.py", place.with_name(f"{place.name}.py"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def sources_of_file(path: Path, written: str) -> dict[str, bytes]:
    """The source of a file and of every module beside it that it imports, by name."""
    if not path.is_file():
        raise InputError(f'There is no file "{path}" to take "{written}" from; paths start beside pipelines.yaml.')
    return _sources_reached([path.stem], lambda name: file_below(path.parent, name))


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
    return accumulate(module.split("."), lambda package, name: f"{package}.{name}")


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
        spec, names = module.__spec__, vars(module)
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
    if not any(isinstance(finder, _Parcel) and finder.package == parcel.package for finder in sys.meta_path):
        sys.meta_path.append(parcel)
    return importlib.import_module(f"{parcel.package}.{name}")


_COMMAND_SECONDS = 60
_ENDPOINT = re.compile(r"(https?|grpc|wss?)://\S+$")
_LONGEST_NAME = 1024


def digest_of(path: str | Path) -> str:
    """The hash of a file's content; asked again, the file is read again only if it looks touched."""
    state = os.stat(path)
    return _digest(str(path), state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)


@lru_cache(maxsize=4096)
def _digest(path: str, *_state: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_digests(paths: Iterable[Path], beside: Path) -> FileDigests:
    """The files, each named from the folder `beside` if it lies below it and by its name alone if not."""
    return tuple(sorted({(shown_path(path, beside), digest_of(path)) for path in paths}))


def shown_path(path: Path, beside: Path) -> str:
    """A path as somebody in the folder `beside` would write it.

    >>> shown_path(Path("/team/models/m.joblib"), Path("/team")), shown_path(Path("/mnt/m.joblib"), Path("/team"))
    ('models/m.joblib', '/mnt/m.joblib')
    """
    there = Path(os.path.abspath(path))
    root = Path(os.path.abspath(beside))
    return str(there.relative_to(root)) if there.is_relative_to(root) else str(there)


def named_files(stands_on: StandsOn, written: str, beside: Path) -> list[Path]:
    """The files that the settings name, those in named folders included."""
    paths: list[Path] = []
    for name in stands_on.files:
        path = beside / name
        if path.is_dir():
            paths += sorted(file for file in path.rglob("*") if file.is_file())
        elif path.is_file():
            paths.append(path)
        else:
            raise InputError(
                f'There is no file "{path}", which `files` says that "{written}" stands on; paths start beside '
                "pipelines.yaml."
            )
    return paths


def files_in_texts(sources: Iterable[bytes], folders: Iterable[str]) -> list[Path]:
    """The files that a source names as a whole text, from one of the folders: libraries open them unheard."""
    texts = {text for source in sources for text in _texts(source)}
    return [path for folder in dict.fromkeys(folders) for text in sorted(texts) if (path := _file(folder, text))]


def names_an_endpoint(sources: Iterable[bytes]) -> bool:
    """Whether a source names an address as a text of its own; a rule that only looks for `https://` in texts does not.

    >>> names_an_endpoint([b"URL = 'http://10.0.0.7:8000/predict'"]), names_an_endpoint([b"LINK = 'http://'"])
    (True, False)
    """
    return any(_ENDPOINT.match(text) for source in sources for text in _texts(source))


def version_of(stands_on: StandsOn, written: str, beside: Path, run: str, asks: bool) -> str:
    """What enters the key for answers that come from elsewhere: the version, or the run that `asks` anew."""
    if stands_on.never_cached or (asks and stands_on.version is None):
        return f"asked by run {run}"
    if isinstance(stands_on.version, VersionCommand):
        return f"version {_output_of(stands_on.version.command, written, str(beside), run)}"
    return "" if stands_on.version is None else f"version {stands_on.version}"


@lru_cache(maxsize=64)
def _output_of(command: str, written: str, folder: str, _run: str) -> str:
    """What the command prints, asked once in a run."""
    about = f'The `version` of "{written}" ({command})'
    try:
        words = shlex.split(command)
        answer = subprocess.run(
            words, cwd=folder, capture_output=True, timeout=_COMMAND_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError) as fault:
        raise InputError(f"{about} cannot be run: {fault}.") from fault
    except subprocess.TimeoutExpired as fault:
        raise InputError(f"{about} gave no answer within {_COMMAND_SECONDS} s.") from fault
    output = answer.stdout.decode(errors="replace").strip()
    if answer.returncode != 0 or not output:
        words = answer.stderr.decode(errors="replace").strip().splitlines()
        why = f"ended with code {answer.returncode}" if answer.returncode else "printed nothing"
        raise InputError(f"{about} {why}{f': {words[-1]}' if words else ''}; it should print the version that answers.")
    return output


def _texts(source: bytes) -> Iterator[str]:
    """The texts in a source that are no docstrings and could be names."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if 0 < len(text) <= _LONGEST_NAME and text.isprintable():
                yield text


def _file(folder: str, text: str) -> Path | None:
    path = Path(folder) / text
    try:
        return path if path.is_file() and path.suffix != ".py" else None
    except (OSError, ValueError):
        return None
