"""What the samples of a cluster come to together, as products summed over the clusters: all that the test needs.

Each is a whole number, and adds up over the samples of a cluster first and over clusters then, so that clusters can be
dealt out to as many places as there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.known import Bools, Known
from assay.tasks.ordering.sort_keys import Integers
from assay.tasks.ordering.whole_ties import Ties
from assay.tasks.statistics.clusters import sums_by_cluster
from assay.tasks.statistics.whole_products import whole_dot

AREA = ("placed", "right", "wrong")
SHARES = ("first", "last", "untested")
OURS_AREA = tuple(f"ours {name}" for name in AREA)
_TOGETHER = (("weighted", "ranked"), (*AREA, *OURS_AREA), *((f"{name} right", name) for name in SHARES))
"""Columns of which every two are multiplied."""

Columns = dict[str, Integers]
_RIGHT, _TESTED, _IN_FIRST, _IN_LAST = 1, 2, 4, 8
_ROW = 25


class Placed(NamedTuple):
    """Known samples as they go to their clusters: 2·(midrank − its mean), twice the labels of the other kind that a
    label stands rightly to (ties half), and what they are counted as."""

    clusters: Integers
    centred: Integers
    placed: Integers
    flags: npt.NDArray[np.int8]


@dataclass(frozen=True)
class ClusterSums:
    """Of columns of whole numbers: their sums, in how many clusters one is not 0, and Σ_g column_i[g]·column_j[g]."""

    sums: Mapping[str, int]
    clusters: Mapping[str, int]
    products: Mapping[str, int]

    def squared(self, names: Sequence[str], weights: Sequence[int]) -> int:
        """Σ_g (Σ_k weight_k · column_k[g])²."""
        weighted = dict(zip(names, weights, strict=True))
        return sum(
            (1 if one == two else 2) * weighted[one] * weighted[two] * self.products[f"{one} {two}"]
            for one, two in combinations_with_replacement(names, 2)
        )


def placed(known: Known, tie: Integers, ties: Ties) -> Placed:
    """The samples of a sorted range; `tie` is that of each tested one. Higher scores have higher ranks.

    The first tenth and the last are those of the order with its tie breaks, of the tested samples.
    """
    n, tenth, tested = ties.n, max(1, round(ties.n / 10)), known.tested
    right = known.right[tested]
    rank = np.arange(ties.start, ties.start + len(tie))
    centred, place = np.zeros(len(known), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    centred[tested] = (n - 2 * ties.before - ties.size)[tie]
    wrong_below = 2 * (ties.all_wrong - ties.lost) - ties.wrong
    right_above = 2 * (ties.before - ties.lost) + ties.size - ties.wrong
    place[tested] = np.where(right, wrong_below[tie], right_above[tie])
    flags = _RIGHT * known.right.astype(np.int8) + _TESTED * tested.astype(np.int8)
    flags[tested] += (_IN_FIRST * (rank < tenth) + _IN_LAST * (rank >= n - tenth)).astype(np.int8)
    return Placed(known.clusters, centred, place, flags)


def dealt_by_cluster(rows: Placed, ranges: int, range_of: npt.NDArray[np.int64]) -> list[bytes]:
    """What a range of the order sends to each range of clusters."""
    order = np.argsort(range_of, kind="stable")
    columns = [column[order] for column in rows]
    ends = np.searchsorted(range_of[order], np.arange(ranges + 1))
    return [b"".join(column[start:end].tobytes() for column in columns) for start, end in pairwise(ends.tolist())]


def placed_received(parts: Sequence[memoryview]) -> Placed:
    """What ranges of one order sent to a range of clusters."""
    unpacked = [_unpacked(part) for part in parts]
    return Placed(*(np.concatenate(column) for column in zip(*unpacked, strict=True)))


def cluster_sums(order: Placed, ours: Placed | None) -> dict[str, dict[str, int]]:
    """The `ClusterSums` of these clusters' samples, as they merge: of an order, and of ours where it is another."""
    both = [order.clusters] if ours is None else [order.clusters, ours.clusters]
    differing, codes = np.unique(np.concatenate(both), return_inverse=True)
    codes_here, codes_of_ours = np.split(codes, [len(order.clusters)])
    found: dict[str, dict[str, int]] = {"sums": {}, "clusters": {}, "products": {}}
    for made in (_ranked, _areas, _shares):  # one after the other, as each makes columns as long as the range
        columns = made(order)
        summed = {name: sums_by_cluster(codes_here, column, len(differing)) for name, column in columns.items()}
        if ours is not None and made is _areas:
            of_ours = {f"ours {name}": column for name, column in _areas(ours).items()}
            columns |= of_ours
            summed |= {name: sums_by_cluster(codes_of_ours, each, len(differing)) for name, each in of_ours.items()}
        _count(found, columns, summed)
    return found


def _count(found: dict[str, dict[str, int]], columns: Columns, summed: Columns) -> None:
    """Adds what these columns come to."""
    found["sums"] |= {name: int(column.sum()) for name, column in columns.items()}
    found["clusters"] |= {name: int(np.count_nonzero(column)) for name, column in summed.items()}
    for kind in ("", "ours "):
        if f"{kind}right" in summed:
            tested = summed[f"{kind}right"] + summed[f"{kind}wrong"]
            found["clusters"][f"{kind}tested"] = int(np.count_nonzero(tested))
    for names in _TOGETHER:
        there = [name for name in names if name in summed]
        found["products"] |= {
            f"{one} {two}": whole_dot(summed[one], summed[two]) for one, two in combinations_with_replacement(there, 2)
        }


def _ranked(rows: Placed) -> Columns:
    return {"weighted": np.where(_flagged(rows, _RIGHT), rows.centred, 0), "ranked": rows.centred}


def _areas(rows: Placed) -> Columns:
    right, tested = _flagged(rows, _RIGHT), _flagged(rows, _TESTED)
    return {
        "placed": rows.placed,
        "right": (tested & right).astype(np.int64),
        "wrong": (tested & ~right).astype(np.int64),
        "doubled": np.where(tested & right, rows.placed, 0),
    }


def _shares(rows: Placed) -> Columns:
    right, tested = _flagged(rows, _RIGHT), _flagged(rows, _TESTED)
    chosen = {"first": _flagged(rows, _IN_FIRST), "last": _flagged(rows, _IN_LAST), "untested": ~tested}
    shares = {name: each.astype(np.int64) for name, each in chosen.items()}
    return shares | {f"{name} right": (each & right).astype(np.int64) for name, each in chosen.items()}


def _flagged(rows: Placed, flag: int) -> Bools:
    return (rows.flags & flag).astype(np.bool_)


def _unpacked(part: memoryview) -> tuple[Integers, Integers, Integers, npt.NDArray[np.int8]]:
    rows = len(part) // _ROW
    clusters, centred, place = np.frombuffer(part[: 24 * rows], np.int64).reshape(3, rows)
    return clusters, centred, place, np.frombuffer(part[24 * rows :], np.int8)
