"""A file of a remote store as Arrow reads it: small ones in one request, large ones by ranges, each asked for again."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

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
