"""What partitions hand to each other: bytes for each of the next step's calls.

Where every partition has something for every call of the next step (keys by range, as a sort deals them out), it
writes one file with a parcel per addressee and an index of them at its end. Who takes what was sent to it out of all
files reads the ends and its own parcels; no process holds what all of them sent.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from assay.infra.storage.artifacts import PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import UNCOMPRESSED, damaged

Received = Mapping[int, memoryview]
"""What a call was sent, by the number of the partition that sent it, in their order."""


AT_ONCE, _BYTES_AT_ONCE = 16, 64 << 20
"""So many files of a store over a network are asked for at a time, fewer large ones: a call mostly waits for them."""


class Parcels(Table):
    """One row per partition: its parcels one after the other, and their index; gone when the stage is committed.

    A column per addressee would be the natural table, but whoever opens a Parquet file reads of all its columns: with
    as many addressees as senders that grows with the third power of the data. The one value here, stored as it is,
    ends where the file's footer begins, and is found without reading it.
    """

    schema = pa.schema([pa.field("parcels", pa.large_binary(), nullable=False, metadata=UNCOMPRESSED)])


@dataclass(frozen=True)
class Post:
    """The files of all senders, by the number of each; small enough to travel with a step's constants."""

    store: str
    files: tuple[tuple[int, PartFile], ...]

    @property
    def mark(self) -> str:
        """What a finished partition remembers of all that it may have been sent."""
        text = "+".join(f"{sender}:{file.sums}" for sender, file in self.files)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def received(self, addressee: int) -> dict[int, memoryview]:
        """What was sent to one call."""
        if not self.files:
            return {}
        folder, (first, *others) = Folder(self.store), self.files
        own, end = take_parcel(folder, first[1], addressee)
        parcels = {first[0]: memoryview(own)}

        def taken(sent: tuple[int, PartFile]) -> tuple[int, memoryview]:
            return sent[0], memoryview(take_parcel(folder, sent[1], addressee, end)[0])

        largest = max([1, *(file.bytes for _, file in self.files)])
        at_once = 1 if folder.is_local else max(1, min(AT_ONCE, len(self.files), _BYTES_AT_ONCE // largest))
        if at_once == 1:
            return parcels | dict(map(taken, others))
        with ThreadPoolExecutor(at_once) as readers:
            return parcels | dict(readers.map(taken, others))


_ENTRY = struct.Struct("<QIII")  # where a parcel begins in the value, its length packed and unpacked, its checksum
ENTRY_BYTES = _ENTRY.size
_END = struct.Struct("<QI8s")  # how many entries, the checksum of the index, and what all of this is
_OF_PARQUET = struct.Struct("<I4s")  # how long the footer is, and Parquet's own mark
_MARK = b"PARCELS1"
_END_BYTES = 16 << 10
"""So much of a file's end is read at once: its footer and the index of several hundred addressees."""
_SPARE = 256
"""By so much footers differ at the most, in how many digits their numbers have."""


def parcels(sent: Mapping[int, bytes]) -> pa.Table:
    """The Parcels of one partition.

    >>> parcels({0: b"low", 3: b"high"}).num_rows
    1
    """
    packed, entries, at = [], [], 0
    for number in range(max(sent, default=-1) + 1):
        parcel = pa.compress(sent[number], codec="zstd", asbytes=True) if number in sent else b""
        packed.append(parcel)
        entries.append(_ENTRY.pack(at, len(parcel), len(sent.get(number, b"")), zlib.crc32(parcel)))
        at += len(parcel)
    index = b"".join(entries)
    value = b"".join([*packed, index, _END.pack(len(entries), zlib.crc32(index), _MARK)])
    return pa.table({"parcels": pa.array([value], pa.large_binary())}, schema=Parcels.schema)


class _NotAsWrittenError(Exception):
    """What was read is not what was written."""


def take_parcel(folder: Folder, file: PartFile, addressee: int, end: int = _END_BYTES) -> tuple[bytes, int]:
    """What one file holds for an addressee, and how much of the end of another file like it is to be read.

    RunError by name where the file is damaged or gone.
    """
    try:
        with folder.open(file.file, file.bytes, little=True) as source:
            return _parcel(source, file.bytes, addressee, end)
    except (OSError, struct.error, _NotAsWrittenError) as error:
        raise damaged(folder, file, error) from error


def _parcel(source: BinaryIO, size: int, addressee: int, end: int) -> tuple[bytes, int]:
    index, first = _index(source, size, end)
    if addressee * _ENTRY.size >= len(index):
        raise _NotAsWrittenError(f"it holds nothing for {addressee}")
    start, length, unpacked, checksum = _ENTRY.unpack_from(index, addressee * _ENTRY.size)
    if not length:  # even of nothing a packed parcel has some bytes
        raise _NotAsWrittenError(f"it holds nothing for {addressee}")
    begin_of_last, length_of_last, *_ = _ENTRY.unpack_from(index, len(index) - _ENTRY.size)
    value = first - begin_of_last - length_of_last
    packed = _read(source, value + start, value + start + length)
    if zlib.crc32(packed) != checksum:
        raise _NotAsWrittenError(f"parcel {addressee} is another one")
    return bytes(pa.decompress(packed, unpacked, codec="zstd", asbytes=True)), size - first + _SPARE


def _index(source: BinaryIO, size: int, end: int) -> tuple[bytes, int]:
    """The index of a file of so many bytes, and where in the file it begins."""
    known_from = max(0, size - end)
    known = _read(source, known_from, size)
    footer, _ = _OF_PARQUET.unpack_from(known, len(known) - _OF_PARQUET.size)
    over = size - _OF_PARQUET.size - footer - _END.size
    count, checksum, mark = _END.unpack_from(known, over - known_from)
    first = over - count * _ENTRY.size
    if mark != _MARK or first < 0:
        raise _NotAsWrittenError("it holds no parcels")
    if first >= known_from:
        index = known[first - known_from : over - known_from]
    else:
        index = _read(source, first, over)
    if zlib.crc32(index) != checksum:
        raise _NotAsWrittenError("the index of its parcels is another one")
    return index, first


def _read(source: BinaryIO, start: int, stop: int) -> bytes:
    source.seek(start)
    content = source.read(stop - start)
    if len(content) != stop - start:
        raise _NotAsWrittenError(f"it ends {stop - start - len(content)} bytes early")
    return content
