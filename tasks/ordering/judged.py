"""What the test of an order counts of its known samples: by ranges on the workers, or all of it as one range.

The samples are dealt out twice. Ranges of the score know where each stands in the order; what that comes to goes on to
ranges of clusters, as a cluster counts as one. The same numbers come out of however many ranges there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Clusters, Intervals, Samples
from assay.infra.artifacts import Artifact
from assay.infra.parcels import Parcels, Received, parcels
from assay.infra.partitions import (
    Columns,
    Tallied,
    map_partitions,
    map_pieces,
    reduce_partitions,
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
from assay.tasks.ordering.pools import Pools
from assay.tasks.ordering.sort_keys import Integers, Keys, drawn_keys, keys_of, range_bounds, scores_of
from assay.tasks.ordering.validity import RIGHT, UNKNOWN
from assay.tasks.ordering.whole_ties import Around, Less, Risks, around, ends_of, mean_risk, places_of
from assay.tasks.statistics.calibration import BINS
from assay.tasks.statistics.clusters import sums_by_cluster
from assay.tasks.statistics.selective import PARTS

_SHARE = 2
"""Of the rows of a range as `sorting` cuts them, one in so many: a sample takes about twice the memory here."""

_WHOLE = "whole"
_HALF = 26  # bits: a number up to 1 is so many bits, and 27 more


@dataclass(frozen=True)
class Judged:
    """What was counted along one order: `sums` over its clusters, and its mean risk, in all and without each part."""

    sums: ClusterSums
    one_score: tuple[bool, ...]
    """Whether all samples have one score, in this order and in ours beside it."""
    risk: float
    risk_without: tuple[float, ...]


@dataclass(frozen=True)
class Calibrated:
    """What was counted along the confidence, by pool and bin: [G, b] samples, right ones, and the sum of confidences;
    and [G] the sum of (confidence − right)²."""

    samples: Integers
    right: Integers
    confidence: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Range:
    """A range of one of the orders that are looked at together, by both their numbers from 0."""

    order: int
    number: int


@dataclass(frozen=True)
class Ranges:
    """Known samples on their way to the ranges of one order or two, and where each range stands."""

    pieces: list[Range]
    sent: Artifact[Parcels]
    arounds: list[Around]


def judged_at_once(orders: Sequence[Known], pools: Pools) -> Judged:
    """What is counted along the first order, with that of ours beside it where there is a second."""
    sorted_ = [known.in_order() for known in orders]
    ends = [ends_in_order(known, pools) for known in sorted_]
    here = [around([each], PARTS)[0] for each in ends]
    rows = [placed_along(known, each) for known, each in zip(sorted_, here, strict=True)]
    sums = ClusterSums(**cluster_sums(rows[0], rows[1] if len(rows) > 1 else None))
    return _judged(sums, [[each] for each in ends], here[0], risks_along(sorted_[0], here[0], pools))


def judged_by_ranges(
    orders: Sequence[tuple[Artifact[Intervals], str]],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    pools: Pools,
    apart: bool,
) -> Judged:
    """As `judged_at_once`, of orders by these scores."""
    ends, found = _ranges(orders, samples, clusters, apart, pools, name="known")
    firsts = [*_firsts(found.pieces), len(found.pieces)]
    ranges = -(-clusters.rows // _range_rows())
    rows: Artifact[Parcels] = map_pieces(
        placed_in_range,
        found.pieces,
        into=Parcels,
        name="placed",
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


def calibrated_at_once(known: Known, pools: Pools) -> Calibrated:
    """What is counted along the confidence of these samples."""
    ordered = known.in_order()
    ends = ends_in_order(ordered, None)
    return _calibrated(calibration_sums(ordered, around([ends], 1)[0], pools))


def calibrated_by_ranges(
    intervals: Artifact[Intervals], samples: Artifact[Samples], clusters: Artifact[Clusters], pools: Pools
) -> Calibrated:
    """As `calibrated_at_once`."""
    _, found = _ranges([(intervals, "confidence")], samples, clusters, False, None, name="confidences")
    counted = reduce_pieces(calibration_in_range, found.pieces, sent=found.sent, arounds=found.arounds, pools=pools)
    return _calibrated(counted)


def known_in(intervals: pa.Table, samples: pa.Table, clusters: pa.Table, score: str, apart: bool) -> Known:
    """The samples of a partition whose label is known to be right or wrong; undecided ones stand `apart` or do not."""
    outcomes = sorting.known_of(intervals, samples)
    rows = np.flatnonzero(outcomes != UNKNOWN)
    keys = keys_of(intervals[score].to_numpy()[rows], intervals["tie_break"].to_numpy()[rows])
    undecided = intervals["undecided"].to_numpy()[rows]
    return Known(keys, clusters["cluster"].to_numpy()[rows], outcomes[rows] == RIGHT, ~(undecided & apart))


def ends_in_order(known: Known, pools: Pools | None) -> Integers:
    """What a sorted range says of itself, with the parts of its clusters or without."""
    tested = known.take(known.tested)
    parts = np.zeros(len(tested), dtype=np.int64) if pools is None else pools.parts(tested.clusters)
    return ends_of(tested.keys.scores, ~tested.right, parts, 1 if pools is None else PARTS)


def placed_along(known: Known, here: Around) -> Placed:
    """What the places of a sorted range's samples come to."""
    tie, of_tie, wrong = _counted(known.take(known.tested))
    return placed(known, tie, here.ties(of_tie, wrong))


def risks_along(known: Known, here: Around, pools: Pools) -> dict[str, int]:
    """The sum of a sorted range's risks, in all and without each part."""
    tested = known.take(known.tested)
    if not len(tested):
        return {}
    tie, of_tie, wrong = _counted(tested)
    ties = here.ties(of_tie, wrong)
    risks = Risks.of(ties)
    units = {_WHOLE: risks.units()}
    parts = pools.parts(tested.clusters)
    by_part = np.argsort(parts, kind="stable")
    for part, rows in enumerate(np.split(by_part, np.cumsum(np.bincount(parts, minlength=PARTS))[:-1])):
        less = Less.of(tie[rows], ~tested.right[rows])
        units[f"{part:02d}"] = risks.without(ties, less, here, part).units()
    return units


def calibration_sums(known: Known, here: Around, pools: Pools) -> Integers:
    """Of a range sorted by confidence, [pools, bins, 6]: samples, right ones, the sums of the confidences and of
    (confidence − right)², both in two halves of whole numbers. Bins hold equally many samples, ties kept together."""
    tie, of_tie, wrong = _counted(known)
    ties = here.ties(of_tie, wrong)
    middle = 2 * (ties.n - ties.before) - ties.size  # twice the rank of the middle of the tie, from the least confident
    cells = pools.of(known.clusters) * BINS + (middle * BINS // (2 * max(ties.n, 1)))[tie]
    confidence, right = np.clip(scores_of(known.keys.scores), 0, 1), known.right.astype(np.int64)
    columns = (np.ones_like(right), right, *_halves(confidence), *_halves((confidence - right) ** 2))
    sums = [sums_by_cluster(cells, column, pools.count * BINS) for column in columns]
    return np.stack(sums, axis=1).reshape(pools.count, BINS, len(columns))


def known_drawn(*tables: pa.Table, scores: Sequence[str], rows: int) -> dict[str, object]:
    """How many samples of a partition are known, and some of their keys in each order."""
    orders = _known_in_each(tables, scores, apart=False)
    return {
        "rows": len(orders[0]),
        "keys": {str(at): drawn_keys(known.keys, rows) for at, known in enumerate(orders)},
    }


def known_dealt(*tables: pa.Table, scores: Sequence[str], apart: bool, bounds: Sequence[Keys]) -> pa.Table:
    """What a partition sends to the ranges of the orders."""
    orders = zip(_known_in_each(tables, scores, apart), bounds, strict=True)
    return parcels(dict(enumerate(chain.from_iterable(known.dealt(each) for known, each in orders))))


def ends_in_range(piece: Range, received: Received, pools: Pools | None) -> dict[str, object]:
    """What a range says of itself, by its name."""
    return {_name(piece): ends_in_order(Known.received(received), pools)}


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


def calibration_in_range(piece: Range, received: Received, arounds: Sequence[Around], pools: Pools) -> Integers:
    """As `calibration_sums`, of what a range was sent."""
    return calibration_sums(Known.received(received), arounds[piece.number], pools)


def _ranges(
    orders: Sequence[tuple[Artifact[Intervals], str]],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    apart: bool,
    pools: Pools | None,
    name: str,
) -> tuple[list[Integers], Ranges]:
    """Every partition's known samples, sent to the ranges of each order; and what each range says of itself."""
    scores = [score for _, score in orders]
    beside = (Columns(samples, ("gold",)), Columns(clusters, ("cluster",)))
    inputs = [
        Columns(table, tuple(dict.fromkeys((score, "tie_break", "label", "undecided")))) for table, score in orders
    ]
    drawn = reduce_partitions(known_drawn, *inputs, *beside, scores=scores, rows=_range_rows())
    count = -(-drawn["rows"] // _range_rows())
    bounds = [range_bounds(drawn["keys"][str(at)], count) for at in range(len(orders))]
    pieces = [Range(at, number) for at, each in enumerate(bounds) for number in range(len(each.scores) + 1)]
    sent: Artifact[Parcels] = map_partitions(
        known_dealt, *inputs, *beside, into=Parcels, name=name, scores=scores, apart=apart, bounds=bounds
    )
    sorting.require_all(sent, orders[0][0].partitions)
    said: Mapping[str, Integers] = reduce_pieces(ends_in_range, pieces, sent=sent, pools=pools)
    ends = [said[_name(piece)] for piece in pieces]
    firsts = [*_firsts(pieces), len(pieces)]
    parts = 1 if pools is None else PARTS
    arounds = list(chain.from_iterable(around(ends[a:b], parts) for a, b in pairwise(firsts)))
    return ends, Ranges(pieces, sent, arounds)


def _known_in_each(tables: Sequence[pa.Table], scores: Sequence[str], apart: bool) -> list[Known]:
    *intervals, samples, clusters = tables
    return [known_in(table, samples, clusters, score, apart) for table, score in zip(intervals, scores, strict=True)]


def _range_rows() -> int:
    return max(1, sorting.RANGE_ROWS // _SHARE)


def _firsts(pieces: Sequence[Range]) -> list[int]:
    """Which piece is the first of each order."""
    return [at for at, piece in enumerate(pieces) if piece.number == 0]


def _name(piece: Range) -> str:
    return f"{piece.order} {piece.number:09d}"


def _counted(tested: Known) -> tuple[Integers, Integers, Integers]:
    """Of a sorted range: the tie of each sample, and how many samples, and wrong ones, of each tie are here."""
    tie = places_of(tested.keys.scores)
    of_tie = np.bincount(tie)
    return tie, of_tie, np.bincount(tie[~tested.right], minlength=len(of_tie))


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


def _calibrated(sums: Integers) -> Calibrated:
    there, filled = sums[:, :, 0].any(axis=1), sums[:, :, 0].any(axis=0)
    samples, right, *halves = np.moveaxis(sums[there][:, filled], 2, 0)
    squares = _joined(*(half.sum(axis=1) for half in halves[2:]))
    return Calibrated(samples, right, _joined(*halves[:2]), squares)


def _halves(values: npt.NDArray[np.float64]) -> tuple[Integers, Integers]:
    """Numbers from 0 to 1 in units of 2^-53, as whole numbers of an upper and a lower half: these add up exactly."""
    units = np.rint(np.ldexp(values, _HALF + 27)).astype(np.int64)
    return units >> _HALF, units & ((1 << _HALF) - 1)


def _joined(upper: Integers, lower: Integers) -> npt.NDArray[np.float64]:
    return np.asarray(np.ldexp(upper.astype(np.float64), -27) + np.ldexp(lower.astype(np.float64), -_HALF - 27))
