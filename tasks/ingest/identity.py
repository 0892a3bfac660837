"""Whether every id names one sample, found over any number of partitions with eight bytes a row."""

from __future__ import annotations

import hashlib
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.tasks.ingest.pieces import Piece, Reading, read_span

Hashes = NDArray[np.int64]


class CountedIds(TypedDict):
    """Hashes of the ids of partitions, each under the hash of all of them, and how often that partition was met."""

    hashes: dict[str, Hashes]
    times: dict[str, int]


def hash_ids(ids: pa.Array) -> Hashes:
    """A 48-bit hash of every id (48, so that the hashes of equal partitions can be added up without overflow)."""
    from pandas.util import hash_array

    values = np.asarray(ids.to_numpy(zero_copy_only=False), dtype=object)
    hashed: NDArray[np.uint64] = hash_array(values, categorize=False)
    return (hashed >> np.uint64(16)).astype(np.int64)


def count_ids(samples: pa.Table) -> CountedIds:
    """The hashes of a partition's ids, ready to be merged with those of the others."""
    hashes = hash_ids(samples.column("id").combine_chunks())
    name = hashlib.sha256(hashes.tobytes()).hexdigest()
    return {"hashes": {name: hashes}, "times": {name: 1}}


def repeated_hashes(counted: CountedIds) -> Hashes:
    """The hashes met more than once: of repeated ids, and once in a while of two ids that collide."""
    parts = [
        np.repeat(hashes // counted["times"][name], min(counted["times"][name], 2))
        for name, hashes in counted["hashes"].items()
    ]
    hashes = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def count_suspects(samples: pa.Table, suspects: Hashes) -> dict[str, int]:
    """How often each id occurs whose hash is among the suspects."""
    ids = samples.column("id").combine_chunks()
    there = np.isin(hash_ids(ids), suspects)
    counts = pc.value_counts(ids.filter(pa.array(there)))
    return {item["values"].as_py(): int(item["counts"].as_py()) for item in counts}


def chosen_by_hash(samples: pa.Table, share: float, columns: list[str]) -> pa.Table:
    """About that share of the rows, chosen by the hash of their id: the same ones however the table is cut."""
    hashes = hash_ids(samples.column("id").combine_chunks())
    return samples.filter(pa.array(hashes < share * 2.0**48)).select(columns)


def places_of(ids: frozenset[str], pieces: list[Piece], reading: Reading, most: int = 5) -> list[tuple[str, str, int]]:
    """Where samples with these ids stand (id, file, row), read again piece by piece; the first `most` of them."""
    name = reading.layout.id
    places: list[tuple[str, str, int]] = []
    if name is None:
        return places
    for piece in pieces:
        for span in piece.spans:
            rows = read_span(span, reading, (name,))
            column = pc.utf8_trim_whitespace(rows.table.column(name).combine_chunks().cast(pa.string()))
            there = pc.is_in(column, value_set=pa.array(sorted(ids), pa.string())).to_numpy(zero_copy_only=False)
            for at in np.flatnonzero(there).tolist():
                places.append((column[at].as_py(), span.name, int(rows.positions[at])))
                if len(places) == most:
                    return places
    return places
