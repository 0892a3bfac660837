"""Are labels less often right along an order? A test at the level of samples, robust to samples that are alike.

Spearman's ρ over N nested sets cannot conclude: among ten, ρ = −1 itself has p = .0014. Here every sample counts,
ties share their midrank, and samples of one cluster (one patient, or one pattern of votes, which fixes score and
label alike) count together: the score test of a logistic model with the rank as its only variable, its variance
summed over clusters (Liang and Zeger 1986). Its effect is the area under the ROC curve, with the variance of
Obuchowski (1997).

All sums are whole numbers, divided once at the end: neither the order of the samples nor their partitions matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import Integers, codes_of, doubled_midranks, share_by, sums_by_cluster
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.proportions import wilson
from assay.tasks.statistics.resampling import Interval

Whole = npt.NDArray[np.int64]

_LIMB = 21  # bits: three limbs hold any 64-bit number, and 2^20 products of two limbs add up within 63 bits
_ROWS = 1 << 20
_MOST = 2**62


def whole_dot(first: Whole, second: Whole) -> int:
    """Σ first·second, without rounding and without overflow.

    >>> whole_dot(np.array([2**62, 3]), np.array([2**62, -1])) == 2**124 - 3
    True
    """
    reach = _reach(first) * _reach(second)
    rows = min(_ROWS, _MOST // max(reach, 1))
    if rows >= min(len(first), _ROWS):
        return sum(int(first[at : at + _ROWS] @ second[at : at + _ROWS]) for at in range(0, len(first), _ROWS))
    return sum(
        int(limb @ two) << (_LIMB * (i + j))
        for at in range(0, len(first), _ROWS)
        for i, limb in enumerate(_limbs(first[at : at + _ROWS]))
        for j, two in enumerate(_limbs(second[at : at + _ROWS]))
    )


def squared_sum(columns: Sequence[Whole], weights: Sequence[int]) -> int:
    """Σ_g (Σ_k weights_k · columns_k[g])², exactly, for weights of any size: no list of large numbers is made.

    >>> squared_sum([np.array([1, 2]), np.array([3, 4])], [10**30, 1]) == (10**30 + 3) ** 2 + (2 * 10**30 + 4) ** 2
    True
    """
    total = 0
    for i, column in enumerate(columns):
        for j in range(i, len(columns)):
            total += (1 if i == j else 2) * weights[i] * weights[j] * whole_dot(column, columns[j])
    return total


def _limbs(values: Whole) -> list[Whole]:
    """The numbers in base 2^21: the two lower limbs from 0, the highest with the sign."""
    mask = (1 << _LIMB) - 1
    return [values & mask, (values >> _LIMB) & mask, values >> (2 * _LIMB)]


def _reach(values: Whole) -> int:
    return max(abs(int(values.min(initial=0))), abs(int(values.max(initial=0))))


FEWEST_CLUSTERS = 10
"""With fewer clusters their spread is not known well enough to test anything."""


@dataclass(frozen=True)
class RankedArea:
    """How often a right label outranks a wrong one, and what each cluster adds to its distance from the truth.

    The influence of cluster g is Σ_k `weights`[k]·`sums`[k, g] / `denominator`, exactly.
    """

    value: Fraction
    n: int
    right: int
    sums: tuple[Integers, ...]  # 3 times [G]: placements, right and wrong labels; 0 where a cluster has no sample here
    weights: tuple[int, ...]  # 3
    denominator: int
    clusters: int
    pairs: int  # pairs of a right and a wrong label that share no cluster, at least


@dataclass(frozen=True)
class Area:
    """An area, or the difference of two, with its cluster-robust interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OrderTest:
    """The trend of one order: t > 0 where errors gather at its hard end; two-sided p; or why nothing was measured."""

    n: int
    right: int
    clusters: int
    t: float | None = None
    p_value: float | None = None
    area: Area | None = None
    silent: str = ""

    @property
    def adverse(self) -> float:
        """The one-sided p-value of a fall along the order."""
        if self.t is None or self.p_value is None:
            return float("nan")
        return self.p_value / 2 if self.t > 0 else 1 - self.p_value / 2

    def verdict(self, significance: float) -> str:
        """`adverse` where right labels fall along the order, `violation` where they rise, else what was needed."""
        if self.t is None or self.p_value is None:
            return f"not measured: {self.silent}"
        if self.p_value > significance:
            return not_shown(significance)
        return "adverse" if self.t > 0 else "violation"


def order_test(scores: npt.ArrayLike, right: npt.ArrayLike, clusters: npt.ArrayLike, level: float = 0.95) -> OrderTest:
    """Whether right labels have higher scores than wrong ones, by t = T/√V on G − 1 degrees of freedom.

    R_i is the midrank of the score (higher is easier), a_i = R_i − (n+1)/2, e_i = right_i − mean(right),
    U_g = Σ_{i∈g} a_i·e_i, T = Σ_g U_g, V = G/(G−1)·Σ_g U_g²; p = 2·min(tails), and AUC = ½ + T/(n_right·n_wrong).

    >>> test = order_test([3, 3, 2, 2, 1, 1] * 4, [1, 1, 1, 0, 0, 0] * 4, range(24))
    >>> round(test.t, 2), round(test.area.value, 3), test.verdict(0.01)
    (3.92, 0.944, 'adverse')
    >>> order_test([1, 2], [1, 1], [1, 2]).verdict(0.01)
    'not measured: no label is wrong'
    """
    values, hits, codes = _columns(scores, right, clusters)
    n, won, groups = len(hits), int(hits.sum()), int(codes.max(initial=-1)) + 1
    why_not = why_not_tested(n, won, groups, bool(n) and bool((values == values[0]).all()))
    if why_not:
        return OrderTest(n, won, groups, silent=why_not)
    places = codes_of(values)  # sorted once: what follows asks only which score is higher
    trend, area = trend_of(places, hits, codes), ranked_area(places, hits, codes)
    return OrderTest(n, won, groups, trend.t, trend.p_value, area_interval(area, level))


class Trend(NamedTuple):
    """t > 0 where amounts are larger for higher scores, and its two-sided p-value."""

    t: float
    p_value: float


def trend_of(scores: npt.ArrayLike, amounts: npt.ArrayLike, clusters: npt.ArrayLike) -> Trend:
    """Whether whole amounts grow with the score: `order_test`'s statistic for amounts that need not be 0 or 1.

    What a defence gains on each sample (−1, 0 or 1) is such an amount: its trend is the interaction of the defence with
    the order.

    >>> trend = trend_of([4, 3, 2, 1] * 6, [1, 1, 0, -1] * 6, range(24))
    >>> round(trend.t, 2), trend.p_value < 0.001
    (3.78, True)
    """
    values, whole, codes = _columns(scores, amounts, clusters)
    n, groups = len(whole), int(codes.max(initial=-1)) + 1
    centred = doubled_midranks(values) - (n + 1)  # 2·a_i
    weighted, ranked = (sums_by_cluster(codes, part, groups) for part in (centred * whole, centred))
    amount = int(whole.sum())
    total = n * int(weighted.sum()) - amount * int(ranked.sum())  # Σ_g 2n·U_g, with 2n·U_g = n·weighted − amount·ranked
    return trend_from(total, squared_sum((weighted, ranked), (n, -amount)), groups)


def trend_from(total: int, squares: int, clusters: int) -> Trend:
    """The trend from Σ_g U_g and Σ_g U_g², in any unit."""
    from scipy.stats import t as student

    scaled = Fraction(total * total * (clusters - 1), clusters * squares) if squares else Fraction(0)
    t = math.sqrt(scaled) * (1 if total >= 0 else -1)
    return Trend(t, 2 * float(student.sf(abs(t), clusters - 1)))


def ranked_area(
    scores: npt.ArrayLike, right: npt.ArrayLike, clusters: npt.ArrayLike, groups: int | None = None
) -> RankedArea:
    """The area under the ROC curve with its influence per cluster; `clusters` are codes below `groups` (default all).

    >>> ranked_area([3, 2, 2, 1], [1, 1, 0, 0], [0, 1, 2, 3]).value
    Fraction(7, 8)
    """
    values, hits = codes_of(scores), np.asarray(right, dtype=np.int64)
    codes = np.asarray(clusters, dtype=np.int64)
    here = int(codes.max(initial=-1)) + 1 if groups is None else groups
    won, lost = int(hits.sum()), int((1 - hits).sum())
    if not won or not lost:
        raise ValueError("an area needs labels that are right and labels that are wrong")
    together, placed = doubled_midranks(values), np.empty(len(hits), dtype=np.int64)
    chosen = hits == 1
    placed[chosen] = together[chosen] - doubled_midranks(values[chosen])  # twice the wrong ones below, ties half
    placed[~chosen] = 2 * won - (together[~chosen] - doubled_midranks(values[~chosen]))
    doubled = int(placed[chosen].sum())  # 2·n_right·n_wrong·AUC
    sums = tuple(sums_by_cluster(codes, part, here) for part in (placed, hits, 1 - hits))
    held = [np.unique(codes[chosen]), np.unique(codes[~chosen])]
    pairs = min(len(held[0]), len(held[1]))
    weights, denominator = influence(doubled, won, lost)
    return RankedArea(
        Fraction(doubled, 2 * won * lost), len(hits), won, sums, weights, denominator, len(np.union1d(*held)), pairs
    )


def influence(doubled: int, won: int, lost: int) -> tuple[tuple[int, int, int], int]:
    """What a cluster's placements, right and wrong labels weigh in its distance from the area, and the denominator;
    `doubled` is twice the number of pairs whose right label outranks the wrong one, ties counted half."""
    return (won * lost, -doubled * lost, -doubled * won), 2 * won * won * lost * lost


def area_interval(area: RankedArea, level: float = 0.95) -> Area:
    """The area with its interval on the logit scale; Wilson's for disjoint pairs where nothing varies.

    >>> interval = area_interval(ranked_area([4, 3, 2, 1] * 5, [1, 0, 1, 0] * 5, range(20)))
    >>> [round(value, 3) for value in (interval.value, interval.low, interval.high)]
    [0.75, 0.455, 0.915]
    """
    variance = cluster_variance(squared_sum(area.sums, area.weights), area.denominator, area.clusters)
    return area_from(area.value, variance, area.clusters, area.pairs, level)


def area_from(area: Fraction, variance: float, clusters: int, pairs: int, level: float = 0.95) -> Area:
    """`area_interval` of an area whose variance is known."""
    value = float(area)
    if not variance or not 0 < value < 1:
        low, high = wilson([value * pairs], [pairs], level)
        return Area(value, float(low[0]), float(high[0]))
    middle = math.log(value / (1 - value))
    half = _critical(clusters, level) * math.sqrt(variance) / (value * (1 - value))
    return Area(value, 1 / (1 + math.exp(half - middle)), 1 / (1 + math.exp(-half - middle)))


def area_difference(first: RankedArea, second: RankedArea, level: float = 0.95) -> Area:
    """The first area less the second, paired by cluster: what both share of one cluster cancels (DeLong 1988).

    >>> better, worse = (ranked_area(scores, [1, 1, 0, 0] * 5, range(20)) for scores in ([4, 3, 2, 1] * 5, [1] * 20))
    >>> area_difference(better, worse).value
    0.5
    """
    if len(first.sums[0]) != len(second.sums[0]):
        raise ValueError("areas are compared over the same clusters: give both the same number of groups")
    weights, below = joint_influence((first.weights, first.denominator), (second.weights, second.denominator))
    clusters = max(first.clusters, second.clusters)
    variance = cluster_variance(squared_sum((*first.sums, *second.sums), weights), below, clusters)
    return difference_from(first.value - second.value, variance, clusters, level)


def joint_influence(first: tuple[Sequence[int], int], second: tuple[Sequence[int], int]) -> tuple[tuple[int, ...], int]:
    """What the sums of two areas weigh in their difference, and the denominator; see `influence`."""
    (ours, below), (theirs, beneath) = first, second
    return (*(weight * beneath for weight in ours), *(-weight * below for weight in theirs)), below * beneath


def difference_from(difference: Fraction, variance: float, clusters: int, level: float = 0.95) -> Area:
    """`area_difference` of areas whose difference has a known variance."""
    value, half = float(difference), _critical(clusters, level) * math.sqrt(variance)
    return Area(value, max(-1.0, value - half), min(1.0, value + half))


def cluster_variance(squares: int, denominator: int, clusters: int) -> float:
    """G/(G−1)·Σ influence², rounded once, of Σ (influence·denominator)²."""
    if clusters < 2:
        return 0.0
    return float(Fraction(clusters * squares, (clusters - 1) * denominator**2))


def _critical(clusters: int, level: float) -> float:
    from scipy.stats import t as student

    return float(student.isf((1 - level) / 2, max(clusters - 1, 1)))


def why_not_tested(n: int, right: int, clusters: int, one_score: bool) -> str:
    """Why an order cannot be tested; empty where it can."""
    if not n:
        return "no true label is known"
    if right in (0, n):
        return "no label is wrong" if right else "no label is right"
    if clusters < FEWEST_CLUSTERS:
        return f"{clusters} independent groups, fewer than {FEWEST_CLUSTERS}"
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
    """`STAGE.auc` and `STAGE.trend_p` of one test."""
    verdict, area = tested.verdict(significance), tested.area
    if area is None:
        return [Finding(f"{stage}.{name}", n=tested.n, verdict=verdict) for name in ("auc", "trend_p")]
    p, n = tested.p_value, tested.n
    trend = Finding(f"{stage}.trend_p", value=p, p_value=p, n=n, verdict=verdict, unit=unit)
    return [Finding(f"{stage}.auc", n=n).estimated(area), trend]


def gain_finding(metric: str, gain: Area | None, n: int) -> Finding:
    """How much better than ours an order is: shown only where the interval leaves 0 out."""
    verdict = ""
    if gain is not None:
        verdict = "not shown" if gain.low <= 0 <= gain.high else "better" if gain.value > 0 else "worse"
    return Finding(metric, n=n).estimated(gain, verdict=verdict)


def area_finding(metric: str, area: Interval, n: int) -> Finding:
    """A value with its interval, or "not measured"."""
    return Finding(metric, n=n).estimated(area)


def tenth_findings(
    stage: str,
    scores: npt.NDArray[np.float64],
    ties: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    clusters: npt.NDArray[np.int64],
) -> list[Finding]:
    """The share that is right in the first and in the last tenth of an order: disjoint, unlike D1 and DN.

    >>> scores = np.arange(30.0)
    >>> findings = tenth_findings("a", scores, np.arange(30), (scores > 0).astype(np.int64), np.arange(30))
    >>> [(finding.metric, round(finding.value, 2), finding.n) for finding in findings]
    [('a.first_tenth', 1.0, 3), ('a.last_tenth', 0.67, 3)]
    """
    n = len(scores)
    tenth = max(1, round(n / 10))
    ends = {"first_tenth": np.arange(0), "last_tenth": np.arange(0)}
    if n:
        least, most = (np.partition(scores, place)[place] for place in (n - tenth, tenth - 1))
        ends["first_tenth"] = _ranked(np.flatnonzero(scores >= least), scores, ties)[:tenth]
        ends["last_tenth"] = _ranked(np.flatnonzero(scores <= most), scores, ties)[-tenth:]
    return [share_by(f"{stage}.{name}", right[end], clusters[end]) for name, end in ends.items()]


def _ranked(
    among: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], ties: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """These samples, the easiest first."""
    return among[np.lexsort((ties[among], -scores[among]))]
