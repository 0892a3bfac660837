"""What the test of an order counts of its known samples: by ranges on the workers, or all of it as one range.

The samples are dealt out twice. Ranges of the score know where each stands in the order; what that comes to goes on to
ranges of clusters, as a cluster counts as one. The same numbers come out of however many ranges there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from assay.infra.artifacts import Artifact
from assay.infra.parcels import Parcels, Received, parcels
from assay.infra.partitions import (
    Columns,
    Tallied,
    map_pieces,
    reduce_pieces,
    tally_of,
)
from assay.tasks.ordering import sorting
from assay.tasks.ordering.cluster_sums import (
    ClusterSums,
    Placed,
    cluster_sums,
    dealt_by_cluster,
    placed,
    placed_received,
)
from assay.tasks.ordering.differing import HashRange, range_of
from assay.tasks.ordering.known import Known
from assay.tasks.ordering.known_ranges import (
    KnownIn,
    Range,
    counted_ties,
    ends_in_order,
    firsts_of,
    known_ranges,
    range_rows,
)
from assay.tasks.ordering.pools import Pools
from assay.tasks.ordering.sort_keys import Integers
from assay.tasks.ordering.whole_ties import Around, Less, Risks, around, mean_risk
from assay.tasks.statistics.selective import PARTS

_WHOLE = "whole"


@dataclass(frozen=True)
class Judged:
    """What was counted along one order: `sums` over its clusters, and its mean risk, in all and without each part."""

    sums: ClusterSums
    one_score: tuple[bool, ...]
    """Whether all samples have one score, in this order and in ours beside it."""
    risk: float
    risk_without: tuple[float, ...]


def judged_at_once(orders: Sequence[Known], pools: Pools) -> Judged:
    """What is counted along the first order, with that of ours beside it where there is a second."""
    sorted_ = [known.in_order() for known in orders]
    ends = [ends_in_order(known, pools) for known in sorted_]
    here = [around([each], PARTS)[0] for each in ends]
    rows = [placed_along(known, each) for known, each in zip(sorted_, here, strict=True)]
    sums = ClusterSums(**cluster_sums(rows[0], rows[1] if len(rows) > 1 else None))
    return _judged(sums, [[each] for each in ends], here[0], risks_along(sorted_[0], here[0], pools))


def judged_by_ranges(inputs: Sequence[Columns], known: KnownIn, pools: Pools, name: str = "") -> Judged:
    """As `judged_at_once`, of the orders of these columns; `name` where a stage judges more than once."""
    ends, found = known_ranges(inputs, known, pools, name=f"{name} known".strip())
    firsts = [*firsts_of(found.pieces), len(found.pieces)]
    ranges = -(-inputs[0].artifact.rows // range_rows())
    rows: Artifact[Parcels] = map_pieces(
        placed_in_range,
        found.pieces,
        into=Parcels,
        name=f"{name} placed".strip(),
        sent=found.sent,
        arounds=found.arounds,
        firsts=firsts,
        pools=pools,
        ranges=ranges,
    )
    sorting.require_all(rows, len(found.pieces))
    pieces = [HashRange(number) for number in range(ranges)]
    sums = reduce_pieces(sums_in_range, pieces, sent=rows, of_order=firsts[1])
    of_each = [ends[first:last] for first, last in pairwise(firsts)]
    return _judged(ClusterSums(**sums), of_each, found.arounds[0], tally_of(rows)["risks"])


def placed_along(known: Known, here: Around) -> Placed:
    """What the places of a sorted range's samples come to."""
    tie, of_tie, wrong = counted_ties(known.take(known.tested))
    return placed(known, tie, here.ties(of_tie, wrong))


def risks_along(known: Known, here: Around, pools: Pools) -> dict[str, int]:
    """The sum of a sorted range's risks, in all and without each part."""
    tested = known.take(known.tested)
    if not len(tested):
        return {}
    tie, of_tie, wrong = counted_ties(tested)
    ties = here.ties(of_tie, wrong)
    risks = Risks.of(ties)
    units = {_WHOLE: risks.units()}
    parts = pools.parts(tested.clusters)
    by_part = np.argsort(parts, kind="stable")
    for part, rows in enumerate(np.split(by_part, np.cumsum(np.bincount(parts, minlength=PARTS))[:-1])):
        less = Less.of(tie[rows], ~tested.right[rows])
        units[f"{part:02d}"] = risks.without(ties, less, here, part).units()
    return units


def placed_in_range(
    piece: Range, received: Received, arounds: Sequence[Around], firsts: Sequence[int], pools: Pools, ranges: int
) -> Tallied:
    """What a range of an order sends to the ranges of clusters; and the risks of the order that is judged."""
    known, here = Known.received(received), arounds[firsts[piece.order] + piece.number]
    rows = placed_along(known, here)
    sent = parcels(dict(enumerate(dealt_by_cluster(rows, ranges, range_of(rows.clusters, ranges)))))
    return Tallied(sent, {"risks": risks_along(known, here, pools)} if piece.order == 0 else {})


def sums_in_range(_piece: HashRange, received: Received, of_order: int) -> dict[str, dict[str, int]]:
    """The sums over the clusters of a range; the first so many senders are ranges of the order that is judged."""
    parts = [received[sender] for sender in sorted(received)]
    ours = placed_received(parts[of_order:]) if parts[of_order:] else None
    return cluster_sums(placed_received(parts[:of_order]), ours)


def _judged(
    sums: ClusterSums, ends: Sequence[Sequence[Integers]], anywhere: Around, units: Mapping[str, Any]
) -> Judged:
    of_part = anywhere.counts[-1, 0]
    n = int(of_part.sum())
    without = [mean_risk(units.get(f"{part:02d}", 0), n - size) for part, size in enumerate(of_part.tolist()) if size]
    return Judged(sums, tuple(map(_one_score, ends)), mean_risk(units.get(_WHOLE, 0), n), tuple(without))


def _one_score(ends: Sequence[Integers]) -> bool:
    there = [each for each in ends if len(each)]
    return bool(there) and bool(there[0][0] == there[-1][1])
