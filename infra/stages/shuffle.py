"""What partitions hand to each other: bytes for each of the next step's calls.

Where every partition has something for every call of the next step (keys by range, as a sort deals them out), it
writes one file with a parcel per addressee and an index of them at its end. Who takes what was sent to it out of all
files reads the ends and its own parcels; no process holds what all of them sent. Where they are many, in a store over
a network, a first round puts parcels of some senders to some addressees together, so that the requests of each grow
with the root of their number.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isqrt
from typing import BinaryIO

import pyarrow as pa

from assay.infra.errors import RunError
from assay.infra.storage.artifacts import PartFile, Table
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import UNCOMPRESSED, damaged

Received = dict[int, memoryview]
"""What a call was sent, by the number of the partition that sent it, in their order; what it takes out is freed."""


AT_ONCE, BYTES_AT_ONCE = 16, 64 << 20
"""So many files of a store over a network are asked for at a time, as long as what is wanted of them has no more bytes:
a call mostly waits for them."""


class Parcels(Table):
    """One row per partition: its parcels one after the other, and their index; gone when the stage is committed.

    A column per addressee would be the natural table, but whoever opens a Parquet file reads of all its columns: with
    as many addressees as senders that grows with the third power of the data. The one value here, stored as it is,
    ends where the file's footer begins, and is found without reading it.
    """

    schema = pa.schema([pa.field("parcels", pa.large_binary(), nullable=False, metadata=UNCOMPRESSED)])


@dataclass(frozen=True)
class Grouped:
    """How parcels were put together on their way: so many files hold what was sent to the same addressees, so many of
    them, by so many senders."""

    files: int
    addressees: int
    senders: int


@dataclass(frozen=True)
class Post:
    """The files of all senders, by the number of each; small enough to travel with a step's constants."""

    store: str
    files: tuple[tuple[int, PartFile], ...]
    grouped: Grouped | None = None
    """Where the files are those of a first round."""

    @property
    def mark(self) -> str:
        """What a finished partition remembers of all that it may have been sent."""
        text = "+".join(f"{sender}:{file.sums}" for sender, file in self.files)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def received(self, addressee: int) -> dict[int, memoryview]:
        """What was sent to one call."""
        if self.grouped is None:
            return {sender: parts[0] for sender, parts in self._taken(self.files, range(addressee, addressee + 1))}
        group, place = divmod(addressee, self.grouped.addressees)
        files = [(number, file) for number, file in self.files if number // self.grouped.files == group]
        parts = {
            sender: part
            for _, bundles in self._taken(files, range(place, place + 1))
            for sender, part in _unbundled(bundles[0])
        }
        if len(parts) != self.grouped.senders:
            raise RunError(f"{self.grouped.senders - len(parts)} senders have nothing for {addressee}: run again.")
        return parts

    def bundled(self, square: Square) -> pa.Table:
        """What some senders sent to some addressees, a parcel for each of these."""
        bundles: dict[int, list[bytes | memoryview]] = defaultdict(list)
        for sender, parts in self._taken(self.files[slice(*square.senders)], range(*square.addressees)):
            for place, part in parts.items():
                bundles[place] += [_BUNDLED.pack(sender, len(part)), part]
        return parcels({place: b"".join(parts) for place, parts in bundles.items()})

    def _taken(
        self, files: Sequence[tuple[int, PartFile]], addressees: range
    ) -> Iterator[tuple[int, dict[int, memoryview]]]:
        """By sender what these files hold for the addressees, which are counted from the first."""
        if not files:
            return
        folder, (first, *others) = Folder(self.store), files
        own, end = take_parcels(folder, first[1], addressees)
        yield first[0], own
        largest = max(file.bytes for _, file in files) / first[1].bytes * sum(map(len, own.values()))
        at_once = 1 if folder.is_local else max(1, min(AT_ONCE, len(files), int(BYTES_AT_ONCE // max(1, largest))))
        with ThreadPoolExecutor(at_once) as readers:
            taken = readers.map if at_once > 1 else map
            yield from taken(lambda sent: (sent[0], take_parcels(folder, sent[1], addressees, end)[0]), others)


_BUNDLED = struct.Struct("<QQ")  # whose parcel comes next, and how long it is


def _unbundled(bundle: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at < len(bundle):
        sender, length = _BUNDLED.unpack_from(bundle, at)
        at += _BUNDLED.size
        yield sender, bundle[at : at + length]
        at += length


@dataclass(frozen=True)
class Square:
    """Senders and addressees, by the places of the first and behind the last, whose parcels are put together."""

    senders: tuple[int, int]
    addressees: tuple[int, int]


DIRECT, BUNDLED_BYTES, LEAST = 1 << 16, 64 << 20, 4
"""So many parcels are fetched one by one; beyond that, so many bytes of them are put together at a time, where these
are of so many senders and addressees at least."""


def squares(senders: int, addressees: int, size: int) -> list[Square]:
    """What is put together in a first round, where files of so many bytes hold the parcels: then the requests of a
    sender grow with the root of their number. Nothing, where everybody asks everybody.

    >>> len(squares(100, 10, 10**9)), len(squares(10_000, 3_816, 25 * 10**9))
    (0, 384)
    """
    side = isqrt(max(1, BUNDLED_BYTES * senders * addressees // max(1, size)))
    if senders * addressees <= DIRECT or min(side, senders, addressees) < LEAST:
        return []
    columns = [(first, min(first + side, senders)) for first in range(0, senders, side)]
    rows = [(first, min(first + side, addressees)) for first in range(0, addressees, side)]
    return [Square(column, row) for row in rows for column in columns]


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


def take_parcels(
    folder: Folder, file: PartFile, addressees: range, end: int = _END_BYTES
) -> tuple[dict[int, memoryview], int]:
    """What one file holds for addressees in a row, counted from the first, and how much of the end of another file like
    it is to be read.

    RunError by name where the file is damaged or gone, or holds nothing for any of them.
    """
    try:
        with folder.open(file.file, file.bytes, little=True) as source:
            return _parcels(source, file.bytes, addressees, end)
    except (OSError, struct.error, _NotAsWrittenError) as error:
        raise damaged(folder, file, error) from error


def _parcels(source: BinaryIO, size: int, addressees: range, end: int) -> tuple[dict[int, memoryview], int]:
    index, first = _index(source, size, end)
    asked = list(_ENTRY.iter_unpack(index[addressees.start * ENTRY_BYTES : addressees.stop * ENTRY_BYTES]))
    if not any(length for _, length, *_ in asked):  # even of nothing a packed parcel has some bytes
        raise _NotAsWrittenError(f"it holds nothing for {addressees.start}")
    begin_of_last, length_of_last, *_ = _ENTRY.unpack_from(index, len(index) - ENTRY_BYTES)
    value, begin = first - begin_of_last - length_of_last, asked[0][0]
    packed = _read(source, value + begin, value + asked[-1][0] + asked[-1][1])
    parts = {}
    for place, (start, length, unpacked, checksum) in enumerate(asked):
        part = packed[start - begin : start - begin + length]
        if zlib.crc32(part) != checksum:
            raise _NotAsWrittenError(f"parcel {addressees.start + place} is another one")
        if length:
            parts[place] = memoryview(pa.decompress(part, unpacked, codec="zstd", asbytes=True))
    return parts, size - first + _SPARE


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
    index = known[first - known_from : over - known_from] if first >= known_from else _read(source, first, over)
    if zlib.crc32(index) != checksum:
        raise _NotAsWrittenError("the index of its parcels is another one")
    return index, first


def _read(source: BinaryIO, start: int, stop: int) -> bytes:
    source.seek(start)
    content = source.read(stop - start)
    if len(content) != stop - start:
        raise _NotAsWrittenError(f"it ends {stop - start - len(content)} bytes early")
    return content
