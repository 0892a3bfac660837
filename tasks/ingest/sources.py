"""A source settled: which files, by which names, with which content; independent of where the folder lies."""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import json
import lzma
import posixpath
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.image_folder import folder_of, image_files, names_below
from assay.tasks.ingest.settings import ORIGINS, Source

TEXT_ENDINGS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class SourceFile:
    """One file: where it is read from, the short name that ids and rejects carry, and its format."""

    url: str
    name: str
    format: str


@dataclass(frozen=True)
class GivenTable:
    """A table that a data set's builder or loader makes in memory: its name, its content hash, and how to get it."""

    name: str
    fingerprint: str
    build: Callable[[], pa.Table]


@dataclass(frozen=True)
class ResolvedSource:
    """A source whose files are found; `settings` are the user's with short names in place of paths.

    `fingerprint` is the hash of all its bytes. Neither says where the files lie, so a moved folder is the same source.
    """

    settings: Source
    files: tuple[SourceFile, ...] = ()
    given: GivenTable | None = None

    @functools.cached_property
    def fingerprint(self) -> str:
        """The content hash of everything that is read, with the names that ids may be made of."""
        if self.given is not None:
            return self.given.fingerprint
        content = [(file.name, file.format, hash_of_file(file.url)) for file in self.files]
        if self.settings.image is not None:
            from assay.tasks.ingest.image_references import referenced_images

            content += referenced_images(self)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def require_unchanged(self) -> None:
        """Refuse what was read if a file became another one meanwhile: it would be kept under the old one's hash."""
        if self.given is None and ResolvedSource(self.settings, self.files).fingerprint != self.fingerprint:
            raise InputError(f"{self.label} changed while being read: run again when nobody writes to it.")

    @property
    def label(self) -> str:
        """What an error calls the source: the data set's name, the images' folder, or its first file."""
        if self.given is not None:
            return self.given.name
        if self.settings.images is not None:
            return f"images below {posixpath.basename(folder_of(self.files[0].url, self.files[0].name))}"
        more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
        return self.files[0].name + more


@contextlib.contextmanager
def opened(url: str, name: str) -> Iterator[BinaryIO]:
    """A text file's bytes, unpacked where its ending says that it is packed; what cannot be read is said by name."""
    import fsspec

    try:
        with fsspec.open(url, "rb", compression="infer") as file:
            yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{name} cannot be read ({str(error).rstrip('.')}); write or copy it again.") from error


def hash_of_file(url: str) -> str:
    """The sha256 of a file's bytes as they lie there (compressed files are not unpacked).

    A run asks more than once (to plan, to compute); within one process an unchanged file is read once.
    """
    import fsspec

    try:
        filesystem, path = fsspec.core.url_to_fs(url)
        info = filesystem.info(path)
        changed = next((str(info[name]) for name in ("mtime", "ETag", "LastModified", "updated") if name in info), "")
        return _hash_of_bytes(url, int(info["size"] or 0), changed)
    except OSError as error:
        raise InputError(f"{url} cannot be read ({error}); check the path and its permissions.") from error


@functools.lru_cache(maxsize=1 << 18)
def _hash_of_bytes(url: str, size: int, changed: str) -> str:  # noqa: ARG001 - size and time of change make the cache true
    import fsspec

    digest = hashlib.sha256()
    with fsspec.open(url, "rb") as file:
        while chunk := file.read(4 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def resolve(source: Source, base_dir: str | Path) -> ResolvedSource:
    """The source with its files found, or the sentence that says which one is missing or empty."""
    source = source.model_copy(update={"masked": None})  # what is shown changes nothing that is read
    origin = next(name for name in ORIGINS if getattr(source, name) is not None)
    if origin == "dataset":
        assert source.dataset is not None
        return ResolvedSource(settings=source, given=_given_table(source.dataset))
    patterns: tuple[str, ...] = getattr(source, origin)
    if origin == "images":
        return _resolved_images(source, image_files(patterns, base_dir))
    urls = list(dict.fromkeys(url for pattern in patterns for url in _matches(pattern, base_dir, origin)))
    names = short_names(urls)
    files = tuple(SourceFile(url, name, _format(origin, name)) for url, name in zip(urls, names, strict=True))
    settings = source.model_copy(update={origin: tuple(names)})
    return ResolvedSource(settings=settings, files=files)


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
    import fsspec

    url = pattern if "://" in pattern else str(Path(base_dir, pattern).absolute())
    remote = "://" in pattern and not pattern.startswith("file:")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
        paths = filesystem.glob(path) if glob.has_magic(path) else [path]
        if not paths:
            raise InputError(f"No file matches {pattern} ({origin}); it was looked for as {path}.")
        for found in paths:
            if not filesystem.exists(found):
                raise InputError(f"There is no file {pattern} ({origin}); it was looked for at {found}.")
            if filesystem.isdir(found):
                raise InputError(f"{pattern} ({origin}) is a folder; name the files in it, for example {pattern}/*.")
            if filesystem.size(found) == 0:
                raise InputError(f"{found} ({origin}) is empty: it has no header and no rows.")
    except InputError:
        raise
    except Exception as error:
        # Every cloud's library has faults of its own (no credentials, no such bucket) that share no base but this one.
        if not remote and not isinstance(error, ImportError | ValueError):
            raise
        raise InputError(f"{pattern} ({origin}) cannot be reached: {error}.") from error
    return [filesystem.unstrip_protocol(found) if remote else found for found in sorted(paths)]


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
