"""What is independent of each other (the groups that `source.group` names, else single samples), and on which samples
all functions voted alike.

What is summed up and resampled for intervals are groups, or samples, where they are few, and pools of them where they
are many. Patterns of votes are what scores are permuted over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Clusters
from assay.infra.stages.exact import Smallest
from assay.infra.stages.partitions import Columns, reduce_partitions
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.datasets import Integers, scores_of, tie_breaks
from assay.tasks.statistics.calibration import PARTS
from assay.tasks.statistics.groups import group_hashes, hashed
from assay.tasks.statistics.order_test import MOST_PATTERNS, PatternTotals, in_order_of_score
from assay.tasks.statistics.resampling import BLOCKS


def cluster_table(votes: pa.Table, samples: pa.Table, *, functions: Sequence[str] | None = None) -> pa.Table:
    """The Clusters of a partition: by `source.group`; without it each sample for itself, with the pattern of the votes
    of `functions` (left out, all).

    >>> votes = pa.table({"id": ["a", "b", "c"], "f": pa.array([1, 0, 1], pa.int8())})
    >>> table = cluster_table(votes, votes.select(["id"]), functions=["f"])
    >>> len(set(table["cluster"].to_pylist())), len(set(table["pattern"].to_pylist()))
    (3, 2)
    """
    groups = group_hashes(samples)
    if groups is not None:
        return pa.table([votes["id"], groups, pa.nulls(len(groups), pa.int64())], schema=Clusters.schema)
    chosen = [name for name in votes.column_names if name != "id"] if functions is None else functions
    matrix = np.stack([votes[name].to_numpy() for name in chosen], axis=1).astype(np.int8)  # [n, functions]
    patterns = hashed([row.tobytes() for row in matrix])  # quicker than to find out first which rows differ
    return pa.table([votes["id"], tie_breaks(votes["id"]), patterns], schema=Clusters.schema)


@dataclass(frozen=True)
class Pools:
    """Where each cluster belongs, which only its hash decides, and which clusters there are."""

    few: tuple[int, ...] = ()
    """All clusters, ascending; none where there are more than `BLOCKS`, which are then put together by their hash."""
    grouped: bool = False
    """Whether clusters are the groups that `source.group` names, and not single samples."""

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

    @property
    def words(self) -> str:
        """How many groups there are; without groups, that samples count by themselves."""
        if not self.grouped:
            return "each sample counts by itself"
        return f"{len(self.few)} groups count" if self.few else f"more than {BLOCKS} groups count"


def pools_of(clusters: Artifact[Clusters]) -> Pools:
    """The pools of these clusters."""
    counted = reduce_partitions(first_clusters, Columns(clusters, ("cluster", "pattern")), most=BLOCKS + 1)
    if counted is None:
        return Pools()
    few = counted["first"].values
    return Pools(few if len(few) <= BLOCKS else (), not counted["patterns"])


def first_clusters(clusters: pa.Table, most: int) -> dict[str, Smallest | int]:
    """The first clusters of a partition, so many of them at most; and how many samples have a pattern."""
    first = Smallest.of(np.unique(clusters["cluster"].to_numpy())[:most].tolist(), most, differing=True)
    return {"first": first, "patterns": clusters.num_rows - clusters["pattern"].null_count}


def pattern_counts(scores: Integers, patterns: Integers, right: npt.NDArray[np.bool_]) -> Integers:
    """Of samples the keys of score and pattern, how many have both, and how many of these are right, [4, G].

    >>> pattern_counts(np.array([5, 5, 7]), np.array([1, 1, 1]), np.array([True, False, True])).T.tolist()
    [[5, 1, 2, 1], [7, 1, 1, 1]]
    """
    return _merged(np.stack([scores, patterns, np.ones_like(scores), right.astype(np.int64)]))


def pattern_totals_of(counted: Sequence[Integers]) -> PatternTotals:
    """The totals of what several ranges counted: a pattern may reach over two."""
    scores, _, samples, right = _merged(np.concatenate(counted, axis=1))
    return in_order_of_score(scores_of(scores), samples, right)


def _merged(counts: Integers) -> Integers:
    """Each score and pattern once."""
    if not counts.shape[1]:
        return counts
    ordered = counts[:, np.lexsort((counts[1], counts[0]))]
    starts = np.flatnonzero(np.append(True, (np.diff(ordered[0]) != 0) | (np.diff(ordered[1]) != 0)))
    return np.concatenate([ordered[:2, starts], np.add.reduceat(ordered[2:], starts, axis=1)])


def heaviest(counts: Integers) -> Integers:
    """Of very many patterns, those with the most samples: a range sends no more of them than four times what is
    permuted."""
    kept = np.lexsort((counts[1], counts[0], -counts[2]))[: 4 * MOST_PATTERNS]
    return counts[:, np.sort(kept)]
