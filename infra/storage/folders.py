"""A folder anywhere fsspec reaches, in which a file is there whole or not at all; only ordinary files are opened, and
paths that data names stay below their folder.

What a person writes in pipelines.yaml may lead anywhere. A Delta log, a cell of a table, the index of a model's
weights or a record of the store names files too, and a stranger may have written it: such a path is relative, and
leads below its folder in every spelling that something on the way may read it in, with all symbolic links followed. A
named pipe waits for ever to be opened, `/dev/zero` never ends to be read, and a socket or a device is nobody's data.
"""

from __future__ import annotations

import errno
import glob
import io
import json
import os
import posixpath
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast
from urllib.parse import unquote

import fsspec

from assay.infra.errors import FullDiskError, InputError, RunError, UnwritableError
from assay.infra.masking import mask
from assay.infra.storage.network import RETRY_SECONDS, require_usable, with_retries

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def require_regular(path: str | Path, called: str = "") -> None:
    """Nothing, or the sentence for what is there and no ordinary file; what is not there is for the caller to say.

    >>> require_regular("/dev/zero", "The file of weights")
    Traceback (most recent call last):
    assay.infra.errors.InputError: The file of weights is a device, and only ordinary files are read; name a file.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    except ValueError as error:  # a NUL, or a letter that the file system's encoding has not
        raise InputError(f"{str(path)!r} is no path ({error}); correct it.") from error
    if not stat.S_ISREG(mode):
        what = next((word for is_one, word in _KINDS if is_one(mode)), "something else")
        raise InputError(f"{called or path} is {what}, and only ordinary files are read; name a file.")


def require_regular_url(url: str, called: str = "") -> None:
    """The same for an address: what lies elsewhere than in this machine's folders has no devices."""
    path = url.removeprefix("file://")
    if "://" not in path:
        require_regular(path, called)


_LONGEST, _LONGEST_NAME, _SHOWN_LETTERS = 4096, 255, 60
_DECODINGS = 16  # a path of 4,096 letters can hold a thousand, and a table as many such paths as it likes
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def escape_of(path: str, folder: str | None = None) -> str:
    """Why a path that data names is not followed, as a clause; empty where it leads to a place below its folder.

    With a folder on this machine, symbolic links are followed; without one, or elsewhere, the text alone is judged.

    >>> escape_of("scans/../a.png"), escape_of("scans/%252e%252e/%2e%2e/a.png")
    ('', 'leaves its folder; paths start there and stay there')
    """
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "is no UTF-8 text; rename the file"
    if _CONTROLS.search(path) or "::" in path:  # fsspec would read a chain of file systems out of ::
        return "has a control character or `::` in it; rename the file"
    if length > _LONGEST:
        return f"has {length:,} bytes, and a path has at most {_LONGEST:,}; rename the file"
    if posixpath.normpath(path) == ".":
        return "is the name of no file; write one"
    spellings = list(islice(_spellings(path), 2 * _DECODINGS + 1))
    if len(spellings) > 2 * _DECODINGS:
        return f"is percent-encoded {_DECODINGS} times or more; rename the file"
    if any(map(_leaves, spellings)):
        return "leaves its folder; paths start there and stay there"
    root = None if folder is None else local_path(folder)
    return "" if root is None else _escape_on_disk(path, root)


def contained(folder: str | os.PathLike[str] | None, path: object, named: str) -> str:
    """The address below a folder of the file that data names; without a folder, the name alone.

    On this machine it is an ordinary file, and no symbolic link leads out.
    `named` is how a sentence calls what names it. A file that is not there is for the caller to miss.

    >>> contained("s3://lake/visits", "site=north/a.parquet", "The log")
    's3://lake/visits/site=north/a.parquet'
    >>> contained("/lake", "../secret.parquet", "The log of lake")
    Traceback (most recent call last):
    assay.infra.errors.InputError: The log of lake names the file '../secret.parquet', which leaves its folder; paths \
start there and stay there.
    """
    place = None if folder is None else os.fspath(folder)
    reason = escape_of(path, place) if isinstance(path, str) else "is no text; write the name of a file"
    if reason:
        shown = repr(path) if len(repr(path)) <= _SHOWN_LETTERS else f"{repr(path)[:_SHOWN_LETTERS]}..."
        raise InputError(f"{named} names the file {shown}, which {reason}.")
    address = posixpath.join(place or "", posixpath.normpath(str(path)))
    if place is not None and (local := local_path(address)) is not None:
        require_regular(local, f"{path!r} ({named})")
    return address


def local_path(address: str) -> str | None:
    """The path of an address on this machine; none where the address leads elsewhere.

    >>> local_path("file:///lake"), local_path("/lake"), local_path("s3://lake")
    ('/lake', '/lake', None)
    """
    path = re.sub(r"^(file|local)://", "", address)
    return None if "://" in path else path


def _spellings(path: str) -> Iterator[str]:
    """The path as it stands, and as whoever decodes it once or more, or takes backslashes for separators, reads it."""
    while True:
        yield path
        yield path.replace("\\", "/")
        decoded = unquote(path)
        if decoded == path:
            return
        path = decoded


def _leaves(path: str) -> bool:
    """Whether a spelling is absolute, has a scheme or a drive, or climbs above where it starts."""
    if path.startswith("/") or "://" in path or _has_scheme(path):
        return True
    depth = 0
    for step in path.split("/"):
        if step.strip(" .") or not step:
            depth += bool(step)
        elif step != ".":  # "..", and what becomes of it where dots and spaces at the end are dropped
            depth -= 1
        if depth < 0:
            return True
    return False


def _has_scheme(path: str) -> bool:
    """Whether a path begins with a drive or with a scheme that something here knows; other names may have a colon."""
    beginning = _SCHEME.match(path)
    if beginning is None:
        return False
    from fsspec.registry import known_implementations

    scheme = beginning[0][:-1].lower()
    return len(scheme) == 1 or scheme in known_implementations


def _escape_on_disk(path: str, folder: str) -> str:
    if any(len(step.encode()) > _LONGEST_NAME for step in path.split("/")):
        return f"has a name of more than {_LONGEST_NAME} bytes in it; rename the file"
    place = folder
    if not any(os.path.islink(place := f"{place}/{step}") for step in posixpath.normpath(path).split("/")):
        return ""
    within, whole = _home_of_links(folder), os.path.realpath(os.path.join(folder, posixpath.normpath(path)))
    if os.path.commonpath([within, whole]) != within:
        return "leaves its folder through a symbolic link; copy what it leads to into the folder"
    return ""


def _home_of_links(folder: str) -> str:
    """Where the links in a folder have to lead: into itself or, in a cache of Hugging Face's hub, whose snapshots are
    links to blobs, into the cached repository."""
    place = os.path.realpath(folder)
    repository, snapshots, _ = f"{place}/".rpartition("/snapshots/")
    return repository if snapshots and os.path.isdir(f"{repository}/blobs") else place


WHOLE_BYTES = 32 << 20
"""Up to here a file is one request; a request costs as much time as some megabytes do."""
_READ_AHEAD = 8 << 20
PIECE_BYTES = 256 << 10
"""Up to here even a file of which little is wanted is one request: sixteen at a time take no longer than a request."""

Patient = Callable[[Callable[[], Any]], Any]


def open_remote(fs: Any, path: str, patient: Patient, size: int | None = None, little: bool = False) -> BinaryIO:
    """The file, opened for reading; `patient` asks again where the store has only stumbled.

    Who knows its size saves the request that asks for it, and who wants but a `little` of it what lies between.
    """
    known = int(patient(lambda: fs.info(path))["size"]) if size is None else size
    if known <= (PIECE_BYTES if little else WHOLE_BYTES):
        return io.BytesIO(patient(lambda: read_whole(fs, path)))
    ranged = RangedFile(fs, path, known, patient)
    return cast(BinaryIO, ranged if little else io.BufferedReader(ranged, _READ_AHEAD))


def read_whole(fs: Any, path: str) -> bytes:
    """The content of a file in one request: s3fs asks for the size first, unless it may only have one at a time."""
    one_at_a_time = {"max_concurrency": 1} if hasattr(fs, "max_concurrency") else {}
    return cast(bytes, fs.cat_file(path, **one_at_a_time))


class RangedFile(io.RawIOBase):
    """A large file whose bytes are fetched as they are asked for: one fault costs one range, not the file."""

    def __init__(self, fs: Any, path: str, size: int, patient: Patient) -> None:
        self._fs, self._path, self._size, self._patient = fs, path, size, patient
        self._at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on from there."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        """The next bytes, as many as the buffer takes or the file has."""
        view = memoryview(buffer).cast("B")
        start, end = self._at, min(self._size, self._at + len(view))
        if start >= end:
            return 0
        content = self._patient(lambda: self._fs.cat_file(self._path, start=start, end=end))
        view[: len(content)] = content
        self._at += len(content)
        return len(content)


def json_bytes(value: object) -> bytes:
    """The content of a JSON file."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode()


V = TypeVar("V")
_HOPELESS = {errno.ENOSPC: "no space is left there", errno.EDQUOT: "the disk quota is used up"}
_SHOWN = 200
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


@contextmanager
def failures_in_words(url: str) -> Iterator[None]:
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

    def __init__(self, url: str, patience: float = RETRY_SECONDS) -> None:
        self._patience = patience
        with failures_in_words(url):
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
        return operation() if self.is_local else with_retries(operation, self.url, self._patience, self.notice)

    def age(self, name: str) -> float | None:
        """How many seconds ago a file was written, by the clock of whoever keeps it; None where that is unknown."""
        probe = f"{name}.{uuid.uuid4().hex}.now"
        try:
            self.write(probe, b"")
            written = self._asked(lambda: self.fs.modified(self.path(name)))
            now = self._asked(lambda: self.fs.modified(self.path(probe)))
            return float((now - written).total_seconds())
        except (NotImplementedError, OSError, KeyError, InputError, RunError):
            return None
        finally:
            with suppress(OSError, InputError, RunError):
                self.remove(probe)

    def sizes(self, name: str) -> dict[str, int]:
        """Names (relative to this folder) and sizes of all files below `name`."""
        path = self.path(name)
        # Of a folder that cannot be listed fsspec's own search says that it is empty.
        how = {"on_error": "raise"} if type(self.fs).find is fsspec.AbstractFileSystem.find else {}
        try:
            with self._explaining_faults("read"):
                details = self._asked(lambda: self.fs.find(path, detail=True, **how))
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
            with self._explaining_faults("read"):
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
        self.write(name, json_bytes(value))

    def create(self, name: str, content: bytes) -> bool:
        """Put a file there unless there is one already; False if there was: of two writers the first wins.

        Two writers do not write the same: in a remote store that is how one knows its own file again.
        """
        target = self.path(name)
        if self.is_local:
            with self._explaining_faults():
                return self._claimed(name, target, content)
        return self._created(target, content)

    def _claimed(self, name: str, target: str, content: bytes) -> bool:
        """`create` on this machine, by a link that only one can make."""
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

    def _created(self, target: str, content: bytes) -> bool:
        """`create` in a remote store, by a conditional write (S3's `If-None-Match: *`).

        That the file is there may be our own doing: an answer was lost, and the library below us asked again.
        """
        with self._explaining_faults():
            try:
                self._asked(lambda: self.fs.pipe_file(target, content, mode="create"))
            except OSError as fault:
                # EINVAL is HTTP's 412, from a server that does not say which condition failed.
                if not isinstance(fault, FileExistsError) and fault.errno != errno.EINVAL:
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
                with tempfile.NamedTemporaryFile() as copy:
                    yield cast(BinaryIO, copy)
                    copy.flush()
                    self._asked(lambda: self.fs.put_file(copy.name, target))
                return
            # Hidden: who reads a folder of Parquet files as one data set passes over what is not whole.
            draft = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.tmp-{uuid.uuid4().hex}")
            try:
                # No fsync: a file that a power cut left short or garbled is caught by its size and page checksums.
                with _draft_opened(draft) as local:
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
                if not self._linked(source, target):
                    with open(source, "rb") as original, self.writing(under) as copy:
                        shutil.copyfileobj(original, copy)
                return True
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

    def remove(self, name: str, wanted: Callable[[str], bool] = lambda _name: False) -> bool:
        """Remove a file or a whole folder, and say whether; nothing happens where there is none.

        A local folder is out of everybody's sight before it is asked whether it is still `wanted`, and comes back then.
        """
        path = self.path(name)
        with self._explaining_faults():
            if not self.exists(name):
                return False
            # Remote file systems take what they are to remove for a pattern, and a name may hold brackets.
            exact = path if self.is_local else glob.escape(path)
            with suppress(FileNotFoundError):  # somebody else has just removed it
                if self.is_local and os.path.isdir(path):
                    exact = f"{path}.removed-{uuid.uuid4().hex}"
                    os.rename(path, exact)  # at once: what a run writes under this name from now on stays
                    if wanted(name):
                        with suppress(OSError):  # it is being written anew already
                            os.rename(exact, path)
                            return False
                self._asked(lambda: self.fs.rm(exact, recursive=True))
        return True

    @contextmanager
    def _explaining_faults(self, work: str = "write to") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _HOPELESS:
                raise FullDiskError(
                    f"Cannot write to {self.url}: {_HOPELESS[error.errno]}. Make room and run again."
                ) from error
            if error.errno in _REFUSED:
                reason = os.strerror(error.errno or 0).lower()
                named = str(error.filename or "")
                place = (named if os.path.isdir(named) else os.path.dirname(named)) or self.url  # may be another's
                raise UnwritableError(
                    f"Cannot {work} {place}: {reason}. Choose a folder you may {work} with --store."
                ) from error
            if error.errno == errno.EISDIR:
                place = error.filename2 or error.filename
                raise UnwritableError(f"Cannot {work} {place}: a folder stands there; move it away.") from error
            raise


def _draft_opened(draft: str) -> BinaryIO:
    """A new file in its folder, which is made again where a clean-up takes it away meanwhile."""
    for _ in range(9):
        with suppress(FileNotFoundError):
            os.makedirs(os.path.dirname(draft), exist_ok=True)
            return open(draft, "wb")
    return open(draft, "wb")  # or the system's word for why not
