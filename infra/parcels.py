"""What partitions hand to each other: bytes for each of the next step's calls, a column of them per addressee.

Where every partition has something for every call of the next step (keys by range, as a sort deals them out), it
writes one row with a column per addressee. Who reads its column of all files has what was sent to it and reads
nothing else; no process holds what all of them sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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
        return {sender: memoryview(read_part(folder, file, [name])[name][0].as_buffer()) for sender, file in self.files}


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
