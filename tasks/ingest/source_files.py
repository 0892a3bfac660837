"""The files of a source: where its addresses lead, what they are called, what their bytes hash to, and the columns that
their folders name.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import lzma
import os
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

import pyarrow as pa
from fsspec import AbstractFileSystem

from assay.infra.errors import InputError, reason_of
from assay.infra.storage.folders import contained, require_regular_url
from assay.tasks.ingest.file_search import (
    LOG,
    delta_files,
    file_system,
    files_below,
    folder_of,
    is_remote,
    reaching,
    require_named_file,
    unreachable,
)
from assay.tasks.ingest.settings import Source
from assay.tasks.reporting.numerals import plural

_FAULTS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
"""What readers of packed and unpacked files raise on those that are damaged, at once or late; a RuntimeError of a zip
under a password, or packed in a way that Python does not know."""


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
class SourceFiles:
    """The files of a source, or its table; `settings` are the user's with short names in place of paths."""

    settings: Source
    files: tuple[SourceFile, ...] = ()
    given: GivenTable | None = None

    @property
    def label(self) -> str:
        """What an error calls the source: the data set's name, the images' folder, or its first file."""
        if self.given is not None:
            return self.given.name
        if self.settings.images is not None:
            return f"images below {posixpath.basename(folder_of(self.files[0].url, self.files[0].name))}"
        more = f" and {plural(len(self.files) - 1, 'more file')}" if len(self.files) > 1 else ""
        return self.files[0].name + more


@contextlib.contextmanager
def opened(url: str, name: str) -> Iterator[BinaryIO]:
    """A text file's bytes, unpacked where its ending says that it is packed; what cannot be read is said by name."""
    import fsspec

    require_regular_url(url, name)
    try:
        _require_one_inside(url, name)
        with fsspec.open(url, "rb", compression="infer") as file:
            yield file
    except _FAULTS as error:
        raise InputError(f"{name} cannot be read ({reason_of(error)}); write or copy it again.") from error


def _require_one_inside(url: str, name: str) -> None:
    """Nothing, or the sentence for a zip of which all files but the first would be left out without a word."""
    import fsspec

    if not name.lower().endswith(".zip"):
        return
    with fsspec.open(url, "rb") as packed, zipfile.ZipFile(packed) as archive:
        inside = archive.namelist()
    if len(inside) != 1:
        raise InputError(f"{name} holds {len(inside)} files, and a zip with exactly one is read; unpack it.")


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


def size_of(url: str) -> int:
    """How many bytes a file has where it lies."""
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(url)
    return int(filesystem.size(path) or 0)


@functools.lru_cache(maxsize=1 << 18)
def _hash_of_bytes(url: str, size: int, changed: str) -> str:  # noqa: ARG001 - size and time of change make the cache true
    import fsspec

    require_regular_url(url)
    digest = hashlib.sha256()
    with fsspec.open(url, "rb") as file:
        while chunk := file.read(4 << 20):
            digest.update(chunk)
    return digest.hexdigest()


_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def partition_path(url: str) -> str:
    """The path of a file from its first partition on; empty where no folder is one.

    >>> partition_path("s3://lake/day/year=2026/month=1/a.parquet"), partition_path("/data/a.parquet")
    ('year=2026/month=1/a.parquet', '')
    """
    steps = url.split("/")
    first = next((at for at, step in enumerate(steps[:-1]) if _is_partition(step)), None)
    return "" if first is None else "/".join(steps[first:])


def _is_partition(step: str) -> bool:
    name, sign, _ = step.partition("=")
    return bool(sign) and name.isidentifier()


def partition_values(url: str) -> dict[str, str | None]:
    """What the folders of a file say, by column; nothing where Hive wrote that there is no value.

    >>> partition_values("/lake/year=2026/site=St%20Mary/a.csv")
    {'year': '2026', 'site': 'St Mary'}
    """
    steps = [step.partition("=") for step in posixpath.dirname(url).split("/") if _is_partition(step)]
    return {name: None if value == _NOTHING else unquote(value) for name, _, value in steps}


@dataclass(frozen=True)
class Address:
    """One address of a source, as it is written: the setting that holds it, the folder that paths start from, and the
    endings of the files that a folder stands for."""

    written: str
    base_dir: str | Path
    origin: str
    endings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Places:
    """What a reader's addresses lead to.

    `find` gives where an address leads, in order. `called` gives a name for each place, the same wherever the whole
    lies: ids and rejects carry it. `content` is the hash of what is read there, `size` about how many bytes that is.
    `summary` says in a few words what was found, before it is used.
    """

    find: Callable[[Address], list[str]]
    called: Callable[[list[str]], list[str]]
    content: Callable[[SourceFile, Source], str]
    size: Callable[[SourceFile, Source], int]
    summary: Callable[[Sequence[SourceFile], Source], str]


def files_at(address: Address) -> list[str]:
    """The files that a path, a pattern or a URL leads to; a folder stands for the files of its kind below it."""
    pattern, origin = address.written, address.origin
    filesystem, path = file_system(pattern, address.base_dir, origin)
    with reaching(pattern, origin):
        paths = filesystem.glob(path) if glob.has_magic(path) else [path]
        if address.endings and paths == [path] and filesystem.isdir(path):
            paths = _below(filesystem, path, address) or [path]
        if not is_remote(pattern) and paths != [path]:
            home = path
            while glob.has_magic(home):
                home = posixpath.dirname(home)
            for file in paths:  # a link may lead elsewhere only where a person names it whole
                contained(home, posixpath.relpath(file, home), f"{pattern} ({origin})")
        if not paths:
            raise InputError(f"No file matches {pattern} ({origin}); it was looked for as {path}.")
        for file in paths:
            _require_file(filesystem, file, pattern, origin)
    return [filesystem.unstrip_protocol(file) if is_remote(pattern) else file for file in sorted(paths)]


def _below(filesystem: AbstractFileSystem, folder: str, address: Address) -> list[str]:
    """The files of a folder that hold rows; hidden ones (`_SUCCESS`, `.part.crc`) are notes of whoever wrote them."""
    named = f"{address.written} ({address.origin})"
    if ".parquet" in address.endings and not is_remote(address.written) and os.path.isdir(os.path.join(folder, LOG)):
        return delta_files(folder, named)
    below = files_below(filesystem, folder, address.endings, named)
    names = {name: name[len(folder) :].strip("/").split("/") for name in below}
    for log, what in ((LOG, "a Delta"), ("metadata", "an Iceberg")):
        if any(log in steps[:-1] and steps[-1].endswith(".json") for steps in names.values()):
            raise InputError(
                f"{named} is or holds {what} table, whose folder also holds rows that were deleted "
                "since; write what it holds now to Parquet, and name that."
            )
    seen = [name for name, steps in names.items() if not any(step.startswith(("_", ".")) for step in steps)]
    return [name for name in seen if name.lower().endswith(address.endings)]


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


def short_names(urls: Sequence[str]) -> list[str]:
    """File names where they are all different, else the paths below the deepest folder they share; of partitioned
    folders the whole path from the first partition on, whose values are part of what is read.

    >>> short_names(["/a/b/x.csv", "/a/c/y.csv"]), short_names(["/a/b/x.csv", "/a/c/x.csv"])
    (['x.csv', 'y.csv'], ['b/x.csv', 'c/x.csv'])
    >>> short_names(["/a/year=2026/x.csv"])
    ['year=2026/x.csv']
    """
    names = [partition_path(url) or posixpath.basename(url) for url in urls]
    if len(set(names)) == len(names):
        return names
    stem = posixpath.commonpath([posixpath.dirname(url) for url in urls])
    return [url[len(stem) :].lstrip("/") for url in urls]


def packed(*endings: str) -> tuple[str, ...]:
    """The endings, plain and as of files that are packed.

    >>> packed(".csv")
    ('.csv', '.csv.gz', '.csv.bz2', '.csv.xz', '.csv.zst', '.csv.zip')
    """
    return tuple(ending + more for ending in endings for more in ("", ".gz", ".bz2", ".xz", ".zst", ".zip"))


def files_found(files: Sequence[SourceFile], _: Source) -> str:
    """How many files there are, and what their folders say of them; nothing of a single file.

    >>> files_found([SourceFile(f"/lake/year={y}/a.csv", "", "csv") for y in (2025, 2026)], Source(csv="lake"))
    '2 files, of year 2025 to 2026'
    """
    partitions = [partition_values(file.url) for file in files]
    ranges = []
    for name in partitions[0]:
        values = sorted({str(partition[name]) for partition in partitions if name in partition})
        ranges.append(" to ".join([f"{name} {values[0]}", *values[1:][-1:]]))
    return ", of ".join(filter(None, (f"{len(files)} files" if len(files) > 1 else "", " and ".join(ranges))))


FILES = Places(
    files_at, short_names, lambda file, _: hash_of_file(file.url), lambda file, _: size_of(file.url), files_found
)
"""Files, each read as it lies there."""
