"""The team's own files that a run stands on (rules, models, weights, word lists), kept in the store by their content.

They are overwritten from night to night; `assay blame` puts those of an earlier night in place again.
`ingredients/SHA256` holds the bytes of files that are small enough, and the run's record names all of them.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.infra.listening import is_of_the_system

if TYPE_CHECKING:
    from assay.infra.code_reference import CodeReference
    from assay.infra.manifests import RunRecord
    from assay.infra.store import Store

PLACE = "ingredients"
MOST_BYTES = 64 << 20
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

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Ingredient:
        """What `to_json` described."""
        return cls(**value)


class Ingredients:
    """Those of one run, noted as they are read."""

    def __init__(self, store: Store, record: RunRecord, most: int, save: Callable[[], None]) -> None:
        self._store, self._record, self._most, self._save = store, record, most, save
        self._home: Path | None = None
        self._begun = False
        self._noted: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def begin(self) -> None:
        """The run is a night, whose record is written: plans, and runs that stand aside, note nothing."""
        self._begun = True

    def count_from(self, home: Path) -> None:
        """From now on files are noted, named from this folder."""
        self._home = home.absolute() if self._begun else None

    def note(self, path: Path, of: str = "", content: bytes | None = None) -> None:
        """Note a file, once; its content too, where that is in hand already."""
        path = Path(os.path.abspath(path))
        if self._home is None or not path.is_file() or is_of_the_system(str(path)) or _is_ours(path):
            return
        inside = path.is_relative_to(self._home)
        name = str(path.relative_to(self._home)) if inside else str(path)
        if self._is_new(name, of):
            size = path.stat().st_size if content is None else len(content)
            keeps = inside and size <= self._most
            sha256 = _digest(path, content)
            self._write_down(Ingredient(name, sha256, size, keeps, "file" if content is None else "code", of))
            place = f"{PLACE}/{sha256}"
            # The record names it first, so that no clean-up takes what is being written.
            if keeps and not self._store.folder.exists(place):
                self._store.folder.write(place, path.read_bytes() if content is None else content)

    def note_elsewhere(self, name: str, of: str, version: str) -> None:
        """Note what has no file beside pipelines.yaml, and what stands for its content."""
        if self._home is not None and self._is_new(name, of):
            sha256 = hashlib.sha256(version.encode()).hexdigest()
            self._write_down(Ingredient(name, sha256, 0, False, "elsewhere", of))

    def _is_new(self, name: str, of: str) -> bool:
        with self._lock:
            new = (name, of) not in self._noted
            self._noted.add((name, of))
            return new

    def _write_down(self, ingredient: Ingredient) -> None:
        with self._lock:
            self._record.ingredients.append(ingredient.to_json())
            self._record.ingredients.sort(key=lambda value: (value["of"], value["name"]))  # branches read as they come
        self._save()


_current: ContextVar[Ingredients | None] = ContextVar("assay_ingredients", default=None)


def note_file(path: Path) -> None:
    """Note a file that the settings name, in the run that surrounds the caller, if any."""
    if (ingredients := _current.get()) is not None:
        ingredients.note(path)


def note_elsewhere(name: str, of: str, version: str) -> None:
    """Note a service in the run that surrounds the caller, if any, with what stands for its answers."""
    if (ingredients := _current.get()) is not None:
        ingredients.note_elsewhere(name, of, version)


def note_code(reference: CodeReference) -> None:
    """Note somebody's code and what it stands on, in the run that surrounds the caller, if any."""
    if (ingredients := _current.get()) is not None:
        for module, source in reference.sources if reference.shipped else ():
            ingredients.note(_file_of(Path(reference.home), module), reference.written, source)
        for name, _ in reference.files:
            ingredients.note(Path(reference.beside) / name, reference.written)
        if not reference.shipped:
            sources = repr(reference.sources)
            ingredients.note_elsewhere(f"module {reference.module}", reference.written, sources)
        if reference.version:
            ingredients.note_elsewhere(f"answers of {reference.written}", reference.written, reference.version)


@contextmanager
def noting(ingredients: Ingredients) -> Iterator[None]:
    """Within the block, what is read is noted with these."""
    token = _current.set(ingredients)
    try:
        yield
    finally:
        _current.reset(token)


def _file_of(home: Path, module: str) -> Path:
    """The file of a module that lies in a folder."""
    place = home / module.replace(".", "/")
    package = place / "__init__.py"
    return package if package.is_file() else place.with_name(f"{place.name}.py")


def _digest(path: Path, content: bytes | None) -> str:
    from assay.infra.own_files import digest_of

    return digest_of(path) if content is None else hashlib.sha256(content).hexdigest()


def _is_ours(path: Path) -> bool:
    """Whether a file is a part of Assay, run from its repository."""
    root = Path(__file__).resolve().parent.parent
    return any(path.resolve().is_relative_to(root / storey) for storey in ("flows", "tasks", "data", "infra"))
