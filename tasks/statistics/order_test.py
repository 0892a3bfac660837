"""Are labels less often right along an order? A test at the level of samples, and its effect.

Spearman's ρ over N nested sets cannot conclude: among ten, ρ = −1 itself has p = .0014. Here every sample counts and
ties share their midrank. All samples of one pattern of votes have one score, so that what the order's null asks is
whether a score that knows nothing of how right a pattern is could do this: scores are permuted over the patterns, and
the slope of rightness along the rank is studentised by its residuals, so that an effect does not inflate its own
variance (DiCiccio and Romano 2017). Where samples stand in groups (of one patient), nothing is permuted: the area is
held against ½ by its variance over groups.

The effect is the area under the ROC curve: how often a right label outranks a wrong one. Its interval is DeLong's
(1988), or that of Obuchowski (1997) by group, each group's influence being taken from the others as a jackknife does
(Bell and McCaffrey 2002), with Student's t of as many groups as count (Kish 1965).

What is summed over samples are whole numbers, so that neither their order nor their partitions matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats, Integers
from assay.tasks.statistics.clusters import (
    codes_of,
    critical,
    doubled_midranks,
    from_the_others,
    kish,
    sums_by_cluster,
    two_sided,
)
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.proportions import NO_SPREAD, unvaried, wilson_of
from assay.tasks.statistics.resampling import Interval

FEWEST_CLUSTERS = 10
"""With fewer patterns, or groups, their spread is not known well enough to test anything."""
PERMUTATIONS = 9999
MOST_PATTERNS = 1 << 14
"""Where there are more patterns, so many of them are permuted: `drawn_patterns`."""
INTERVAL = "interval holds one half"
_CELLS = 1 << 20
_CACHED = 1 << 16
"""Numbers of a block of permutations: what is made of them stays in a processor's cache."""
_POWER = 0.8


class PatternTotals(NamedTuple):
    """What every pattern of votes comes to, sorted by score: its score, its samples, and how many are right (or the sum
    of any whole amount)."""

    scores: Floats  # [G]
    samples: Integers
    amounts: Integers


def pattern_totals(scores: npt.ArrayLike, amounts: npt.ArrayLike, patterns: npt.ArrayLike) -> PatternTotals:
    """The totals of samples; those of one pattern that differ in score are two patterns.

    >>> pattern_totals([0.5, 0.5, 0.9], [1, 0, 1], ["a", "a", "b"]).amounts.tolist()
    [1, 1]
    """
    values, whole, codes = _columns(scores, amounts, patterns)
    distinct = codes_of(values)
    units, first, where = np.unique(
        distinct * (int(codes.max(initial=0)) + 1) + codes, return_index=True, return_inverse=True
    )
    samples, totals = np.bincount(where), sums_by_cluster(where, whole, len(units))
    return in_order_of_score(values[first].astype(np.float64), samples, totals, np.asarray(patterns)[first])


def in_order_of_score(scores: Floats, samples: Integers, amounts: Integers, patterns: npt.ArrayLike) -> PatternTotals:
    """These totals as they are permuted: the order is that of what they hold, whatever the patterns are called."""
    kept = drawn_patterns(samples, patterns, scores, MOST_PATTERNS)
    scores, samples, amounts = scores[kept], samples[kept], amounts[kept]
    order = np.lexsort((amounts, samples, scores))
    return PatternTotals(scores[order], samples[order], amounts[order])


def drawn_patterns(samples: Integers, patterns: npt.ArrayLike, scores: npt.ArrayLike, most: int) -> Integers:
    """The places of so many patterns at most, ascending; of more, drawn by their hash, each the likelier the more
    samples it has (priority sampling: Duffield, Lund and Thorup 2007).

    The largest alone would be patterns in which few rules vote, all at one end of the order. Hash and size decide which
    are drawn, not scores or amounts, so that a permutation test among them is valid; scores only break the ties of a
    pattern that has two.

    >>> drawn_patterns(np.array([1, 900, 1, 1]), [5, 6, 7, 8], [0, 0, 0, 0], most=2).tolist()
    [1, 2]
    """
    if len(samples) <= most:
        return np.arange(len(samples))
    from pandas.util import hash_array

    names = np.asarray(patterns)
    shares = ((hash_array(names) >> np.uint64(11)) + np.uint64(1)) / 2.0**53
    return np.sort(np.lexsort((np.asarray(scores), names, -(samples / shares)))[:most])


class Trend(NamedTuple):
    """t > 0 where amounts are larger for higher scores; its two-sided p-value; and how far Σ a·e of a score that knows
    nothing strays, with a the centred rank and e the amount less its mean."""

    t: float
    p_value: float
    spread: float


def permuted_trend(totals: PatternTotals, generator: np.random.Generator, permutations: int = PERMUTATIONS) -> Trend:
    """Whether amounts grow with the score, among random ways to deal the scores to the patterns.

    a = midrank − (n + 1)/2 and e = amount − mean, summed by pattern; T = Σ a·e, b = T/Σ a²·samples is the slope, and t*
    = T/√Σ (a·(e − b·a·samples))². p = (1 + #{|t*| ≥ |t|})/(B + 1). The t that is given is T/√(G/(G−1)·Σ (a·e)²).

    >>> totals = PatternTotals(np.arange(40.0), np.full(40, 5), np.arange(40) // 8)
    >>> permuted_trend(totals, np.random.default_rng(0)).p_value
    0.0001
    """
    samples, amounts = totals.samples.astype(np.float64), totals.amounts.astype(np.float64)
    starts = np.flatnonzero(np.append(True, np.diff(totals.scores) != 0))
    groups, whole = len(samples), float(samples.sum())
    tie = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, groups)))
    apart = amounts - samples * (amounts.sum() / whole)

    def trends(drawn: Integers) -> tuple[Floats, Floats, Floats]:
        """T, t* and the parts a·e of orders [b, G]: which pattern stands at each place."""
        held, strayed = samples[drawn], apart[drawn]
        sizes = np.add.reduceat(held, starts, axis=1)
        rank = np.cumsum(sizes, axis=1) - sizes / 2 - whole / 2
        total = (rank * np.add.reduceat(strayed, starts, axis=1)).sum(axis=1)
        slope = total / (rank * rank * sizes).sum(axis=1)
        parts = rank[:, tie] * strayed
        left = parts - (slope[:, None] * rank * rank)[:, tie] * held
        deviation = np.sqrt((left * left).sum(axis=1))
        t = np.divide(total, deviation, out=np.where(total == 0, 0.0, np.copysign(np.inf, total)), where=deviation > 0)
        return total, t, parts

    (observed,), (t,), (parts,) = trends(np.arange(groups)[None])
    least, block, further, drawn_totals = abs(t) * (1 - 1e-12), max(1, _CACHED // groups), 0, np.empty(permutations)
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        total, drawn, _ = trends(generator.permuted(np.tile(np.arange(groups), (rows, 1)), axis=1))
        further += int((np.abs(drawn) >= least).sum())
        drawn_totals[start : start + rows] = total
    # Squares are added in blocks of their own: the last bits of a sum depend on its order.
    ends = range(0, permutations, max(1, _CELLS // groups))[1:]
    squares = sum(float(part @ part) for part in np.split(drawn_totals, ends))
    plain = math.sqrt(groups / (groups - 1) * float(parts @ parts))
    return Trend(
        float(observed) / plain if plain else 0.0, (1 + further) / (1 + permutations), math.sqrt(squares / permutations)
    )


def group_trend(scores: npt.ArrayLike, amounts: npt.ArrayLike, groups: npt.ArrayLike) -> Trend:
    """Whether amounts grow with the score, by the slope's variance over groups: each group's residuals are taken from
    the line through the others, about, and t has as many degrees of freedom as groups count, less one.

    >>> trend = group_trend([4, 3, 2, 1] * 6, [1, 1, 0, -1] * 6, range(24))
    >>> trend.t > 3, trend.p_value < 0.001
    (True, True)
    """
    values, whole, codes = _columns(scores, amounts, groups)
    rank = (doubled_midranks(values) - (len(values) + 1)) / 2
    apart, square = whole - whole.mean(), float(rank @ rank)
    total = float(rank @ apart)
    left = np.bincount(codes, rank * (apart - total / square * rank))
    leverage = np.bincount(codes, rank * rank) / square
    scaled = left / np.maximum(1 - leverage, 1 / len(values))
    spread = math.sqrt((1 - 1 / len(left)) * float(scaled @ scaled))
    t = total / spread if spread else math.copysign(math.inf, total)
    return Trend(t, two_sided(t, kish(np.bincount(codes))), spread)


@dataclass(frozen=True)
class AreaSums:
    """By what is independent (a group, or a sample): how often its right labels outrank wrong ones and its wrong ones
    are outranked, twice, as ties count half; and how many right and wrong labels it has. 0 where it has none here."""

    outranking: Integers  # [G]
    outranked: Integers
    right: Integers
    wrong: Integers

    @property
    def n(self) -> int:
        """How many labels there are."""
        return int(self.right.sum() + self.wrong.sum())

    @property
    def value(self) -> float:
        """How often a right label outranks a wrong one."""
        return int(self.outranking.sum()) / (2 * int(self.right.sum()) * int(self.wrong.sum()))

    @property
    def groups(self) -> float:
        """As many groups of equal size as count, of those with right labels or of those with wrong ones, whichever are
        fewer: no more is known of how such labels vary."""
        return min(kish(self.right), kish(self.wrong))

    @property
    def pairs(self) -> int:
        """Pairs of a right and a wrong label that share no group, at least."""
        return int(min(np.count_nonzero(self.right), np.count_nonzero(self.wrong)))

    @property
    def influence(self) -> Floats:
        """What each group adds to the distance from the truth; its squares add up to DeLong's variance where groups are
        single samples, and to about that of a jackknife where they are not."""
        won, lost = int(self.right.sum()), int(self.wrong.sum())
        return from_the_others(self.outranking / (2 * lost) - self.value * self.right, self.right) + from_the_others(
            self.outranked / (2 * won) - self.value * self.wrong, self.wrong
        )


@dataclass(frozen=True)
class OrderTest:
    """The trend of one order: t > 0 where errors gather at its hard end; two-sided p; or why nothing was measured."""

    n: int
    right: int
    clusters: int
    """Patterns whose scores were permuted, or groups."""
    t: float | None = None
    p_value: float | None = None
    area: Interval | None = None
    spread: float = 0.0
    """How far the area of a score that knows nothing strays from ½ (its standard deviation)."""
    silent: str = ""

    def verdict(self, significance: float) -> str:
        """`adverse` where right labels fall along the order, `violation` where they rise, by test and interval; else
        which of the two did not show it."""
        if self.area is None or self.p_value is None:
            return f"not measured: {self.silent}"
        if self.p_value > significance:
            return not_shown(significance)
        if self.area.low <= 0.5 <= self.area.high:
            return f"not shown: the {INTERVAL}"
        return "adverse" if self.area.value > 0.5 else "violation"

    def seen_from(self, significance: float) -> float:
        """The area that a test of so many samples would have shown four times in five."""
        from scipy.special import ndtri

        return min(1.0, 0.5 + self.spread * float(ndtri(_POWER) - ndtri(significance / 2)))


def order_test(
    scores: npt.ArrayLike,
    right: npt.ArrayLike,
    patterns: npt.ArrayLike | None,
    groups: npt.ArrayLike,
    generator: np.random.Generator,
) -> OrderTest:
    """Whether right labels have higher scores than wrong ones: scores permuted over the patterns of votes; without
    patterns, by group. The interval is by group, and by sample where each is its own.

    >>> scores, right = [3, 3, 2, 2, 1, 1] * 4, [1, 1, 1, 0, 0, 0] * 4
    >>> test = order_test(scores, right, range(24), range(24), np.random.default_rng(0))
    >>> round(test.t, 2), round(test.area.value, 3), test.verdict(0.01)
    (3.92, 0.944, 'adverse')
    >>> order_test([1, 2], [1, 1], None, [1, 2], np.random.default_rng(0)).verdict(0.01)
    'not measured: no label is wrong'
    """
    totals = None if patterns is None else pattern_totals(scores, right, patterns)
    values, hits, codes = _columns(scores, right, groups)
    one_score = bool(len(hits)) and bool((values == values[0]).all())
    return order_test_of_sums(area_sums(values, hits, codes), totals, one_score, generator)


def order_test_of_sums(
    sums: AreaSums, totals: PatternTotals | None, one_score: bool, generator: np.random.Generator
) -> OrderTest:
    """`order_test` of what was summed up."""
    n, won = sums.n, int(sums.right.sum())
    independent = int(np.count_nonzero(sums.right + sums.wrong)) if totals is None else len(totals.scores)
    why_not = why_not_tested(n, won, independent, one_score, "groups" if totals is None else "patterns of votes")
    if why_not:
        return OrderTest(n, won, independent, silent=why_not)
    area = area_interval(sums)
    if totals is not None:
        trend = permuted_trend(totals, generator)
        held = float(totals.amounts.sum()) * float(totals.samples.sum() - totals.amounts.sum())
        return OrderTest(n, won, independent, trend.t, trend.p_value, area, trend.spread / held if held else 0.0)
    strayed = sums.influence
    spread = math.sqrt(math.fsum(strayed * strayed))
    if not spread:
        won_all = min(1.0, 2 * 0.5**sums.pairs)  # pairs that share no group are independent trials, all won
        return OrderTest(n, won, independent, math.copysign(math.inf, area.value - 0.5), won_all, area)
    t = (area.value - 0.5) / spread
    return OrderTest(n, won, independent, t, two_sided(t, sums.groups), area, spread)


def area_sums(scores: npt.ArrayLike, right: npt.ArrayLike, groups: npt.ArrayLike, count: int | None = None) -> AreaSums:
    """What an area is made of; `groups` are codes below `count` (left out, those there are).

    >>> area_sums([3, 2, 2, 1], [1, 1, 0, 0], [0, 1, 2, 3]).value
    0.875
    """
    values, hits = codes_of(scores), np.asarray(right, dtype=np.int64)
    codes = np.asarray(groups, dtype=np.int64)
    there = int(codes.max(initial=-1)) + 1 if count is None else count
    together, placed = doubled_midranks(values), np.zeros(len(hits), dtype=np.int64)
    chosen = hits == 1
    placed[chosen] = together[chosen] - doubled_midranks(values[chosen])  # twice the wrong ones below, ties half
    placed[~chosen] = 2 * int(hits.sum()) - (together[~chosen] - doubled_midranks(values[~chosen]))
    columns = (placed * hits, placed * (1 - hits), hits, 1 - hits)
    return AreaSums(*(sums_by_cluster(codes, column, there) for column in columns))


def area_interval(area: AreaSums, level: float = 0.95) -> Interval:
    """The area with its interval on the logit scale; Wilson's for disjoint pairs where nothing varies.

    >>> interval = area_interval(area_sums([4, 3, 2, 1] * 5, [1, 0, 1, 0] * 5, range(20)))
    >>> [round(value, 3) for value in (interval.value, interval.low, interval.high)]
    [0.75, 0.42, 0.926]
    """
    value, pairs, strayed = area.value, area.pairs, area.influence
    if pairs < 2:  # one label, or the labels of one group, show no spread
        return Interval(value, 0.0, 1.0)
    variance = math.fsum(strayed * strayed)
    if variance <= 1e-18 or not 0 < value < 1:
        return Interval(value, *wilson_of(value * pairs, pairs, level))
    middle = math.log(value / (1 - value))
    half = critical(area.groups, level) * math.sqrt(variance) / (value * (1 - value))
    return Interval(value, 1 / (1 + math.exp(half - middle)), 1 / (1 + math.exp(-half - middle)))


def area_difference(first: AreaSums, second: AreaSums, level: float = 0.95) -> Interval:
    """The first area less the second, paired: what both share of one sample or group cancels (DeLong 1988). Right (or
    wrong) labels of a single group say nothing of others; a difference that no sample moves has that of `unvaried`.

    >>> better, worse = (area_sums(scores, [1, 1, 0, 0] * 5, range(20)) for scores in ([4, 3, 2, 1] * 5, [1] * 20))
    >>> area_difference(better, worse).value
    0.5
    """
    if len(first.right) != len(second.right):
        raise ValueError("areas are compared over the same groups: give both the same number of groups")
    apart, value, pairs = first.influence - second.influence, first.value - second.value, min(first.pairs, second.pairs)
    if pairs < 2:
        return Interval(value, -1.0, 1.0)
    half = critical(min(first.groups, second.groups), level) * math.sqrt(math.fsum(apart * apart))
    if value and half < NO_SPREAD:
        return Interval(value, *unvaried(value, pairs))
    return Interval(value, max(-1.0, value - half), min(1.0, value + half))


def why_not_tested(n: int, right: int, independent: int, one_score: bool, called: str = "groups") -> str:
    """Why an order cannot be tested; empty where it can."""
    if not n:
        return "no true label is known"
    if right in (0, n):
        return "no label is wrong" if right else "no label is right"
    if independent < FEWEST_CLUSTERS:
        return f"{independent} {called}, fewer than {FEWEST_CLUSTERS}"
    return "all samples have one score" if one_score else ""


def _columns(
    scores: npt.ArrayLike, right: npt.ArrayLike, clusters: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64] | Integers, Integers, Integers]:
    values, hits, codes = np.asarray(scores), np.asarray(right, dtype=np.int64), codes_of(clusters)
    if values.dtype.kind != "i":
        values = values.astype(np.float64)
    if not values.shape == hits.shape == codes.shape or values.ndim != 1:
        raise ValueError(f"scores {values.shape}, right {hits.shape} and clusters {codes.shape} must be of one length")
    if np.isnan(values).any():
        raise ValueError("a score that is not a number cannot be ranked")
    return values, hits, codes


def trend_findings(stage: str, tested: OrderTest, significance: float, unit: str) -> list[Finding]:
    """`STAGE.auc`, `STAGE.trend_p` and `STAGE.auc_seen_from` of one test."""
    verdict, area = tested.verdict(significance), tested.area
    if area is None:
        return [Finding(f"{stage}.{name}", n=tested.n, verdict=verdict) for name in ("auc", "trend_p")]
    p, n = tested.p_value, tested.n
    trend = Finding(f"{stage}.trend_p", value=p, p_value=p, n=n, verdict=verdict, unit=unit)
    seen = Finding(f"{stage}.auc_seen_from", value=tested.seen_from(significance), n=n)
    return [Finding(f"{stage}.auc", n=n).estimated(area), trend, *([seen] if tested.spread else [])]


def gain_finding(metric: str, gain: Interval | None, n: int) -> Finding:
    """How much better than ours an order is: shown only where the interval leaves 0 out."""
    verdict = ""
    if gain is not None:
        verdict = "not shown" if gain.low <= 0 <= gain.high else "better" if gain.value > 0 else "worse"
    return Finding(metric, n=n).estimated(gain, verdict=verdict)
