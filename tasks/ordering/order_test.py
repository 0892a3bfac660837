"""Whether labels get worse along an order, sample by sample; which of two orders tells right from wrong better; and
whether the labeler's confidence is a chance.

Samples are dealt out by ranges of the score, which know where each sample stands in the order. What the samples of a
pool (a group, a sample, or several of them) come to are whole numbers, so that the same come out of however many ranges
there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Integers
from assay.infra.stages.exact import merge
from assay.infra.stages.partitions import Columns, reduce_pieces
from assay.infra.stages.runs import current_run
from assay.infra.stages.shuffle import Received
from assay.tasks.ordering.datasets import scores_of
from assay.tasks.ordering.ranges import (
    DrawnPatterns,
    FindLabelled,
    LabelledSamples,
    LeftOut,
    Pools,
    Risks,
    Surroundings,
    counted_ties,
    drawn,
    labelled_ranges,
    mean_risk,
    pattern_counts,
)
from assay.tasks.ordering.settings import OURS
from assay.tasks.ordering.sorting import Range
from assay.tasks.statistics.calibration import BINS, PARTS, error_findings, gap_interval, mean_loss, share_interval
from assay.tasks.statistics.clusters import counted_share, kish, sums_by_cluster
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_test import (
    MOST_PATTERNS,
    AreaSums,
    OrderTest,
    PatternTotals,
    area_difference,
    gain_finding,
    order_test_of_sums,
    trend_findings,
    why_not_tested,
)
from assay.tasks.statistics.resampling import Interval

SHARES = ("first", "last", "untested")
_AREA = 4  # columns of an area: those of `AreaSums`
_WHOLE = "whole"
RANGES_PER_SLOT = 8
"""How many ranges per slot are counted at a time: each has up to 1 MB of patterns, of which few are kept."""


def order_columns(known: LabelledSamples, here: Surroundings) -> Iterator[Integers]:
    """Of a sorted range, per sample: what `AreaSums` has of it, and whether it is in the first tenth, the last, or
    untested, and right.

    The first tenth and the last are those of the order with its tie breaks, of the tested samples.
    """
    tie, of_tie, wrong = counted_ties(known.take(known.tested))
    ties = here.ties(of_tie, wrong)
    n, tenth, tested = ties.n, max(1, round(ties.n / 10)), known.tested
    wrong_below = 2 * (ties.all_wrong - ties.lost) - ties.wrong
    right_above = 2 * (ties.before - ties.lost) + ties.size - ties.wrong
    placed, rank = np.zeros((2, len(known)), dtype=np.int64), np.arange(ties.start, ties.start + len(tie))
    placed[:, tested] = wrong_below[tie], right_above[tie]
    ends = np.zeros((2, len(known)), dtype=np.bool_)
    ends[:, tested] = rank < tenth, rank >= n - tenth
    right, lost = tested & known.right, tested & ~known.right
    shares = [(chosen, chosen & known.right) for chosen in (*ends, ~tested)]
    columns = (placed[0] * right, placed[1] * lost, right, lost, *(column for pair in shares for column in pair))
    return (np.asarray(column, dtype=np.int64) for column in columns)


@dataclass(frozen=True)
class CalibrationCounts:
    """What was counted along the confidence, by pool and bin: [G, b] samples, right ones, and the sum of confidences;
    and [G] the sum of (confidence − right)²."""

    samples: Integers
    right: Integers
    confidence: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]

    @classmethod
    def of(cls, sums: Integers) -> CalibrationCounts:
        """From what `calibration_sums` makes of all ranges together."""
        there, filled = sums[:, :, 0].any(axis=1), sums[:, :, 0].any(axis=0)
        samples, right, *rest = np.moveaxis(sums[there][:, filled], 2, 0)
        return cls(samples, right, joined(*rest[:2]), joined(*(half.sum(axis=1) for half in rest[2:])))


@dataclass(frozen=True)
class OrderCounts:
    """What was counted along one order: `order_columns` summed by pool [columns, G]; patterns of votes where samples
    stand in no groups; the mean risk, in all and without each part; and along a confidence its calibration. Of an order
    that others are only compared with there is the area alone."""

    sums: Integers
    one_score: bool
    grouped: bool
    patterns: PatternTotals | None
    risk: float
    risk_without: tuple[float, ...]
    calibration: CalibrationCounts | None

    @property
    def area(self) -> AreaSums:
        """What the area is made of."""
        return AreaSums(*self.sums[:_AREA])


@dataclass(frozen=True)
class Counting:
    """What is counted along orders, by their numbers: of each its area, of the first `whole` all else, and of that by
    the confidence its calibration."""

    pools: Pools
    whole: int
    confidence: int | None = None

    def along(self, known: LabelledSamples, here: Surroundings, piece: Range) -> dict[str, Any]:
        """What a sorted range counts."""
        where, order = self.pools.of(known.clusters), str(piece.order)
        counted: dict[str, Any] = {
            "sums": np.stack([sums_by_cluster(where, each, self.pools.count) for each in order_columns(known, here)])
        }
        if piece.order < self.whole:
            tested = known.tested
            counts = pattern_counts(known.keys.scores[tested], known.patterns[tested], known.right[tested])
            patterns = drawn(counts, 2 * MOST_PATTERNS)
            counted |= {"patterns": {piece.name: patterns}, "risks": risks_along(known, here, self.pools)}
        if piece.order == self.confidence:
            counted["calibration"] = calibration_sums(known, here, self.pools)
        return {order: counted}

    def counts(
        self,
        counted: Mapping[str, Any],
        patterns: DrawnPatterns | None,
        ends: Sequence[Integers],
        anywhere: Surroundings,
    ) -> OrderCounts:
        """What all ranges of an order counted together."""
        of_part, units = anywhere.counts[-1, 0], counted.get("risks", {})
        n, grouped = int(of_part.sum()), self.pools.grouped
        without = [
            mean_risk(units.get(f"{part:02d}", 0), n - size) for part, size in enumerate(of_part.tolist()) if size
        ]
        calibration, there = counted.get("calibration"), [each for each in ends if len(each)]
        return OrderCounts(
            counted["sums"],
            bool(there) and bool(there[0][0] == there[-1][1]),
            grouped,
            None if grouped or patterns is None else patterns.totals(),
            mean_risk(units.get(_WHOLE, 0), n),
            tuple(without),
            None if calibration is None else CalibrationCounts.of(calibration),
        )


def count_orders(inputs: Sequence[Columns], known: FindLabelled, counting: Counting) -> list[OrderCounts]:
    """What is counted along each order of these columns."""
    ranges, counted = labelled_ranges(inputs, known, counting.pools), dict[str, Any]()
    patterns = {at: DrawnPatterns() for at in range(min(counting.whole, len(ranges.orders)))}
    at_a_time = RANGES_PER_SLOT * current_run().most_at_once()
    for start in range(0, len(ranges.pieces), at_a_time):
        here = slice(start, start + at_a_time)
        pieces = ranges.pieces[here]
        arounds = {piece: ranges.arounds[piece] for piece in pieces}
        more = reduce_pieces(
            counted_in_range, ranges.pieces, sent=ranges.sent, only=here, arounds=arounds, counting=counting
        )
        for piece in [piece for piece in pieces if piece.order in patterns]:
            patterns[piece.order].add(more[str(piece.order)]["patterns"].pop(piece.name))
        counted = merge(counted, more)
    return [
        counting.counts(counted[str(at)], patterns.get(at), ends, ranges.arounds[ranges.orders[at][0]])
        for at, ends in enumerate(ranges.ends)
    ]


def counted_in_range(
    piece: Range, received: Received, arounds: Mapping[Range, Surroundings], counting: Counting
) -> dict[str, Any]:
    """What a range counts of what it was sent."""
    return counting.along(LabelledSamples.received(received), arounds[piece], piece)


def risks_along(known: LabelledSamples, here: Surroundings, pools: Pools) -> dict[str, int]:
    """The sum of a sorted range's risks, in all and without each part."""
    tested = known.take(known.tested)
    if not len(tested):
        return {}
    tie, of_tie, wrong = counted_ties(tested)
    ties = here.ties(of_tie, wrong)
    risks = Risks.of(ties)
    units, parts = {_WHOLE: risks.units()}, pools.parts(tested.clusters)
    by_part = np.argsort(parts, kind="stable")
    for part, rows in enumerate(np.split(by_part, np.cumsum(np.bincount(parts, minlength=PARTS))[:-1])):
        less = LeftOut.of(tie[rows], ~tested.right[rows])
        units[f"{part:02d}"] = risks.without(ties, less, here, part).units()
    return units


_HALF = 26  # bits: a number up to 1 is so many bits, and 27 more


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


def halves(values: npt.NDArray[np.float64]) -> tuple[Integers, Integers]:
    """Numbers from 0 to 1 in units of 2^-53, as whole numbers of an upper and a lower half: these add up exactly."""
    units = np.rint(np.ldexp(values, _HALF + 27)).astype(np.int64)
    return units >> _HALF, units & ((1 << _HALF) - 1)


def joined(upper: Integers, lower: Integers) -> npt.NDArray[np.float64]:
    """The sums of numbers, from those of their halves."""
    return np.asarray(np.ldexp(upper.astype(np.float64), -27) + np.ldexp(lower.astype(np.float64), -_HALF - 27))


_SHARE_NAMES = dict(zip(SHARES, ("first_tenth", "last_tenth", "accuracy_undecided"), strict=True))


def order_test_findings(
    judged: OrderCounts,
    ours: OrderCounts,
    significance: float,
    approach: str,
    labeler: str,
    generator: np.random.Generator,
) -> list[Finding]:
    """What is concluded of one order, each `of` the approach, its `group` the labeler.

    `ordering.trend_p` is the two-sided p of the fall, `ordering.auc` its size: how often a right label outranks a wrong
    one. Beside them the first and the last tenth, the undecided samples, the area under the risk-coverage curve, and
    how much better than ours the order tells right from wrong.
    """
    tested, is_ours = order_test_of(judged, generator), approach == OURS.name
    found = [
        *trend_findings("ordering", tested, significance, CONCLUDED if is_ours else COMPARED),
        *(share_finding("ordering", judged, name) for name in SHARES),
        risk_finding("ordering", judged),
    ]
    if not is_ours:
        found.append(gain_finding("ordering.auc_gain", area_gain(judged, ours), tested.n))
    return [replace(finding, of=approach, group=labeler) for finding in found]


def calibration_findings(counted: CalibrationCounts, labeler: str, generator: np.random.Generator) -> list[Finding]:
    """Whether the labeler's confidence is the chance that its label is right: calibration error and Brier's score."""
    sizes = counted.samples.sum(axis=1)
    if not sizes.sum():
        return [Finding(f"weak_labels.{name}", n=0, verdict="not measured", group=labeler) for name in ("ece", "brier")]
    findings = chance_findings("weak_labels", counted, counted.squares, sizes, generator)
    return [replace(finding, group=labeler) for finding in findings]


def chance_findings(
    stage: str,
    counted: CalibrationCounts,
    squares: npt.NDArray[np.float64],
    sizes: Integers,
    generator: np.random.Generator,
) -> list[Finding]:
    """`STAGE.ece` and `STAGE.ece_by_chance` of what was counted along a confidence, and `STAGE.brier`, the mean of what
    adds up to these squares by pools of such sizes [G]; all over resampled pools."""
    n, gaps = int(sizes.sum()), counted.right - counted.confidence
    error = gap_interval(gaps, counted.samples.sum(axis=1).astype(np.float64), generator)
    score = mean_loss(squares, sizes.astype(np.float64), generator)
    return [*error_findings(Finding(f"{stage}.ece", n=n), error), Finding(f"{stage}.brier", n=n).estimated(score)]


def order_test_of(judged: OrderCounts, generator: np.random.Generator) -> OrderTest:
    """The test of the order: `order_test`, from what was counted."""
    return order_test_of_sums(judged.area, judged.patterns, judged.one_score, generator)


def area_gain(judged: OrderCounts, ours: OrderCounts, level: float = 0.95) -> Interval | None:
    """The order's area less ours, paired; None where one of them has none."""
    for order in (judged, ours):
        area = order.area
        independent = int(np.count_nonzero(area.right + area.wrong))
        if why_not_tested(area.n, int(area.right.sum()), independent, order.one_score):
            return None
    return area_difference(judged.area, ours.area, level)


def risk_finding(stage: str, judged: OrderCounts) -> Finding:
    """`STAGE.aurc`: the area under the risk-coverage curve."""
    risk = share_interval(judged.risk, judged.risk_without, kish(judged.area.right + judged.area.wrong))
    return Finding(f"{stage}.aurc", n=judged.area.n).estimated(risk)


def share_finding(stage: str, judged: OrderCounts, name: str) -> Finding:
    """`STAGE.first_tenth` and its like: the share that is right of these samples."""
    at = _AREA + 2 * SHARES.index(name)
    sizes, right = judged.sums[at : at + 2]
    return counted_share(f"{stage}.{_SHARE_NAMES[name]}", right, sizes, judged.grouped)
