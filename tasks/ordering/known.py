"""Samples whose label is known to be right or wrong, along one score: what the test of an order is made of.

They are dealt out by ranges as `sort_keys` deals out keys, and each range is sorted by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.sort_keys import Integers, Keys, range_ends, sorted_places

Bools = npt.NDArray[np.bool_]

_ROW = 25  # bytes of a sample on its way: three whole numbers, and what is known of its label
_RIGHT, _TESTED = 1, 2


@dataclass(frozen=True)
class Known:
    """Samples with their keys, their clusters, whether their label is right, and whether the test is about them."""

    keys: Keys
    clusters: Integers  # hashes of what makes samples alike
    right: Bools
    tested: Bools  # not the undecided ones, where these stand apart

    def __len__(self) -> int:
        return len(self.clusters)

    def take(self, rows: Integers | Bools) -> Known:
        """These samples, in this order."""
        keys = Keys(self.keys.scores[rows], self.keys.ties[rows])
        return Known(keys, self.clusters[rows], self.right[rows], self.tested[rows])

    def in_order(self) -> Known:
        """The same samples, the easiest first."""
        return self.take(sorted_places(self.keys))

    def dealt(self, bounds: Keys) -> list[bytes]:
        """What a partition sends to each range."""
        ordered = self.in_order()
        flags = (_RIGHT * ordered.right + _TESTED * ordered.tested).astype(np.int8)
        columns = (*ordered.keys, ordered.clusters, flags)
        return [
            b"".join(column[start:end].tobytes() for column in columns)
            for start, end in pairwise(range_ends(ordered.keys, bounds))
        ]

    @classmethod
    def received(cls, parts: Mapping[int, memoryview]) -> Known:
        """What all partitions sent to a range, in its order."""
        columns = zip(*(_unpacked(parts[sender]) for sender in sorted(parts)), strict=True)
        scores, ties, clusters, flags = (np.concatenate(column) for column in columns)
        known = cls(Keys(scores, ties), clusters, (flags & _RIGHT).astype(np.bool_), (flags & _TESTED).astype(np.bool_))
        return known.in_order()


def _unpacked(part: memoryview) -> tuple[Integers, Integers, Integers, npt.NDArray[np.int8]]:
    rows = len(part) // _ROW
    scores, ties, clusters = np.frombuffer(part[: 24 * rows], np.int64).reshape(3, rows)
    return scores, ties, clusters, np.frombuffer(part[24 * rows :], np.int8)
