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


def mcnemar(first_right: npt.ArrayLike, second_right: npt.ArrayLike) -> float:
    """The two-sided p-value of McNemar's test by mid-p (Fagerland, Lydersen and Laake 2013): the chance of a split as
    uneven as this one, that of exactly this one counted half; 1 without a sample on which the two differ.

    >>> round(mcnemar([True] * 8 + [False] * 2, [False] * 6 + [True] * 2 + [False] * 2), 6)
    0.015625
    """
    first, second = _paired(first_right, second_right, np.bool_)
    return mid_p(int((first & ~second).sum()), int((~first & second).sum()))


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


def mcnemar_by_cluster(first_right: npt.ArrayLike, second_right: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """The two-sided p-value of McNemar's test where samples of one cluster are not independent; 1 where none differs.

    With d_g the first's right answers in cluster g less the second's: mid-p where fewer than 25 of them are not 0, by
    counting all signs of the d_g (for clusters of one sample that is `mcnemar`); else Durkalski's (2003) Σd_g / √Σd_g²,
    by Student's t on one degree of freedom less than clusters that differ.

    >>> mcnemar_by_cluster([1] * 6, [0] * 6, range(6)), mcnemar_by_cluster([1] * 6, [0] * 6, [1, 1, 1, 2, 2, 2])
    (0.015625, 0.25)
    """
    first, second = _paired(first_right, second_right, np.bool_)
    codes = codes_of(clusters)
    apart = first.astype(np.int64) - second.astype(np.int64)
    return _sign_flip_p(sums_by_cluster(codes, apart, int(codes.max(initial=-1)) + 1).tolist(), mid=True)


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


def wilcoxon(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test on paired amounts; 1 where no pair differs.

    Pairs without a difference say nothing and are left out; few pairs without ties are tested exactly, others by the
    normal approximation with corrections for ties and continuity.

    >>> wilcoxon([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
    0.03125
    """
    from scipy.stats import wilcoxon as test

    ours, theirs = _paired(first, second, np.float64)
    apart = (ours - theirs)[ours != theirs]
    if not len(apart):
        return 1.0
    tied = len(np.unique(np.abs(apart))) < len(apart)
    method = "approx" if tied or len(apart) > _EXACT else "exact"
    return float(test(apart, correction=method == "approx", method=method).pvalue)


def wilcoxon_by_cluster(first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """Wilcoxon's test where pairs of one cluster are not independent: signs turn cluster by cluster, not pair by pair.

    With S_g the sum of signed ranks in cluster g: ΣS_g against all signs of the S_g where fewer than 25 of them are not
    0, else ΣS_g / √ΣS_g² (Rosner, Glynn and Lee 2006) by Student's t on one degree of freedom less than such clusters.

    >>> wilcoxon_by_cluster([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12], range(6))
    0.03125
    """
    from scipy.stats import rankdata

    ours, theirs = _paired(first, second, np.float64)
    apart = ours - theirs
    differ = apart != 0
    twice = np.rint(2 * rankdata(np.abs(apart[differ]))).astype(np.int64)  # midranks are halves
    codes = codes_of(np.asarray(clusters)[differ])
    signed = np.where(apart[differ] > 0, twice, -twice)
    return _sign_flip_p(sums_by_cluster(codes, signed, int(codes.max(initial=-1)) + 1).tolist())


def _sign_flip_p(sums: list[int], *, mid: bool = False) -> float:
    """The two-sided p of a sum of whole numbers per cluster, under signs that turn at random; 1 where all are 0."""
    from scipy.special import stdtr

    turning = [cluster_sum for cluster_sum in sums if cluster_sum]
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
    low, high = _agreeing(ends, mcnemar_by_cluster(first_right, second_right, clusters), level)
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
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.NDArray[np.int64] | None = None
) -> tuple[Difference, float]:
    """How much oftener the first is right, and McNemar's mid-p; both by cluster, where samples stand in some.

    >>> round(compared_shares([1] * 6, [0] * 6)[1], 6)
    0.015625
    """
    if clusters is None:
        return share_difference(first, second), mcnemar(first, second)
    return share_difference(first, second, clusters=clusters), mcnemar_by_cluster(first, second, clusters)


def bootstrap_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, generator: np.random.Generator, resamples: int = 10_000
) -> Difference:
    """The mean of first − second and its percentile bootstrap interval over resampled pairs.

    Pairs are drawn as multinomial counts of the distinct differences, so the interval does not depend on the order of
    the samples, and for right/wrong data the cost does not depend on their number.

    >>> bootstrap_difference([1, 1, 1, 0], [1, 1, 1, 0], np.random.default_rng(0)).high
    0.0
    """
    ours, theirs = _paired(first, second, np.float64)
    n = len(ours)
    if n == 0:
        raise ValueError("a difference over no samples cannot be measured")
    values, counts = np.unique(ours - theirs, return_counts=True)
    means = [drawn @ values / n for drawn in multinomial_draws(n, counts / n, resamples, generator)]
    low, high = np.quantile(np.concatenate(means), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(float(counts @ values / n), float(low), float(high), n, LEVEL)


def mean_difference_by_cluster(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.ArrayLike, generator: np.random.Generator
) -> Difference:
    """The mean of first − second with its BCa interval over resampled clusters; NaN where no resample changes it.

    >>> difference = mean_difference_by_cluster([1, 2, 3, 4], [0, 0, 0, 0], [0, 0, 1, 1], np.random.default_rng(0))
    >>> difference.value, difference.low, difference.high
    (2.5, 1.5, 3.5)
    """
    ours, theirs = _paired(first, second, np.float64)
    codes = pooled(codes_of(clusters))
    blocks = int(codes.max(initial=-1)) + 1
    sums, sizes = np.bincount(codes, ours - theirs, blocks), np.bincount(codes, minlength=blocks).astype(np.float64)
    statistic = ratio_of(sums.astype(np.float64), sizes)
    return Difference(*bca_interval(statistic, blocks, generator, expanded(kish(sizes))), len(ours), LEVEL)


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
    if clusters is not None:
        difference = mean_difference_by_cluster(first, second, clusters, generator)
    elif 1 < len(apart) < FEWEST:
        mean, half = float(apart.mean()), half_width(apart - apart.mean())
        difference = Difference(mean, max(-1.0, mean - half), min(1.0, mean + half), len(apart), LEVEL)
    else:
        difference = bootstrap_difference(first, second, generator, resamples)
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
