"""The catalogue of public data sets and word vectors: what each is, where its files come from, and how they get
here whole and checked by hash.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib
import importlib.util
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from assay.data import catalogue_files
from assay.infra.errors import InputError, suggestion
from assay.infra.settings import Settings
from assay.infra.storage.folders import contained

MIRROR = "ASSAY_MIRROR"
"""The environment variable that names a local mirror: a folder with one folder per data set."""

CACHE = "ASSAY_DATA"
"""The environment variable that names the folder for downloads, in place of the user's cache folder."""


class CatalogFile(Settings):
    """One file of a data set: its name, what its bytes hash to, and where they can be had unchanged."""

    name: str
    """The file's path in the data set's folder."""
    bytes: int
    """Its size."""
    sha256: str
    """The hash of its bytes."""
    url: str | None = None
    """Where the same content lies, for good; None where only a mirror has it."""
    unpacked_sha256: str | None = None
    """For `.gz` files whose original is not packed: the hash of the content, which is what `url` gives."""
    columns: tuple[str, ...] = ()
    """What is in it."""


class CatalogEntry(Settings):
    """A public data set, or a set of word vectors, with everything a data card needs."""

    title: str
    """What it is, in one line."""
    creator: str
    """Who made it, and the paper to cite."""
    source: str
    """Where it came from, to the commit."""
    licence: str
    """What its licence says, or that none is stated."""
    page: str | None = None
    """The address of a page where people find the original, where files are not fetched from there."""
    bring: str | None = None
    """How a user who has the original arranges it and names it in pipelines.yaml, as one clause."""
    used_for: str
    """What Assay uses it for."""
    folder: str | None = None
    """Its folder in a mirror."""
    embedded: str | None = None
    """The embedded data set that stands in for it or is it."""
    loader: str | None = None
    """The function that makes a table of samples of its files, as `module:function`."""
    holds: Literal["samples", "votes"] = "samples"
    """Whether the loader's table is samples for rules to vote on, or has the votes already (its int8 columns)."""
    warning: str | None = None
    """What to mind before showing any of it."""
    masked: bool = False
    """Whether reports and errors mask every word of its texts, unless a pipeline says otherwise."""
    files: tuple[CatalogFile, ...] = ()
    """The files, where they are known by hash."""
    expects: tuple[str, ...] = ()
    """The files that the loader looks for where they are the user's to bring (no hash is known)."""


@dataclass(frozen=True)
class LocatedDataset:
    """A catalogue data set whose files lie here and have been checked."""

    name: str
    entry: CatalogEntry
    folder: Path

    @functools.cached_property
    def fingerprint(self) -> str:
        """The hash of the files' content and of the loader's source."""
        digest = hashlib.sha256(_loader_source(self.entry))
        for name in (*(file.name for file in self.entry.files), *self.entry.expects):
            path = self.folder / name
            if path.exists():
                digest.update(f"{name}\0{_sha256(path)}\n".encode())
        return digest.hexdigest()

    def load(self) -> pa.Table:
        """The samples: `id`, `gold` and features; its schema's metadata may name the classes."""
        if self.entry.loader is None:
            raise InputError(f"{self.name} has no loader for samples; its files lie in {self.folder}.")
        module, _, function = self.entry.loader.partition(":")
        table: pa.Table = getattr(importlib.import_module(module), function)(self.folder)
        return table


@functools.cache
def catalog() -> Mapping[str, CatalogEntry]:
    """All entries by name, in the order of the file."""
    from ruamel.yaml import YAML

    text = resources.files("assay.data").joinpath("catalog.yaml").read_text(encoding="utf-8")
    parsed: dict[str, Any] = YAML(typ="safe").load(text)
    return {name: CatalogEntry.model_validate(entry) for name, entry in parsed["datasets"].items()}


def entry_of(name: str) -> CatalogEntry:
    """The entry of that name, or the sentence that says which names come close."""
    entries = catalog()
    if name in entries:
        return entries[name]
    raise InputError(f"There is no data set {name!r} in the catalogue; {suggestion(name, entries)}")


def is_votes(name: str | None) -> bool:
    """Whether a data set brings its votes with it; False of what is not in the catalogue.

    >>> is_votes("weather-crowd"), is_votes("youtube-spam"), is_votes("sample/digits"), is_votes(None)
    (True, False, False, False)
    """
    entry = None if name is None else catalog().get(name)
    return entry is not None and entry.holds == "votes"


def is_masked(name: str | None) -> bool:
    """Whether no word of a data set may be shown; False of what is not in the catalogue.

    >>> is_masked("hatexplain"), is_masked("emotion"), is_masked(None)
    (True, False, False)
    """
    entry = None if name is None else catalog().get(name)
    return entry is not None and entry.masked


def data_folder() -> Path:
    """The folder that downloads go to: `ASSAY_DATA`, else the user's cache."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    return Path(os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"), "assay", "data")


def folders_of(name: str, entry: CatalogEntry) -> list[Path]:
    """The folders that a data set may lie in: that in the mirror, where there is one, and last that of downloads."""
    mirror = os.environ.get(MIRROR)
    places = [Path(mirror), data_folder()] if mirror else [data_folder()]
    return [place / (entry.folder or name) for place in places]


def filled_folder(name: str, entry: CatalogEntry) -> Path | None:
    """The first of these folders that has all files of the data set; None where none has, or it has no files."""
    wanted = [file.name for file in entry.files] or list(entry.expects[:1])
    filled = (folder for folder in folders_of(name, entry) if all((folder / file).exists() for file in wanted))
    return next(filled, None) if wanted else None


def located(name: str) -> LocatedDataset:
    """A data set in the mirror, or in the folder that `assay data get` filled; every file is checked by its hash."""
    entry = entry_of(name)
    if not entry.files and not entry.expects:
        raise InputError(nothing_to_get(name, entry))
    folder = filled_folder(name, entry)
    if folder is not None:
        for file in entry.files:
            if not is_right(file, path := folder / file.name):
                raise InputError(
                    f"{path} is not the {file.name} that the catalogue knows of {name} (its sha256 differs); "
                    f"delete it and run `assay data get {name}`."
                )
        return LocatedDataset(name, entry, folder)
    folders = folders_of(name, entry)
    looked = " or ".join(map(str, folders))
    alone = (file for file in entry.files if file.url is None)
    if missing := next((file for file in alone if not any((place / file.name).exists() for place in folders)), None):
        raise InputError(
            f"The data set {name} is not here (looked in {looked}). {to_bring(name, entry, missing, folders[-1])}"
        )
    if entry.files:
        raise InputError(f"The data set {name} is not here (looked in {looked}); run `assay data get {name}` first.")
    raise InputError(
        f"The data set {name} is not here; put {', '.join(entry.expects)} into {folders[-1]} ({entry.source})."
    )


def to_bring(name: str, entry: CatalogEntry, file: CatalogFile, folder: Path) -> str:
    """Where a file without an address comes from, under which licence, and the ways to have it here."""
    origin = f"the original is at {entry.page}" if entry.page else f"it came from {entry.source}"
    own = f"{entry.bring[:1].upper()}{entry.bring[1:]}; or " if entry.bring else ""
    return (
        f"{file.name} of {name} cannot be fetched, no address has it: {origin} (licence: {entry.licence}). {own}"
        f"{'put' if own else 'Put'} {file.name} (sha256 {file.sha256}) into {folder}, or set {MIRROR} to a folder that "
        f"has {entry.folder or name}/{file.name}."
    )


def is_right(file: CatalogFile, path: Path) -> bool:
    """Whether a file has the content that the catalogue knows."""
    return content_is_right(file, path.read_bytes())


def content_is_right(file: CatalogFile, content: bytes) -> bool:
    """Whether these bytes are a file's, as they are or unpacked."""
    if sha256_of(content) == file.sha256:
        return True
    if file.unpacked_sha256 is None or not content.startswith(b"\x1f\x8b"):
        return False
    try:
        return sha256_of(gzip.decompress(content)) == file.unpacked_sha256
    except (OSError, EOFError):
        return False


def sha256_of(content: bytes) -> str:
    """The hash by which the catalogue knows a content."""
    return hashlib.sha256(content).hexdigest()


def _sha256(path: Path) -> str:
    content = path.read_bytes()
    return sha256_of(gzip.decompress(content) if path.suffix == ".gz" else content)


def _loader_source(entry: CatalogEntry) -> bytes:
    if entry.loader is None:
        return json.dumps(entry.model_dump(mode="json", exclude={"page", "bring"}), sort_keys=True).encode()
    spec = importlib.util.find_spec(entry.loader.partition(":")[0])
    assert spec is not None
    assert spec.origin is not None
    return entry.loader.encode() + Path(spec.origin).read_bytes() + Path(catalogue_files.__file__).read_bytes()


def nothing_to_get(name: str, entry: CatalogEntry) -> str:
    """Why a data set without files cannot be fetched, and what to do instead."""
    if entry.embedded is not None:
        return f"{name} needs no download: say `dataset: {entry.embedded}`."
    if entry.expects:
        return f"{name} cannot be fetched ({entry.source}); bring {', '.join(entry.expects)} yourself."
    return f"{name} cannot be fetched: {entry.source} ({entry.licence})."


def fetch(name: str) -> Path:
    """The folder in which all files of a data set now lie, each with the hash the catalogue gives.

    Files come from the mirror that `ASSAY_MIRROR` names, else from their URL; a file that is there already and right is
    left alone. A file appears under its name only when it is whole and checked.
    """
    entry = entry_of(name)
    if not entry.files:
        raise InputError(nothing_to_get(name, entry))
    *mirrors, folder = folders_of(name, entry)
    for file in entry.files:
        _get_file(name, entry, file, folder, mirrors)
    return folder


def _get_file(name: str, entry: CatalogEntry, file: CatalogFile, folder: Path, mirrors: Sequence[Path]) -> None:
    target = Path(contained(folder, file.name, f"The catalogue's entry {name}"))
    if target.exists() and is_right(file, target):
        return
    mirrored = next((path for place in mirrors if (path := place / file.name).exists()), None)
    if mirrored is not None:
        content = mirrored.read_bytes()
        origin = str(mirrored)
    elif file.url is not None:
        content, origin = _download(name, file), file.url
        if file.unpacked_sha256 is not None and sha256_of(content) == file.unpacked_sha256:
            content = gzip.compress(content, mtime=0)
    else:
        raise InputError(to_bring(name, entry, file, folder))
    if not content_is_right(file, content):
        raise InputError(
            f"{origin} is not the {file.name} that the catalogue knows (its sha256 is {sha256_of(content)[:12]}..., "
            f"{file.sha256[:12]}... was expected); nothing was kept."
        )
    _write_whole(target, content)


def _download(name: str, file: CatalogFile) -> bytes:
    """The bytes at a file's URL, never more than it should have (and some for packing)."""
    import urllib.request
    from http.client import HTTPException

    assert file.url is not None
    if not file.url.startswith(("https://", "http://127.0.0.1")):
        raise InputError(f"The address of {file.name} ({name}) is not https: {file.url}.")
    try:
        with urllib.request.urlopen(file.url, timeout=60) as answer:
            content: bytes = answer.read(max(file.bytes * 20, 1 << 20))
    except (OSError, HTTPException) as error:  # the second: what answered speaks no HTTP
        raise InputError(
            f"{file.name} of {name} could not be fetched from {file.url} ({error}); try again, or set {MIRROR}."
        ) from error
    return content


def _write_whole(target: Path, content: bytes) -> None:
    """The file under its name, all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".incomplete-{uuid.uuid4().hex}")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
