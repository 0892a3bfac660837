"""Which samples are alike, for the order's test: those of one group, else those on which all functions voted alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.data.schemas import Clusters
from assay.tasks.statistics.groups import group_hashes, hashed


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
