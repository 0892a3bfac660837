"""What partitions hand to each other: bytes for each of the next step's calls, a column of them per addressee.

Where every partition has something for every call of the next step (keys by range, as a sort deals them out), it
writes one row with a column per addressee. Who reads its column of all files has what was sent to it and reads
nothing else; no process holds what all of them sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from assay.infra.artifacts import Artifact, Table
from assay.infra.folders import Folder
from assay.infra.manifests import PartFile
from assay.infra.parquet import read_part
from assay.infra.workbench import Workbench

Received = Mapping[int, memoryview]
"""What a call was sent, by the number of the partition that sent it, in their order."""


AT_ONCE, _BYTES_AT_ONCE = 16, 64 << 20
"""So many files of a store over a network are asked for at a time, fewer large ones: a call mostly waits for them."""


class Parcels(Table):
    """One row per partition, a column of bytes per addressee; gone when the stage is committed."""

    schema = pa.schema([])
    extras = pa.large_binary()


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
        folder, name = Folder(self.store), column_for(addressee)

        def taken(one: tuple[int, PartFile]) -> tuple[int, memoryview]:
            sender, file = one
            return sender, memoryview(read_part(folder, file, [name], little=True)[name][0].as_buffer())

        at_once = 1 if folder.is_local else self._at_once()
        if at_once == 1:
            return dict(map(taken, self.files))
        with ThreadPoolExecutor(at_once) as readers:
            return dict(readers.map(taken, self.files))

    def _at_once(self) -> int:
        largest = max([1, *(file.bytes for _, file in self.files)])
        return max(1, min(AT_ONCE, len(self.files), _BYTES_AT_ONCE // largest))


def parcels(sent: Mapping[int, bytes]) -> pa.Table:
    """The Parcels of one partition.

    >>> parcels({0: b"low", 3: b"high"}).column_names
    ['to_00000', 'to_00003']
    """
    return pa.table({column_for(number): pa.array([sent[number]], pa.large_binary()) for number in sorted(sent)})


def column_for(addressee: int) -> str:
    """The column in which a call finds what was sent to it."""
    return f"to_{addressee:05d}"


def post_of(bench: Workbench, sent: Artifact[Any]) -> Post:
    """The files behind a table of parcels."""
    output = bench.output(sent)
    return Post(bench.run.store.url, tuple(sorted((part.index, part.files[output.place]) for part in output.parts)))
