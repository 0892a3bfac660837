"""A source settled: which files, by which names, with which content; independent of where the folder lies."""

from __future__ import annotations

import functools
import glob
import hashlib
import json
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.infra.blame import blamed_on
from assay.infra.errors import InputError
from assay.tasks.ingest.addresses import file_system, is_remote, require_named_file, unreachable
from assay.tasks.ingest.files import GivenTable, SourceFile, SourceFiles, hash_of_file
from assay.tasks.ingest.image_folder import image_files, names_below
from assay.tasks.ingest.image_references import referenced_images
from assay.tasks.ingest.settings import ORIGINS, Source

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

TEXT_ENDINGS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class ResolvedSource(SourceFiles):
    """A source whose files are found.

    `fingerprint` is the hash of all its bytes. Neither says where the files lie, so a moved folder is the same source.
    """

    @functools.cached_property
    def fingerprint(self) -> str:
        """The content hash of everything that is read, with the names that ids may be made of."""
        if self.given is not None:
            return self.given.fingerprint
        content = [(file.name, file.format, hash_of_file(file.url)) for file in self.files]
        if self.settings.image is not None:
            content += referenced_images(self)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def require_unchanged(self) -> None:
        """Refuse what was read if a file became another one meanwhile: it would be kept under the old one's hash."""
        if self.given is None and ResolvedSource(self.settings, self.files).fingerprint != self.fingerprint:
            raise InputError(f"{self.label} changed while being read: run again when nobody writes to it.")


def resolve(source: Source, base_dir: str | Path) -> ResolvedSource:
    """The source with its files found, or the sentence that says which one is missing or empty."""
    source = source.model_copy(update={"masked": None})  # what is shown changes nothing that is read
    origin = next(name for name in ORIGINS if getattr(source, name) is not None)
    if origin == "dataset":
        assert source.dataset is not None
        with blamed_on("dataset", source.dataset):
            return ResolvedSource(settings=source, given=_given_table(source.dataset))
    patterns: tuple[str, ...] = getattr(source, origin)
    if origin == "images":
        with blamed_on(*blame_for(source)):
            return _resolved_images(source, image_files(patterns, base_dir))
    urls = dict[str, None]()
    for position, pattern in enumerate(patterns):
        with blamed_on(f"{origin}.{position}", pattern):
            urls.update(dict.fromkeys(_matches(pattern, base_dir, origin)))
    with blamed_on(*blame_for(source)):
        return _resolved_files(source, origin, list(urls))


def _resolved_files(source: Source, origin: str, urls: list[str]) -> ResolvedSource:
    names = short_names(urls)
    files = tuple(
        SourceFile(url, name, source.reader or _format(origin, name)) for url, name in zip(urls, names, strict=True)
    )
    settings = source.model_copy(update={origin: tuple(names)})
    return ResolvedSource(settings=settings, files=files)


def blame_for(source: Source) -> tuple[str, str]:
    """The setting, and its word, that is to blame for files: the only pattern, or all where it is not known which."""
    origin = next(name for name in ORIGINS if getattr(source, name) is not None)
    named = getattr(source, origin)
    if isinstance(named, str):
        return origin, named
    return (f"{origin}.0", named[0]) if len(named) == 1 else (origin, "")


def _resolved_images(source: Source, urls: list[str]) -> ResolvedSource:
    """Images by their names below the folder they share; the settings say how many, not where they lie."""
    files = tuple(SourceFile(url, name, "image") for url, name in zip(urls, names_below(urls), strict=True))
    return ResolvedSource(source.model_copy(update={"images": (f"{len(files)} images",)}), files)


def short_names(urls: list[str]) -> list[str]:
    """File names where they are all different, else the paths below the deepest folder they share.

    >>> short_names(["/a/b/x.csv", "/a/c/y.csv"]), short_names(["/a/b/x.csv", "/a/c/x.csv"])
    (['x.csv', 'y.csv'], ['b/x.csv', 'c/x.csv'])
    """
    names = [posixpath.basename(url) for url in urls]
    if len(set(names)) == len(names):
        return names
    stem = posixpath.commonpath([posixpath.dirname(url) for url in urls])
    return [url[len(stem) :].lstrip("/") for url in urls]


def _matches(pattern: str, base_dir: str | Path, origin: str) -> list[str]:
    filesystem, path = file_system(pattern, base_dir, origin)
    try:
        paths = filesystem.glob(path) if glob.has_magic(path) else [path]
        if not paths:
            raise InputError(f"No file matches {pattern} ({origin}); it was looked for as {path}.")
        for found in paths:
            _require_file(filesystem, found, pattern, origin)
    except InputError:
        raise
    except Exception as error:
        # Every cloud's library has faults of its own (no credentials, no such bucket) that share no base but this one.
        if not is_remote(pattern) and not isinstance(error, ImportError | ValueError | OSError):
            raise
        raise unreachable(pattern, origin, error) from error
    return [filesystem.unstrip_protocol(found) if is_remote(pattern) else found for found in sorted(paths)]


def _require_file(filesystem: AbstractFileSystem, path: str, pattern: str, origin: str) -> None:
    """Nothing, or the sentence for a file that is missing, empty, a folder, or no ordinary file."""
    try:
        kind = filesystem.info(path).get("type")
    except FileNotFoundError as error:
        if is_remote(pattern) and isinstance(error.__cause__, OSError) and not error.__cause__.filename:
            raise unreachable(pattern, origin, error.__cause__) from error  # http says so of hosts that do not answer
        raise InputError(f"There is no file {pattern} ({origin}); it was looked for at {path}.") from error
    if kind == "directory":
        raise InputError(f"{pattern} ({origin}) is a folder; name the files in it, for example {pattern}/*.")
    require_named_file(path, pattern, origin)
    if filesystem.size(path) == 0:
        raise InputError(f"{path} ({origin}) is empty: it has no header and no rows.")


def _format(origin: str, name: str) -> str:
    if origin != "votes":
        return origin
    endings = [ending for ending in Path(name).suffixes if ending not in (".gz", ".bz2", ".xz", ".zst")]
    ending = endings[-1].lower() if endings else ""
    if ending in (".parquet", ".pq"):
        return "parquet"
    if ending in TEXT_ENDINGS:
        return "csv"
    raise InputError(f"{name} (votes) is neither .parquet nor .csv, and a table of votes is one of these.")


def _given_table(name: str) -> GivenTable:
    from assay.data import catalog
    from assay.data.samples import registry

    if name.startswith("sample/"):
        sample = registry.embedded(name)
        return GivenTable(name, sample.fingerprint, sample.build)
    located = catalog.located(name)
    return GivenTable(name, located.fingerprint, located.load)
