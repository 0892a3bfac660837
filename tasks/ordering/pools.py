"""The groups that are resampled for intervals: clusters where they are few, pools of clusters where they are many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.data.schemas import Clusters
from assay.infra.artifacts import Artifact
from assay.infra.exact import Smallest
from assay.infra.partitions import Columns, reduce_partitions
from assay.tasks.ordering.sort_keys import Integers
from assay.tasks.statistics.resampling import BLOCKS
from assay.tasks.statistics.selective import PARTS


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
