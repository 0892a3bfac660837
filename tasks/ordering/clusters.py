"""Which samples count as one in the test of an order: those of one group, else those on which all functions voted
alike.

How many clusters there are is counted in one place where they are few, else by ranges of hashes, on the workers. What
is resampled for intervals are clusters where they are few, and pools of clusters where they are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Clusters
from assay.infra.stages.exact import Smallest
from assay.infra.stages.partitions import Columns, map_partitions, reduce_partitions, reduce_pieces
from assay.infra.stages.shuffle import Parcels, Received, parcels
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering import sorting
from assay.tasks.ordering.datasets import Integers
from assay.tasks.statistics.calibration import PARTS
from assay.tasks.statistics.groups import group_hashes, hashed
from assay.tasks.statistics.resampling import BLOCKS


def cluster_table(votes: pa.Table, samples: pa.Table, *, functions: Sequence[str] | None = None) -> pa.Table:
    """The Clusters of a partition: by `source.group`, else by the votes of `functions` (left out, all).

    One pattern of votes has one label and one score, so that its samples are right or wrong together.

    >>> votes = pa.table({"id": ["a", "b", "c"], "f": pa.array([1, 0, 1], pa.int8())})
    >>> found = cluster_table(votes, votes.select(["id"]), functions=["f"])["cluster"]
    >>> found[0] == found[2], found[0] == found[1]
    (True, False)
    """
    clusters = group_hashes(samples)
    if clusters is None:
        chosen = [name for name in votes.column_names if name != "id"] if functions is None else functions
        matrix = np.stack([votes[name].to_numpy() for name in chosen], axis=1).astype(np.int8)  # [n, functions]
        clusters = hashed([row.tobytes() for row in matrix])  # quicker than to find out first which rows differ
    return pa.table({"id": votes["id"], "cluster": clusters}, schema=Clusters.schema)


_PREFIX = 24  # bits of a hash that say in which range it is


def count_clusters(clusters: Artifact[Clusters]) -> int:
    """How many of the samples' clusters differ."""
    ranges = -(-clusters.rows // sorting.RANGE_ROWS)
    sent: Artifact[Parcels] = map_partitions(
        hashes_dealt, Columns(clusters, ("cluster",)), into=Parcels, name="hashes", ranges=ranges
    )
    sorting.require_all(sent, clusters.partitions)
    return int(reduce_pieces(clusters_in_range, [sorting.Range(number) for number in range(ranges)], sent=sent))


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


def clusters_in_range(_piece: sorting.Range, received: Received) -> int:
    """How many hashes differ in a range."""
    return len(np.unique(np.concatenate([np.frombuffer(part, np.int64) for part in received.values()])))


@dataclass(frozen=True)
class Pools:
    """Where each cluster belongs, which only its hash decides, and which clusters there are."""

    few: tuple[int, ...] = ()
    """All clusters, ascending; none where there are more than `BLOCKS`, which are then put together by their hash."""

    @property
    def count(self) -> int:
        """How many pools there are at most."""
        return len(self.few) or BLOCKS

    def of(self, clusters: Integers) -> Integers:
        """The pool of each cluster.

        >>> Pools((-5, 7, 8)).of(np.array([8, -5])).tolist(), Pools().of(np.array([-1, BLOCKS])).tolist()
        ([2, 0], [3999, 0])
        """
        pools = np.searchsorted(np.array(self.few, dtype=np.int64), clusters) if self.few else clusters % BLOCKS
        return np.asarray(pools, dtype=np.int64)

    def parts(self, clusters: Integers) -> Integers:
        """The part of each cluster, of those that are left out one after the other."""
        return self.of(clusters) % PARTS


def pools_of(clusters: Artifact[Clusters]) -> Pools:
    """The pools of these clusters."""
    found = reduce_partitions(first_clusters, Columns(clusters, ("cluster",)), most=BLOCKS + 1)
    return Pools(found.values if found is not None and len(found.values) <= BLOCKS else ())


def first_clusters(clusters: pa.Table, most: int) -> Smallest:
    """The first clusters of a partition, so many of them at most."""
    return Smallest.of(np.unique(clusters["cluster"].to_numpy())[:most].tolist(), most, differing=True)
