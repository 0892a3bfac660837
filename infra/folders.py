"""A folder anywhere fsspec reaches, in which a file is there whole or not at all."""

from __future__ import annotations

import errno
import glob
import json
import os
import posixpath
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import fsspec

from assay.infra.contained_paths import escape_of
from assay.infra.credentials import require_usable
from assay.infra.errors import InputError, RunError
from assay.infra.masking import mask
from assay.infra.patience import PATIENCE_SECONDS, patiently
from assay.infra.regular_files import require_regular
from assay.infra.remote_files import open_remote, read_whole

V = TypeVar("V")
_HOPELESS = {errno.ENOSPC: "no space is left there", errno.EDQUOT: "the disk quota is used up"}
_SHOWN = 200
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


@contextmanager
def reached(url: str) -> Iterator[None]:
    """Within the block somebody sees for the first time whether a folder can be used; a no becomes a sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as fault:  # every file system of fsspec's has errors of its own
        place = url if len(url) <= _SHOWN else f"{url[:_SHOWN]}…"
        cause = fault.__cause__ if isinstance(fault, RunError) else None  # what it was asked again for, in vain
        words = " ".join(mask(str(cause or fault)).split()) or type(fault).__name__
        raise InputError(
            f"The store {place!r} cannot be used: {words[:_SHOWN]}. Name a folder, or a URL such as s3://bucket/prefix "
            "whose package is installed (s3fs, gcsfs, adlfs), with `store:` or --store."
        ) from fault


class Folder:
    """One root, local or remote; names inside it are relative and use `/`."""

    notice: Callable[[str], None] | None = None
    """Hears that a remote store does not answer just now."""

    def __init__(self, url: str, patience: float = PATIENCE_SECONDS) -> None:
        self._patience = patience
        with reached(url):
            if "\0" in url:
                raise ValueError("a NUL byte is part of no name")
            require_usable(url)
            # What other processes write is looked up in the store each time, not in what was listed here before.
            self.fs, self.root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        if hasattr(self.fs, "retries"):  # of s3fs and gcsfs: asking again is done here, where it is spoken of
            self.fs.retries = 1
        self.root = self.root.rstrip("/")
        self.url = str(Path(self.root).resolve()) if self.is_local else url.rstrip("/")

    def __reduce__(self) -> tuple[type[Folder], tuple[str]]:
        return Folder, (self.url,)

    @property
    def is_local(self) -> bool:
        """Whether the folder lies on a file system of this machine (where renaming is atomic)."""
        return "file" in self.fs.protocol or "local" in self.fs.protocol

    def path(self, name: str) -> str:
        """The path of a name as the file system wants it; a name cannot lead out of the folder."""
        reason = escape_of(name, self.url if self.is_local else None)
        if reason or posixpath.normpath(name) != name:
            raise InputError(f"{name!r} is not a name inside {self.url}: it {reason or 'is no plain relative name'}.")
        return f"{self.root}/{name}"

    def path_of_file(self, name: str) -> str:
        """The path of what is to be read: no pipe and no device, which a store that others write to may hold."""
        path = self.path(name)
        if self.is_local:
            require_regular(path)
        return path

    def exists(self, name: str) -> bool:
        """Whether the file is there."""
        path = self.path(name)
        return bool(self._asked(lambda: self.fs.exists(path)))

    def _asked(self, operation: Callable[[], V]) -> V:
        """What the file system answers; a remote one that stumbles is asked again for a while."""
        return operation() if self.is_local else patiently(operation, self.url, self._patience, self.notice)

    def sizes(self, name: str) -> dict[str, int]:
        """Names (relative to this folder) and sizes of all files below `name`."""
        path = self.path(name)
        try:
            details = self._asked(lambda: self.fs.find(path, detail=True))
        except FileNotFoundError:
            return {}
        return {path[len(self.root) + 1 :]: int(info["size"] or 0) for path, info in details.items()}

    def folders(self, name: str) -> list[str]:
        """Names of the folders right below `name`, sorted."""
        path = self.path(name)
        try:
            entries = self._asked(lambda: self.fs.ls(path, detail=True, refresh=True))
        except FileNotFoundError:
            return []
        return sorted(entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in entries if entry["type"] == "directory")

    def read(self, name: str) -> bytes:
        """The content of a file; FileNotFoundError where there is none."""
        path = self.path_of_file(name)
        return self._asked(lambda: read_whole(self.fs, path))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """The content of a JSON file, or None where there is none or it is not whole."""
        try:
            with self._explaining_faults():
                value = json.loads(self.read(name))
        except (FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
            return None
        return value if isinstance(value, dict) else None

    def open(self, name: str, size: int | None = None, little: bool = False) -> BinaryIO:
        """A file opened for reading; who knows its size saves a remote store a question, who wants a `little` bytes."""
        path = self.path_of_file(name)
        if self.is_local:
            return cast(BinaryIO, self.fs.open(path, "rb"))
        return open_remote(self.fs, path, self._asked, size, little)

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, replacing what was: readers see the old one or the new one."""
        with self.writing(name) as sink:
            sink.write(content)

    def write_json(self, name: str, value: object) -> None:
        """Put a JSON file there, as `write` does."""
        self.write(name, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode())

    def create(self, name: str, content: bytes) -> bool:
        """Put a file there unless there is one already; False if there was: of two writers the first wins.

        Two writers do not write the same: in a remote store that is how one knows its own file again.
        """
        target = self.path(name)
        if self.is_local:
            claim = f"{name}.{uuid.uuid4().hex}.claim"
            self.write(claim, content)
            try:
                os.link(self.path(claim), target)
            except FileExistsError:
                return False
            except OSError:
                # No hard links there (exFAT, some network disks): the second best is to look before one writes.
                if os.path.exists(target):
                    return False
                self.write(name, content)
            finally:
                os.unlink(self.path(claim))
            return True
        return self._created(target, content)

    def _created(self, target: str, content: bytes) -> bool:
        """`create` in a remote store, by a conditional write (S3's `If-None-Match: *`).

        That the file is there may be our own doing: an answer was lost, and the library below us asked again.
        """
        with self._explaining_faults():
            try:
                self._asked(lambda: self.fs.pipe_file(target, content, mode="create"))
            except FileExistsError:
                return self._asked(lambda: read_whole(self.fs, target)) == content
            except OSError as fault:
                if fault.errno != errno.EINVAL:  # HTTP's 412, from a server that does not say which condition failed
                    raise
                return self._asked(lambda: read_whole(self.fs, target)) == content
        return True

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file open for writing that appears under its name only when the block ends well."""
        target = self.path(name)
        with self._explaining_faults():
            if not self.is_local:
                # Closing a remote file uploads what is there, whole or not: so it is written here and sent when whole.
                with tempfile.NamedTemporaryFile() as here:
                    yield cast(BinaryIO, here)
                    here.flush()
                    self._asked(lambda: self.fs.put_file(here.name, target))
                return
            os.makedirs(os.path.dirname(target), exist_ok=True)
            # Hidden: who reads a folder of Parquet files as one data set passes over what is not whole.
            draft = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.tmp-{uuid.uuid4().hex}")
            try:
                # No fsync: a file that a power cut left short or garbled is caught by its size and page checksums.
                with open(draft, "wb") as local:
                    yield local
                os.replace(draft, target)
            except BaseException:
                Path(draft).unlink(missing_ok=True)
                raise

    def share(self, name: str, under: str) -> bool:
        """Let a file that never changes be there under another name as well; False where it is gone."""
        source, target = self.path_of_file(name), self.path(under)
        with self._explaining_faults():
            try:
                if not self.is_local:
                    self._asked(lambda: self.fs.cp_file(source, target))
                    return True
                os.makedirs(os.path.dirname(target), exist_ok=True)
                return self._linked(source, target) or self._copied(source, under)
            except FileNotFoundError:
                return False

    @staticmethod
    def _linked(source: str, target: str) -> bool:
        try:
            os.link(source, target)
        except FileExistsError:
            return os.path.getsize(source) == os.path.getsize(target)
        except FileNotFoundError:
            raise
        except OSError:  # no hard links there
            return False
        return True

    def _copied(self, source: str, under: str) -> bool:
        with open(source, "rb") as there, self.writing(under) as here:
            shutil.copyfileobj(there, here)
        return True

    def remove(self, name: str) -> None:
        """Remove a file or a whole folder; nothing happens where there is none."""
        path = self.path(name)
        if self.exists(name):
            # Remote file systems take what they are to remove for a pattern, and a name may hold brackets.
            exact = path if self.is_local else glob.escape(path)
            with suppress(FileNotFoundError):  # somebody else has just removed it
                self._asked(lambda: self.fs.rm(exact, recursive=True))

    @contextmanager
    def _explaining_faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _HOPELESS:
                raise InputError(
                    f"Cannot write to {self.url}: {_HOPELESS[error.errno]}. Make room and run again."
                ) from error
            if error.errno in _REFUSED:
                reason = os.strerror(error.errno or 0).lower()
                raise InputError(
                    f"Cannot write to {self.url}: {reason}. Choose a folder you may write to with --store."
                ) from error
            raise
