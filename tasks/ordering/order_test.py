"""Whether labels get worse along an order, sample by sample; which of two orders tells right from wrong better; and
whether the labeler's confidence is a chance.

Samples are dealt out twice. Ranges of the score know where each sample stands in the order; what that comes to goes on
to ranges of clusters, as a cluster counts as one. What the samples of a cluster come to are whole numbers, summed over
the samples of a cluster first and as products over clusters then, so that the same numbers come out of however many
ranges there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.infra.stages.partitions import Columns, Tallied, map_pieces, reduce_pieces, tally_of
from assay.infra.stages.shuffle import Parcels, Received, parcels
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering import sorting
from assay.tasks.ordering.clusters import Pools, range_of
from assay.tasks.ordering.datasets import Integers, packed, scores_of, unpacked
from assay.tasks.ordering.ranges import (
    Bools,
    FindLabelled,
    LabelledSamples,
    LeftOut,
    Range,
    Risks,
    Surroundings,
    Ties,
    counted_ties,
    firsts_of,
    labelled_ranges,
    mean_risk,
    range_rows,
)
from assay.tasks.ordering.settings import OURS
from assay.tasks.statistics.calibration import BINS, PARTS, gap_interval, share_interval
from assay.tasks.statistics.clusters import counted_share, sums_by_cluster
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_test import (
    Area,
    OrderTest,
    area_finding,
    area_from,
    cluster_variance,
    difference_from,
    gain_finding,
    influence,
    joint_influence,
    trend_findings,
    trend_from,
    whole_dot,
    why_not_tested,
)
from assay.tasks.statistics.resampling import Interval, bca_interval, ratio_of

AREA = ("placed", "right", "wrong")
SHARES = ("first", "last", "untested")
OURS_AREA = tuple(f"ours {name}" for name in AREA)
_TOGETHER = (("weighted", "ranked"), (*AREA, *OURS_AREA), *((f"{name} right", name) for name in SHARES))
"""Columns of which every two are multiplied."""

WholeColumns = dict[str, Integers]
_RIGHT, _TESTED, _IN_FIRST, _IN_LAST = 1, 2, 4, 8


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
            (1 if first == second else 2) * weighted[first] * weighted[second] * self.products[f"{first} {second}"]
            for first, second in combinations_with_replacement(names, 2)
        )


def placed(known: LabelledSamples, tie: Integers, ties: Ties) -> Placed:
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
    return packed(columns, ends.tolist())


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


def _count(found: dict[str, dict[str, int]], columns: WholeColumns, summed: WholeColumns) -> None:
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
            f"{first} {second}": whole_dot(summed[first], summed[second])
            for first, second in combinations_with_replacement(there, 2)
        }


def _ranked(rows: Placed) -> WholeColumns:
    return {"weighted": np.where(_flagged(rows, _RIGHT), rows.centred, 0), "ranked": rows.centred}


def _areas(rows: Placed) -> WholeColumns:
    right, tested = _flagged(rows, _RIGHT), _flagged(rows, _TESTED)
    return {
        "placed": rows.placed,
        "right": (tested & right).astype(np.int64),
        "wrong": (tested & ~right).astype(np.int64),
        "doubled": np.where(tested & right, rows.placed, 0),
    }


def _shares(rows: Placed) -> WholeColumns:
    right, tested = _flagged(rows, _RIGHT), _flagged(rows, _TESTED)
    chosen = {"first": _flagged(rows, _IN_FIRST), "last": _flagged(rows, _IN_LAST), "untested": ~tested}
    shares = {name: each.astype(np.int64) for name, each in chosen.items()}
    return shares | {f"{name} right": (each & right).astype(np.int64) for name, each in chosen.items()}


def _flagged(rows: Placed, flag: int) -> Bools:
    return (rows.flags & flag).astype(np.bool_)


_WHOLE = "whole"


@dataclass(frozen=True)
class OrderCounts:
    """What was counted along one order: `sums` over its clusters, and its mean risk, in all and without each part."""

    sums: ClusterSums
    one_score: tuple[bool, ...]
    """Whether all samples have one score, in this order and in ours beside it."""
    risk: float
    risk_without: tuple[float, ...]


def count_order(inputs: Sequence[Columns], known: FindLabelled, pools: Pools, name: str = "") -> OrderCounts:
    """What is counted along the first order of these columns, with that of ours beside it where there is a second.

    `name` tells the counts apart where a stage makes several.
    """
    ends, found = labelled_ranges(inputs, known, pools, name=f"{name} known".strip())
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
    pieces = [sorting.Range(number) for number in range(ranges)]
    sums = reduce_pieces(sums_in_range, pieces, sent=rows, of_order=firsts[1])
    of_each = [ends[first:last] for first, last in pairwise(firsts)]
    return _order_counts(ClusterSums(**sums), of_each, found.arounds[0], tally_of(rows)["risks"])


def placed_along(known: LabelledSamples, here: Surroundings) -> Placed:
    """What the places of a sorted range's samples come to."""
    tie, of_tie, wrong = counted_ties(known.take(known.tested))
    return placed(known, tie, here.ties(of_tie, wrong))


def risks_along(known: LabelledSamples, here: Surroundings, pools: Pools) -> dict[str, int]:
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
        less = LeftOut.of(tie[rows], ~tested.right[rows])
        units[f"{part:02d}"] = risks.without(ties, less, here, part).units()
    return units


def placed_in_range(
    piece: Range, received: Received, arounds: Sequence[Surroundings], firsts: Sequence[int], pools: Pools, ranges: int
) -> Tallied:
    """What a range of an order sends to the ranges of clusters; and the risks of the order that is judged."""
    known, here = LabelledSamples.received(received), arounds[firsts[piece.order] + piece.number]
    rows = placed_along(known, here)
    sent = parcels(dict(enumerate(dealt_by_cluster(rows, ranges, range_of(rows.clusters, ranges)))))
    return Tallied(sent, {"risks": risks_along(known, here, pools)} if piece.order == 0 else {})


def sums_in_range(_piece: sorting.Range, received: Received, of_order: int) -> dict[str, dict[str, int]]:
    """The sums over the clusters of a range; the first so many senders are ranges of the order that is judged."""
    parts = [received[sender] for sender in sorted(received)]
    ours = Placed(*unpacked(parts[of_order:], 3)) if parts[of_order:] else None
    return cluster_sums(Placed(*unpacked(parts[:of_order], 3)), ours)


def _order_counts(
    sums: ClusterSums, ends: Sequence[Sequence[Integers]], anywhere: Surroundings, units: Mapping[str, Any]
) -> OrderCounts:
    of_part = anywhere.counts[-1, 0]
    n = int(of_part.sum())
    without = [mean_risk(units.get(f"{part:02d}", 0), n - size) for part, size in enumerate(of_part.tolist()) if size]
    return OrderCounts(sums, tuple(map(_one_score, ends)), mean_risk(units.get(_WHOLE, 0), n), tuple(without))


def _one_score(ends: Sequence[Integers]) -> bool:
    there = [each for each in ends if len(each)]
    return bool(there) and bool(there[0][0] == there[-1][1])


_HALF = 26  # bits: a number up to 1 is so many bits, and 27 more


@dataclass(frozen=True)
class CalibrationCounts:
    """What was counted along the confidence, by pool and bin: [G, b] samples, right ones, and the sum of confidences;
    and [G] the sum of (confidence − right)²."""

    samples: Integers
    right: Integers
    confidence: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]


def count_calibration(inputs: Sequence[Columns], known: FindLabelled, pools: Pools) -> CalibrationCounts:
    """What is counted along the confidence, the one order of these columns."""
    _, found = labelled_ranges(inputs, known, None, name="confidences")
    counted = reduce_pieces(calibration_in_range, found.pieces, sent=found.sent, arounds=found.arounds, pools=pools)
    return _calibration_counts(counted)


def calibration_sums(known: LabelledSamples, here: Surroundings, pools: Pools) -> Integers:
    """Of a range sorted by confidence, [pools, bins, 6]: samples, right ones, the sums of the confidences and of
    (confidence − right)², both in two halves of whole numbers. Bins hold equally many samples, ties kept together."""
    tie, of_tie, wrong = counted_ties(known)
    ties = here.ties(of_tie, wrong)
    middle = 2 * (ties.n - ties.before) - ties.size  # twice the rank of the middle of the tie, from the least confident
    cells = pools.of(known.clusters) * BINS + (middle * BINS // (2 * max(ties.n, 1)))[tie]
    confidence, right = np.clip(scores_of(known.keys.scores), 0, 1), known.right.astype(np.int64)
    columns = (np.ones_like(right), right, *halves(confidence), *halves((confidence - right) ** 2))
    sums = [sums_by_cluster(cells, column, pools.count * BINS) for column in columns]
    return np.stack(sums, axis=1).reshape(pools.count, BINS, len(columns))


def calibration_in_range(piece: Range, received: Received, arounds: Sequence[Surroundings], pools: Pools) -> Integers:
    """As `calibration_sums`, of what a range was sent."""
    return calibration_sums(LabelledSamples.received(received), arounds[piece.number], pools)


def _calibration_counts(sums: Integers) -> CalibrationCounts:
    there, filled = sums[:, :, 0].any(axis=1), sums[:, :, 0].any(axis=0)
    samples, right, *rest = np.moveaxis(sums[there][:, filled], 2, 0)
    squares = joined(*(half.sum(axis=1) for half in rest[2:]))
    return CalibrationCounts(samples, right, joined(*rest[:2]), squares)


def halves(values: npt.NDArray[np.float64]) -> tuple[Integers, Integers]:
    """Numbers from 0 to 1 in units of 2^-53, as whole numbers of an upper and a lower half: these add up exactly."""
    units = np.rint(np.ldexp(values, _HALF + 27)).astype(np.int64)
    return units >> _HALF, units & ((1 << _HALF) - 1)


def joined(upper: Integers, lower: Integers) -> npt.NDArray[np.float64]:
    """The sums of numbers, from those of their halves."""
    return np.asarray(np.ldexp(upper.astype(np.float64), -27) + np.ldexp(lower.astype(np.float64), -_HALF - 27))


_SHARE_NAMES = dict(zip(SHARES, ("first_tenth", "last_tenth", "accuracy_undecided"), strict=True))


def order_test_findings(judged: OrderCounts, significance: float, approach: str, labeler: str) -> list[Finding]:
    """What is concluded of one order, each `of` the approach, its `group` the labeler.

    `ordering.trend_p` is the two-sided p of the fall, `ordering.auc` its size: how often a right label outranks a wrong
    one. Beside them the first and the last tenth, the undecided samples, the area under the risk-coverage curve, and
    how much better than ours the order tells right from wrong.
    """
    tested, is_ours = order_test_of(judged), approach == OURS.name
    risk = share_interval(judged.risk, judged.risk_without)
    found = [
        *trend_findings("ordering", tested, significance, CONCLUDED if is_ours else COMPARED),
        *(share_finding("ordering", judged.sums, name) for name in SHARES),
        area_finding("ordering.aurc", risk, tested.n),
    ]
    if not is_ours:
        found.append(gain_finding("ordering.auc_gain", area_gain(judged), tested.n))
    return [replace(finding, of=approach, group=labeler) for finding in found]


def calibration_findings(counted: CalibrationCounts, labeler: str, generator: np.random.Generator) -> list[Finding]:
    """Whether the labeler's confidence is the chance that its label is right: calibration error and Brier's score."""
    n = int(counted.samples.sum())
    if not n:
        return [Finding(f"weak_labels.{name}", n=0, verdict="not measured", group=labeler) for name in ("ece", "brier")]
    measured = {
        "weak_labels.ece": order_calibration_error(counted, generator),
        "weak_labels.brier": mean_over_pools(counted.squares, counted.samples.sum(axis=1), generator),
    }
    return [replace(area_finding(metric, found, n), group=labeler) for metric, found in measured.items()]


def order_calibration_error(counted: CalibrationCounts, generator: np.random.Generator) -> Interval:
    """The calibration error of what was counted, over resampled pools."""
    return gap_interval(counted.right - counted.confidence, counted.samples.sum(axis=1).astype(np.float64), generator)


def mean_over_pools(sums: npt.NDArray[np.float64], sizes: Integers, generator: np.random.Generator) -> Interval:
    """The mean of what adds up to these sums by pool, over resampled pools."""
    return bca_interval(ratio_of(sums, sizes.astype(np.float64)), len(sizes), generator)


def order_test_of(judged: OrderCounts) -> OrderTest:
    """The test of the order: `order_test`, from what was counted by cluster."""
    sums, clusters = judged.sums.sums, judged.sums.clusters
    won, lost, groups = sums["right"], sums["wrong"], clusters["tested"]
    n = won + lost
    why_not = why_not_tested(n, won, groups, judged.one_score[0])
    if why_not:
        return OrderTest(n, won, groups, silent=why_not)
    total = n * sums["weighted"] - won * sums["ranked"]
    trend = trend_from(total, judged.sums.squared(("weighted", "ranked"), (n, -won)), groups)
    weights, denominator = influence(sums["doubled"], won, lost)
    variance = cluster_variance(judged.sums.squared(AREA, weights), denominator, groups)
    pairs = min(clusters["right"], clusters["wrong"])
    area = area_from(Fraction(sums["doubled"], 2 * won * lost), variance, groups, pairs)
    return OrderTest(n, won, groups, trend.t, trend.p_value, area)


def area_gain(judged: OrderCounts) -> Area | None:
    """The order's area less ours, paired by cluster; None where one of them has none."""
    sums, clusters = judged.sums.sums, judged.sums.clusters
    areas, shares = [], []
    for ours, one_score in zip(("", "ours "), judged.one_score, strict=True):
        doubled, won, lost = (sums[f"{ours}{name}"] for name in ("doubled", "right", "wrong"))
        if why_not_tested(won + lost, won, clusters[f"{ours}tested"], one_score):
            return None
        areas.append(Fraction(doubled, 2 * won * lost))
        shares.append(influence(doubled, won, lost))
    weights, denominator = joint_influence(*shares)
    groups = max(clusters["tested"], clusters["ours tested"])
    variance = cluster_variance(judged.sums.squared((*AREA, *OURS_AREA), weights), denominator, groups)
    return difference_from(areas[0] - areas[1], variance, groups)


def share_finding(stage: str, sums: ClusterSums, name: str) -> Finding:
    """`STAGE.first_tenth` and its like: the share that is right of these samples."""
    n, won = sums.sums[name], sums.sums[f"{name} right"]
    squares = sums.squared((f"{name} right", name), (n, -won))
    return counted_share(f"{stage}.{_SHARE_NAMES[name]}", n, won, squares, sums.clusters[name])
