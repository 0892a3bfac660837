"""The files of a source, as they are found: where they lie, what they are called, and what their bytes hash to."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import lzma
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.reasons import reason_of
from assay.infra.regular_files import require_regular_url
from assay.tasks.ingest.image_folder import folder_of
from assay.tasks.ingest.settings import Source

_FAULTS = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,  # a zip packed in a way that Python does not know
    RuntimeError,  # a zip under a password
)
"""What readers of packed and unpacked files raise on those that are damaged, at once or late."""


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
        more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
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
        reason = reason_of(error)
        raise InputError(f"{name} cannot be read ({reason}); write or copy it again.") from error


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
