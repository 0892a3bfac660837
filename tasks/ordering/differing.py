"""How many clusters there are: counted in one place where they are few, else by ranges of hashes, on the workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Clusters
from assay.infra.artifacts import Artifact
from assay.infra.parcels import Parcels, Received, parcels
from assay.infra.partitions import Columns, collect, map_partitions, reduce_pieces
from assay.tasks.ordering import sorting

_PREFIX = 24  # bits of a hash that say in which range it is


@dataclass(frozen=True)
class HashRange:
    """A range of hashes, by its number from 0."""

    number: int


def differing_clusters(clusters: Artifact[Clusters]) -> int:
    """How many of the samples' clusters differ."""
    if clusters.rows <= sorting.IN_ONE_PLACE:
        found: int = pc.count_distinct(collect(clusters, ["cluster"])["cluster"]).as_py()
        return found
    ranges = -(-clusters.rows // sorting.RANGE_ROWS)
    sent: Artifact[Parcels] = map_partitions(
        hashes_dealt, Columns(clusters, ("cluster",)), into=Parcels, name="hashes", ranges=ranges
    )
    sorting.require_all(sent, clusters.partitions)
    counted: int = reduce_pieces(differing_in, [HashRange(number) for number in range(ranges)], sent=sent)
    return counted


def hashes_dealt(clusters: pa.Table, ranges: int) -> pa.Table:
    """What a partition sends to each range of hashes: those of its clusters, each once."""
    hashes = np.unique(clusters["cluster"].to_numpy())
    ends = np.searchsorted(range_of(hashes, ranges), np.arange(ranges - 1), side="right")
    return parcels({number: part.tobytes() for number, part in enumerate(np.split(hashes, ends))})


def range_of(hashes: npt.NDArray[np.int64], ranges: int) -> npt.NDArray[np.int64]:
    """The range of each hash, of so many that are about even.

    >>> range_of(np.array([-(2**63), -1, 0, 2**63 - 1]), 2).tolist()
    [0, 0, 1, 1]
    """
    prefixes = (hashes >> (64 - _PREFIX)) + (1 << (_PREFIX - 1))
    return np.asarray(prefixes * ranges >> _PREFIX)


def differing_in(_piece: HashRange, received: Received) -> int:
    """How many hashes differ in a range."""
    return len(np.unique(np.concatenate([np.frombuffer(part, np.int64) for part in received.values()])))
