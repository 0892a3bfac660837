"""A user's code and files by reference: what travels to the workers, what of it is in the keys of its results, and
which of the team's own files a run stood on.

What travels is where the code is and, for a file, its bytes and those of the modules beside it that it imports. The
fingerprint is the content of exactly that code and of the files that it stands on, so that an edited model runs
again, one whose weights were replaced does too, and an untouched one does not. A file that the code opens without its
being known is refused with the line to write. `ingredients/SHA256` in the store holds the bytes of files that are
small enough, and the run's record names all of them; `assay blame` puts those of an earlier night in place again.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import inspect
import os
import signal
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Literal, cast

from assay.infra.errors import InputError, faults_in_words, suggestion
from assay.infra.settings import StandsOn
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.folders import require_regular
from assay.infra.storage.network import no_answer_reason
from assay.infra.storage.store import INGREDIENTS, Store
from assay.infra.user_code.sources import (
    FileDigests,
    digest_of,
    file_below,
    file_digests,
    files_in_texts,
    folder_of_package,
    import_shipped,
    imported_by,
    modules_elsewhere,
    named_files,
    names_an_endpoint,
    package_of,
    shown_path,
    sources_of_file,
    sources_of_module,
    version_of,
)
from assay.infra.user_code.supervision import (
    Accesses,
    accesses_by,
    import_and_end,
    is_of_the_system,
    printing_safely,
    recorded_accesses,
    source_of,
    supervised,
)

MOST_KEPT_BYTES = 64 << 20
"""Larger files are named in the record and not kept, unless the settings say otherwise (`keep_mib`)."""
What = Literal["code", "file", "elsewhere"]


@dataclass(frozen=True)
class Ingredient:
    """One file that a run stood on: its name from the folder of pipelines.yaml, and whether the store has its bytes.

    `of` is what it belongs to as the settings write it (`model.py:predict`); empty where they name the file itself.
    What comes from `elsewhere` (an installed module, a service) has no file here.
    """

    name: str
    sha256: str
    bytes: int
    kept: bool
    what: What = "file"
    of: str = ""


class Ingredients:
    """Those of one run, noted as they are read."""

    def __init__(self, store: Store, record: RunRecord, most: int, save: Callable[[], None]) -> None:
        self._store, self._record, self._most, self._save = store, record, most, save
        self._home: Path | None = None
        self._noted: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @property
    def run_id(self) -> str:
        """The run that they are noted for."""
        return self._record.id

    def count_from(self, home: Path) -> None:
        """From now on files are noted, named from this folder; by runs that are nights: plans, and runs that stand
        aside, note nothing."""
        self._home = home.absolute()

    def note(self, path: Path, of: str = "", content: bytes | None = None) -> None:
        """Note a file, once; its content too, where that is in hand already."""
        path = Path(os.path.abspath(path))
        if self._home is None or not path.is_file() or is_of_the_system(str(path)):
            return
        inside = path.is_relative_to(self._home)
        name = str(path.relative_to(self._home)) if inside else str(path)
        if self._is_new(name, of):
            size = path.stat().st_size if content is None else len(content)
            keeps = inside and size <= self._most
            sha256 = digest_of(path) if content is None else hashlib.sha256(content).hexdigest()
            self._write_down(Ingredient(name, sha256, size, keeps, "file" if content is None else "code", of))
            place = f"{INGREDIENTS}/{sha256}"
            # The record names it first, so that no clean-up takes what is being written.
            if keeps and not self._store.folder.exists(place):
                self._store.folder.write(place, path.read_bytes() if content is None else content)

    def note_elsewhere(self, name: str, of: str, version: str) -> None:
        """Note what has no file beside pipelines.yaml, and what stands for its content."""
        if self._home is not None and self._is_new(name, of):
            self._write_down(Ingredient(name, hashlib.sha256(version.encode()).hexdigest(), 0, False, "elsewhere", of))

    def _is_new(self, name: str, of: str) -> bool:
        with self._lock:
            new = (name, of) not in self._noted
            self._noted.add((name, of))
            return new

    def _write_down(self, ingredient: Ingredient) -> None:
        with self._lock:
            self._record.ingredients.append(asdict(ingredient))
            self._record.ingredients.sort(key=lambda value: (value["of"], value["name"]))  # branches read as they come
        self._save()


_NOBODYS = Ingredients(cast(Store, None), RunRecord("", "", "", 0, "", 0), 0, lambda: None)
_current: ContextVar[Ingredients] = ContextVar("assay_ingredients", default=_NOBODYS)
"""Those of the run that surrounds the caller; where there is none, nothing is noted."""


def note_elsewhere(name: str, of: str, version: str) -> None:
    """Note a service in the run that surrounds the caller, if any, with what stands for its answers."""
    _current.get().note_elsewhere(name, of, version)


def note_code(reference: CodeReference) -> None:
    """Note somebody's code and what it stands on, in the run that surrounds the caller, if any."""
    ingredients, of = _current.get(), reference.written
    for module, source in reference.sources if reference.shipped else ():
        if file := file_below(reference.home, module):
            ingredients.note(file, of, source)
    for name, _ in reference.files:
        ingredients.note(Path(reference.beside) / name, of)
    if not reference.shipped:
        ingredients.note_elsewhere(f"module {reference.module}", of, repr(reference.sources))
    for module, digest in reference.elsewhere:
        ingredients.note_elsewhere(f"module {module}", of, digest)
    if reference.version:
        ingredients.note_elsewhere(f"answers of {of}", of, reference.version)


@contextmanager
def noting(ingredients: Ingredients) -> Iterator[None]:
    """Within the block, what is read is noted with these."""
    token = _current.set(ingredients)
    try:
        yield
    finally:
        _current.reset(token)


MOST_BYTES = 16 << 30
"""What is read whole into memory, such as weights and word lists, has at most so many bytes."""


def read_given_file(path: Path, called: str = "", most: int = MOST_BYTES) -> bytes:
    """The bytes of an ordinary file; raises `OSError` where there is none, `InputError` where it must not be read."""
    require_regular(path, called)
    size = path.stat().st_size
    if size > most:
        raise InputError(f"{called or path} has {size:,} bytes, and at most {most:,} are read; give a smaller file.")
    with path.open("rb") as file:
        content = file.read(size + 1)
    if len(content) > size:  # some files of the kernel say that they are empty, and never end
        raise InputError(f"{called or path} has more bytes than its size says; copy it, and name the copy.")
    _current.get().note(path)
    return content


def content_at(written: str | Path, beside: Path, what: str) -> bytes:
    """The content of the file at a path that starts beside pipelines.yaml; `what` is how a sentence calls it."""
    path = beside / written
    try:
        return read_given_file(path, what)
    except FileNotFoundError:
        raise InputError(f'There is no file "{path}"; paths start beside pipelines.yaml.') from None
    except OSError as fault:
        raise InputError(f"{what} {path} cannot be read ({fault.strerror}).") from fault


def read_given_text(path: Path, called: str) -> str:
    """The text in an ordinary file, gzipped or not; raises `InputError` where it is not there, or no UTF-8 text."""
    try:
        content = read_given_file(path, called)
        return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise InputError(f"{called} {path} cannot be read as UTF-8 text ({why}); look at the path.") from fault


@lru_cache(maxsize=32)
def load_object(reference: CodeReference) -> object:
    """The object that a reference is to, made once per process."""
    module = import_module_of(reference)
    if not reference.attribute:
        return module
    target = inspect.getattr_static(module, reference.attribute, None)
    if target is None:
        meant = suggestion(reference.attribute, [name for name in vars(module) if name[0] != "_"])
        raise InputError(f'"{reference.written}" names an object that is not there; {meant}')
    return vars(module)[reference.attribute]


_imported: dict[str, tuple[str, dict[str, str]]] = {}
"""Per imported module the hash of its sources, and its files and the team's modules as they were then."""


def import_module_of(reference: CodeReference) -> ModuleType:
    """The module, imported again where a long-lived process knows it with another source or with other files."""
    name, sources, elsewhere = reference.names[0], dict(reference.sources), dict(reference.elsewhere)
    files = dict(reference.files) | elsewhere
    source = hashlib.sha256(repr(reference.sources).encode()).hexdigest()
    before, known = _imported.get(name, (source, files))
    edited = {file for file in known.keys() & files.keys() if known[file] != files[file]}
    if before != source or edited:
        for module_name in (*reference.names, *(elsewhere if edited & elsewhere.keys() else ())):
            sys.modules.pop(module_name, None)
            accesses_by(module_name).files.clear()
        known = {}
    written = reference.written
    with (
        faults_in_words(lambda fault: f'"{written}" does not import: {reference.raised(fault)}.'),
        reference.at_import(),
    ):
        if reference.shipped:
            module = import_shipped(reference.module, sources, reference.home)
        else:
            module = importlib.import_module(reference.module)
    _imported[name] = source, known | files
    return module


class UnknownSourceError(InputError):
    """Code of a user's read a file, or asked a host, that the key of its results does not know of."""


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
    files: FileDigests = ()
    """What the code reads besides: files by name, with the hash of their content."""
    elsewhere: FileDigests = ()
    """The team's own modules that it imports and that do not travel with it, with the hash of their source."""
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
        for name, digest in self.elsewhere:
            state.update(f"\0module\0{name}\0{digest}".encode())
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
        return load_object(self)

    @contextmanager
    def at_work(self, what: str) -> Iterator[None]:
        """Within the block the code is called: from its folder, unable to leave, and heard in what it reads.

        `what` it is (`model`, `classifier`) begins the sentence where it reads what its key does not know of.
        """
        if self.is_ours:
            yield
            return
        with supervised(f'The {what} "{self.written}"', self.beside), recorded_accesses() as heard:
            try:
                yield
            except Exception as fault:
                if why := no_answer_reason(fault):
                    host = next(reversed(self.everything_heard(heard).hosts), "a service")
                    raise InputError(
                        f'The {what} "{self.written}" asked {host}, which did not answer ({why}): start '
                        "it, or correct the address, and run again; what is finished is kept."
                    ) from fault
                raise
        self._require_known(what, heard)

    @property
    def asks_elsewhere(self) -> bool:
        """Whether what answers is not this code: an endpoint, or whatever else `version` stands for."""
        return bool(self.version)

    @contextmanager
    def at_import(self) -> Iterator[None]:
        """Within the block the module is imported; what it reads is kept with the names of its modules."""
        if self.is_ours:
            yield
            return
        self.everything_heard(Accesses())  # from now on its modules are heard
        with supervised(f'"{self.written}"', self.beside), recorded_accesses() as heard, printing_safely():
            yield
        module = accesses_by(self.names[0])
        module.files |= heard.files
        module.hosts |= heard.hosts

    def _require_known(self, what: str, heard: Accesses) -> None:
        """Raises where a file was opened, or a host asked, that could change and the key of the results would not."""
        heard = self.everything_heard(heard)
        known = {digest for _, digest in self.files}
        stranger = next((path for path in self.read_files(heard) if digest_of(path) not in known), None)
        if stranger is not None:
            name = shown_path(stranger, Path(self.beside))
            if name in dict(self.files):
                raise InputError(
                    f'{stranger}, which the {what} "{self.written}" reads, is not the file that the run began with: it '
                    "was changed meanwhile, or is another one on this machine; run again."
                )
            raise UnknownSourceError(
                f'The {what} "{self.written}" opened {name}, and what is in it is not part of the key of its results: '
                f"write `files: [{name}]` beside it (or open the file when the module is imported), so that they are "
                "computed anew when the file changes."
            )
        if heard.hosts and not self.version:
            raise UnknownSourceError(
                f'The {what} "{self.written}" asked {next(iter(heard.hosts))}, whose answers can change without its '
                "code: write `never_cached: true` beside it, or `version: …` with what stands for the answers."
            )

    def everything_heard(self, heard: Accesses) -> Accesses:
        """What a block heard and what the modules of this code read, in whatever thread."""
        every = Accesses(dict(heard.files), dict(heard.hosts))
        for name in (*self.names, *dict(self.elsewhere)):
            module = accesses_by(name, self.home)
            every.files |= module.files
            every.hosts |= module.hosts
        return every

    def read_files(self, heard: Accesses) -> Iterator[Path]:
        """Of the files that were opened, those that are somebody's data or code and not yet among the sources."""
        sources = {source for _, source in self.sources}
        for name in heard.files:
            path = Path(source_of(name))
            at_home = bool(self.home) and path.is_relative_to(self.home)
            if not path.is_file() or (not at_home and is_of_the_system(str(path))) or path.suffix in (".so", ".pyc"):
                continue
            if path.suffix == ".py" and (not at_home or path.read_bytes() in sources):
                continue
            yield path

    def raised(self, fault: BaseException, masked: bool = False) -> str:
        """What was raised, and in which line; `masked` without its words, which may quote the data it was given."""
        words = "" if masked or not str(fault) else f": {fault}"
        return f"{type(fault).__name__}{words}{self.line_of(fault)}"

    def line_of(self, fault: BaseException) -> str:
        """` (line 12)` for an error raised in this code, or nothing."""
        where = ""
        for frame, line in traceback.walk_tb(fault.__traceback__):
            if Path(frame.f_code.co_filename).stem == self.module.rpartition(".")[2]:
                where = f" (line {line})"
        return where


_CLIENTS = {
    *("requests", "httpx", "urllib.request", "urllib3", "http.client", "aiohttp"),
    *("grpc", "websockets", "tritonclient"),
}
NOTHING_ELSE = StandsOn()


def refer_to_code(
    written: str, beside: Path, stands_on: StandsOn = NOTHING_ELSE, on_trial: bool = False
) -> CodeReference:
    """The reference behind `module:object` or `file.py:object`; paths count from the folder `beside`.

    Its module is imported on the way, so that the files which it opens are known; `on_trial`, first by a copy of this
    process, which can be ended.
    """
    place, _, attribute = written.rpartition(":")
    if not place or not attribute:
        raise InputError(f'"{written}" names no object: write module:object, or file.py:object.')
    return refer_to_module(written, place, beside, stands_on, attribute, on_trial)


def refer_to_module(
    written: str,
    place: str,
    beside: Path,
    stands_on: StandsOn = NOTHING_ELSE,
    attribute: str = "",
    on_trial: bool = False,
) -> CodeReference:
    """The reference to a whole module, or to an object in it: `place` is its dotted name, or a file that counts from
    the folder `beside`."""
    if place.endswith(".py"):
        path = beside / place
        sources, module, home = sources_of_file(path, written), path.stem, str(path.parent.absolute())
    else:
        sources, module, home = sources_of_module(place, written), place, folder_of_package(place)
    shipped, content = place.endswith(".py"), tuple(sorted(sources.items()))
    reference = CodeReference(written, module, attribute, content, shipped, home, str(beside.absolute()))
    if on_trial and not reference.is_ours:
        _try_import(reference)
    return reference if reference.is_ours else _with_dependencies(reference, stands_on)


IMPORT_SECONDS = 60.0
"""So long may the import of a plug-in take."""


def _try_import(reference: CodeReference) -> None:
    """Nothing, or the sentence for a module whose import crashes the interpreter, or has no end.

    A copy of this process imports it first, where one can be made that is whole: on Linux, from a single thread.
    """
    known = sys.modules.get(reference.names[0]) is not None and reference.names[0] in _imported
    if known or sys.platform != "linux" or threading.active_count() > 1:
        return
    child = os.fork()
    if not child:
        import_and_end(lambda: import_module_of(reference))
    began = time.monotonic()
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() - began > IMPORT_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise InputError(f'"{reference.written}" has not been imported within {IMPORT_SECONDS:g} s: it has no end.')
        time.sleep(0.01)
    code = os.waitstatus_to_exitcode(ended[1])
    if code:
        how = f"ends the process (exit {code})" if code > 0 else f"crashes Python ({signal.Signals(-code).name})"
        raise InputError(f'"{reference.written}" {how} when it is imported: correct it, or leave it out.')


def _with_dependencies(reference: CodeReference, stands_on: StandsOn) -> CodeReference:
    """The reference with its files and its version; the module is imported to hear what it opens."""
    beside = Path(reference.beside)
    sources = [source for _, source in reference.sources]
    folders = [reference.beside, *([reference.home] if reference.home else [])]
    texts = [path for path in files_in_texts(sources, folders) if not is_of_the_system(str(path.resolve()))]
    named = [*named_files(stands_on, reference.written, beside), *texts]
    import_module_of(reference)
    heard = reference.everything_heard(Accesses())
    files = file_digests([*named, *reference.read_files(heard)], beside)
    imports = {name for name, source in reference.sources for name in imported_by(source, name, "")}
    asks = bool(heard.hosts) or (names_an_endpoint(sources) and not _CLIENTS.isdisjoint(imports))
    version = version_of(stands_on, reference.written, beside, _current.get().run_id, asks)
    whole = replace(reference, files=files, elsewhere=modules_elsewhere(dict(reference.sources)), version=version)
    note_code(whole)
    return whole
