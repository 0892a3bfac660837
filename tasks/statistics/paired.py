"""Two systems on the same samples: McNemar's mid-p test of who is right more often, Wilcoxon's of who needs less, and
the difference with its interval: Tango's score interval for shares, a bootstrap for amounts.

Test and interval of shares come from one distribution: the interval leaves 0 out where p is at most 1 − level, and only
there. The exact test rejects too seldom, and beside it another interval left 0 out while p > .05 in 11 % of draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Integers
from assay.tasks.statistics.clusters import codes_of, effective_size, half_width, kish, sums_by_cluster
from assay.tasks.statistics.proportions import unvaried
from assay.tasks.statistics.resampling import FEWEST, LEVEL, bca_interval, expanded, multinomial_draws, pooled, ratio_of

_EXACT = 50  # pairs up to which Wilcoxon's test counts all signs
_DISCORDANT = 25  # clusters that differ, from which Student's t is good enough
_HALVINGS = 60


@dataclass(frozen=True)
class Difference:
    """The mean of first − second over the samples, with its interval."""

    value: float
    low: float
    high: float
    n: int
    level: float


def mcnemar(first_right: npt.ArrayLike, second_right: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> float:
    """The two-sided p-value of McNemar's test by mid-p (Fagerland, Lydersen and Laake 2013): the chance of a split as
    uneven as this one, that of exactly this one counted half; 1 without a sample on which the two differ.

    Where samples of one of the `clusters` are not independent, with d_g the first's right answers in cluster g less the
    second's: mid-p where fewer than 25 of them are not 0, by counting all signs of the d_g (for clusters of one sample
    that is the same); else Durkalski's (2003) Σd_g / √Σd_g², by Student's t on one degree of freedom less than clusters
    that differ.

    >>> round(mcnemar([True] * 8 + [False] * 2, [False] * 6 + [True] * 2 + [False] * 2), 6)
    0.015625
    >>> mcnemar([1] * 6, [0] * 6, range(6)), mcnemar([1] * 6, [0] * 6, [1, 1, 1, 2, 2, 2])
    (0.015625, 0.25)
    """
    first, second = _paired(first_right, second_right, np.bool_)
    if clusters is None:
        return mid_p(int((first & ~second).sum()), int((~first & second).sum()))
    return _sign_flip_p(first.astype(np.int64) - second, clusters, mid=True)


def mid_p(first_only: int, second_only: int) -> float:
    """The two-sided mid-p of a split that is even by chance.

    >>> round(mid_p(1, 7), 7), round(mid_p(6, 16), 6), mid_p(3, 3)
    (0.0390625, 0.03469, 1.0)
    """
    if first_only == second_only:
        return 1.0
    from scipy.stats import binom

    n, fewer = first_only + second_only, min(first_only, second_only)
    return float(2 * binom.cdf(fewer, n, 0.5) - binom.pmf(fewer, n, 0.5))


def _exact_sign_p(sizes: list[int], total: int, mid: bool) -> float:
    """How often random signs of whole numbers add up to `total` or more in either direction, counted exactly; under
    `mid` those that add up to just that count half.

    Sums of one half of the numbers are looked up among those of the other, so that large numbers cost no more.
    """
    halves = []
    for side in (sizes[::2], sizes[1::2]):
        sums = np.zeros(1, dtype=np.int64)
        for size in side:
            sums = np.concatenate([sums - size, sums + size])
        halves.append(np.sort(sums))
    first, second = halves
    least, beyond = (np.searchsorted(second, total - first, side) for side in ("left", "right"))
    extreme = 2 * int((len(second) - least).sum()) - mid * int((beyond - least).sum())
    return 1.0 if total == 0 else extreme / 2 ** len(sizes)


def wilcoxon(first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test on paired amounts; 1 where no pair differs.

    Pairs without a difference say nothing and are left out; few pairs without ties are tested exactly, others by the
    normal approximation with corrections for ties and continuity.

    Where pairs of one of the `clusters` are not independent, signs turn cluster by cluster. With S_g the sum of signed
    ranks in cluster g: ΣS_g against all signs of the S_g where fewer than 25 of them are not 0, else ΣS_g / √ΣS_g²
    (Rosner, Glynn and Lee 2006) by Student's t on one degree of freedom less than such clusters.

    >>> wilcoxon([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12]), wilcoxon([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12], range(6))
    (0.03125, 0.03125)
    """
    from scipy.stats import rankdata
    from scipy.stats import wilcoxon as test

    ours, theirs = _paired(first, second, np.float64)
    differ = ours != theirs
    apart = (ours - theirs)[differ]
    if clusters is not None:
        twice = np.rint(2 * rankdata(np.abs(apart))).astype(np.int64)  # midranks are halves
        return _sign_flip_p(np.where(apart > 0, twice, -twice), np.asarray(clusters)[differ])
    if not len(apart):
        return 1.0
    tied = len(np.unique(np.abs(apart))) < len(apart)
    method = "approx" if tied or len(apart) > _EXACT else "exact"
    return float(test(apart, correction=method == "approx", method=method).pvalue)


def _sign_flip_p(values: Integers, clusters: npt.ArrayLike, *, mid: bool = False) -> float:
    """The two-sided p of a sum of whole numbers whose signs turn at random, cluster by cluster; 1 where the sum of each
    cluster is 0."""
    from scipy.special import stdtr

    turning = [cluster_sum for cluster_sum in sums_by_cluster(codes_of(clusters), values).tolist() if cluster_sum]
    total = abs(sum(turning))
    if not turning:
        return 1.0
    if len(turning) < _DISCORDANT:
        return _exact_sign_p([abs(cluster_sum) for cluster_sum in turning], total, mid)
    return 2 * float(stdtr(len(turning) - 1, -total / np.sqrt(sum(each * each for each in turning))))


def share_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95, clusters: npt.ArrayLike | None = None
) -> Difference:
    """The share of samples on which the first is right, less that of the second, with Tango's (1998) score interval.

    It holds the differences that a score test does not reject, and 0 unless McNemar's mid-p does. It has a width where
    both are right on the same samples: ten ties are no proof that there is no difference. With `clusters`, the same of
    as many independent pairs as are as uncertain, Student's t in the place of the normal distribution.

    >>> difference = share_difference([True] * 10, [True] * 10)
    >>> difference.value, round(difference.low, 3), round(difference.high, 3)
    (0.0, -0.278, 0.278)
    """
    first_right, second_right = _paired(first, second, np.bool_)
    n = len(first_right)
    if n == 0:
        raise ValueError("a difference over no samples cannot be measured")
    only = int((first_right & ~second_right).sum()), int((~first_right & second_right).sum())
    if clusters is None:
        return counted_difference(*only, n, level)[0]
    # As many independent pairs as know as much of the difference; none of a single cluster.
    counted = effective_size(first_right.astype(np.float64) - second_right, clusters).counted(level)
    if not counted:
        return Difference((only[0] - only[1]) / n, -1.0, 1.0, n, level)
    ends = tango(only[0] / n * counted, only[1] / n * counted, counted, level)
    low, high = _agreeing(ends, mcnemar(first_right, second_right, clusters), level)
    return Difference((only[0] - only[1]) / n, low, high, n, level)


def counted_difference(first_only: int, second_only: int, n: int, level: float = 0.95) -> tuple[Difference, float]:
    """As `share_difference` with McNemar's mid-p, of independent samples of which only the numbers are known.

    >>> counted_difference(0, 0, 10)[0] == share_difference([True] * 10, [True] * 10)
    True
    """
    p = mid_p(first_only, second_only)
    low, high = _agreeing(tango(first_only, second_only, n, level), p, level)
    return Difference((first_only - second_only) / n, low, high, n, level), p


def compared_counts(first: Integers, second: Integers, sizes: Integers, grouped: bool) -> tuple[Difference, float]:
    """As `compared_shares`, of samples of which only the numbers are known, in each group [G] or of all in one row: on
    how many only the first is right, on how many only the second, and how many there are.

    >>> round(compared_counts(np.array([6, 0]), np.array([0, 0]), np.array([6, 4]), grouped=False)[1], 6)
    0.015625
    """
    if not grouped:
        return counted_difference(int(first.sum()), int(second.sum()), int(sizes.sum()))
    cells = np.stack([first, second, sizes - first - second], axis=1)
    group, who = (np.repeat(place.ravel(), cells.ravel()) for place in np.indices(cells.shape))
    return compared_shares(who == 0, who == 1, group)


def _agreeing(ends: tuple[float, float], p: float, level: float) -> tuple[float, float]:
    """An interval with 0 in it, where the test does not reject: of small numbers the two can differ by a hair."""
    return (min(ends[0], 0.0), max(ends[1], 0.0)) if p > 1 - level else ends


def tango(first_only: float, second_only: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Tango's (1998) score interval of a difference of paired shares, by the numbers on which only one is right.

    >>> [round(end, 4) for end in tango(1, 7, 21)], [round(end, 4) for end in tango(6, 16, 161)]
    ([-0.5172, -0.026], [-0.124, -0.0054])
    """
    from scipy.special import ndtri

    def score(apart: float) -> float:
        linear = 2 * n * apart - first_only - second_only - (first_only - second_only) * apart
        root = math.sqrt(max(0.0, linear**2 + 8 * n * second_only * apart * (1 - apart)))
        variance = n * ((root - linear) / (2 * n) + apart * (1 - apart))
        off = first_only - second_only - n * apart
        return off / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, off)

    def end(low: float, high: float, wanted: float) -> float:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if score(middle) > wanted else (low, middle)
        return high if wanted > 0 else low

    value, z = (first_only - second_only) / n, float(-ndtri((1 - level) / 2))
    return end(-1.0, value, z), end(value, 1.0, -z)


def not_lower_p(gain: Difference, margin: float) -> float:
    """The one-sided p of the claim that a share of `share_difference` is not lower by as much as the margin: the level
    at which the interval's lower end would be there, by the normal distribution on either side of the value.

    >>> round(not_lower_p(share_difference([1] * 6 + [0] * 30, [1] * 30 + [0] * 6), 0.05), 3)
    1.0
    """
    from scipy.special import ndtr, ndtri

    below = gain.value - gain.low
    kept = gain.value + margin
    z = float(-ndtri((1 - gain.level) / 2)) * kept / below if below > 0 else math.copysign(math.inf, kept)
    return float(ndtr(-z))


def compared_shares(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.ArrayLike | None = None, level: float = 0.95
) -> tuple[Difference, float]:
    """How much oftener the first is right, and McNemar's mid-p; both by cluster, where samples stand in some.

    >>> round(compared_shares([1] * 6, [0] * 6)[1], 6)
    0.015625
    """
    return share_difference(first, second, level, clusters), mcnemar(first, second, clusters)


def bootstrap_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    generator: np.random.Generator,
    resamples: int = 10_000,
    clusters: npt.ArrayLike | None = None,
) -> Difference:
    """The mean of first − second and its percentile bootstrap interval over resampled pairs.

    Pairs are drawn as multinomial counts of the distinct differences, so the interval does not depend on the order of
    the samples, and for right/wrong data the cost does not depend on their number. With `clusters`, the BCa interval
    over these; NaN where no resample changes it.

    >>> bootstrap_difference([1, 1, 1, 0], [1, 1, 1, 0], np.random.default_rng(0)).high
    0.0
    >>> values, twos = [1, 2, 3, 4], [0, 0, 1, 1]
    >>> difference = bootstrap_difference(values, [0] * 4, np.random.default_rng(0), clusters=twos)
    >>> difference.value, difference.low, difference.high
    (2.5, 1.5, 3.5)
    """
    ours, theirs = _paired(first, second, np.float64)
    n = len(ours)
    if clusters is not None:
        codes = pooled(codes_of(clusters))
        sums, sizes = (np.bincount(codes, weights).astype(np.float64) for weights in (ours - theirs, np.ones(n)))
        interval = bca_interval(ratio_of(sums, sizes), len(sizes), generator, expanded(kish(sizes)))
        return Difference(*interval, n, LEVEL)
    if n == 0:
        raise ValueError("a difference over no samples cannot be measured")
    values, counts = np.unique(ours - theirs, return_counts=True)
    means = [drawn @ values / n for drawn in multinomial_draws(n, counts / n, resamples, generator)]
    low, high = np.quantile(np.concatenate(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(float(counts @ values / n), float(low), float(high), n, LEVEL)


def mean_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.NDArray[np.int64] | None,
    generator: np.random.Generator,
    resamples: int = 10_000,
) -> Difference:
    """The mean of first − second, values in [−1, 1], with its bootstrap interval, by cluster where there are some; of
    few pairs with Student's, for their bootstrap is too narrow; where all differ alike, that of `unvaried`."""
    apart = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    if clusters is None and 1 < len(apart) < FEWEST:
        mean, half = float(apart.mean()), half_width(apart - apart.mean())
        difference = Difference(mean, max(-1.0, mean - half), min(1.0, mean + half), len(apart), LEVEL)
    else:
        difference = bootstrap_difference(first, second, generator, resamples, clusters)
    if np.ptp(apart) and difference.low < difference.high:
        return difference
    units = difference.n if clusters is None else len(np.unique(clusters))
    low, high = unvaried(difference.value, units)
    return replace(difference, low=low, high=high)


G = TypeVar("G", bound=np.generic)


def _paired(first: npt.ArrayLike, second: npt.ArrayLike, kind: type[G]) -> tuple[npt.NDArray[G], npt.NDArray[G]]:
    """Two vectors of one length."""
    a, b = np.asarray(first, dtype=kind), np.asarray(second, dtype=kind)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"paired values must be two vectors of one length, not {a.shape} and {b.shape}")
    return a, b
