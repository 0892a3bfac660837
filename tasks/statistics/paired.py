"""Two systems on the same samples: McNemar's test of who is right more often, Wilcoxon's of who needs less, and the
difference with its interval: Newcombe's for shares, a bootstrap for amounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import codes_of, effective_size, whole_sums
from assay.tasks.statistics.resampling import bca_interval, expanded, pooled, ratio_of

_CELLS = 4_000_000  # resampled counts in memory at a time
_EXACT = 50  # pairs up to which Wilcoxon's test counts all signs
_DISCORDANT = 25  # samples (or clusters) that differ, from which the normal approximation is good enough


@dataclass(frozen=True)
class McNemar:
    """The samples on which exactly one of the two is right, and how surprising their split would be by chance."""

    first_only: int
    second_only: int
    n: int
    p_exact: float
    p_chi_squared: float

    @property
    def p_value(self) -> float:
        """The exact p-value where fewer than 25 samples differ, else the chi-squared one."""
        return self.p_exact if self.first_only + self.second_only < _DISCORDANT else self.p_chi_squared


@dataclass(frozen=True)
class Difference:
    """The mean of first − second over the samples, with its interval."""

    value: float
    low: float
    high: float
    n: int
    level: float


def mcnemar(first_right: npt.ArrayLike, second_right: npt.ArrayLike) -> McNemar:
    """McNemar's two-sided test, exact (binomial) and chi-squared with continuity correction.

    Without a sample on which the two differ there is nothing to test: both p-values are 1.

    >>> result = mcnemar([True] * 8 + [False] * 2, [False] * 6 + [True] * 2 + [False] * 2)
    >>> result.first_only, result.second_only, result.p_exact
    (6, 0, 0.03125)
    """
    from statsmodels.stats.contingency_tables import mcnemar as test

    first, second = np.asarray(first_right, dtype=np.bool_), np.asarray(second_right, dtype=np.bool_)
    _require_pairs(first.shape, second.shape)
    table = [
        [int((first & second).sum()), int((first & ~second).sum())],
        [int((~first & second).sum()), int((~first & ~second).sum())],
    ]
    first_only, second_only = table[0][1], table[1][0]
    if first_only + second_only == 0:
        return McNemar(0, 0, len(first), 1.0, 1.0)
    # Equal halves corrected for continuity would give (|0| − 1)², as if they differed by one.
    chi_squared = 1.0 if first_only == second_only else float(test(table, exact=False, correction=True).pvalue)
    return McNemar(first_only, second_only, len(first), min(1.0, float(test(table, exact=True).pvalue)), chi_squared)


def mcnemar_by_cluster(first_right: npt.ArrayLike, second_right: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """The two-sided p-value of McNemar's test where samples of one cluster are not independent; 1 where none differs.

    With d_g the first's right answers in cluster g less the second's: exact where fewer than 25 of them are not 0, by
    counting all signs of the d_g (for clusters of one sample that is McNemar's exact test); else Durkalski's (2003)
    Σd_g / √Σd_g², by Student's t on one degree of freedom less than clusters that differ.

    >>> mcnemar_by_cluster([1] * 6, [0] * 6, range(6)), mcnemar_by_cluster([1] * 6, [0] * 6, [1, 1, 1, 2, 2, 2])
    (0.03125, 0.5)
    """
    first, second = np.asarray(first_right, dtype=np.bool_), np.asarray(second_right, dtype=np.bool_)
    _require_pairs(first.shape, second.shape)
    codes = codes_of(clusters)
    apart = first.astype(np.int64) - second.astype(np.int64)
    return _sign_flip_p(whole_sums(codes, apart, int(codes.max(initial=-1)) + 1))


def _exact_sign_p(sizes: list[int], total: int) -> float:
    """How often random signs of whole numbers add up to `total` or more in either direction, counted exactly."""
    reach = sum(sizes)
    ways = [0] * (2 * reach + 1)
    ways[reach] = 1
    for size in sizes:
        ways = [
            (ways[at - size] if at >= size else 0) + (ways[at + size] if at + size < len(ways) else 0)
            for at in range(len(ways))
        ]
    extreme = sum(ways[: reach - total + 1]) + sum(ways[reach + total :])
    return 1.0 if total == 0 else extreme / 2 ** len(sizes)


def wilcoxon(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test on paired amounts; 1 where no pair differs.

    Pairs without a difference say nothing and are left out; few pairs without ties are tested exactly, others by the
    normal approximation with corrections for ties and continuity.

    >>> wilcoxon([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
    0.03125
    """
    from scipy.stats import wilcoxon as test

    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    _require_pairs(ours.shape, theirs.shape)
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

    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    _require_pairs(ours.shape, theirs.shape)
    apart = ours - theirs
    differ = apart != 0
    twice = np.rint(2 * rankdata(np.abs(apart[differ]))).astype(np.int64)  # midranks are halves
    codes = codes_of(np.asarray(clusters)[differ])
    signed = np.where(apart[differ] > 0, twice, -twice)
    return _sign_flip_p(whole_sums(codes, signed, int(codes.max(initial=-1)) + 1))


def _sign_flip_p(sums: list[int]) -> float:
    """The two-sided p of a sum of whole numbers per cluster, under signs that turn at random; 1 where all are 0."""
    from scipy.stats import t

    turning = [cluster_sum for cluster_sum in sums if cluster_sum]
    total = abs(sum(turning))
    if not turning:
        return 1.0
    if len(turning) < _DISCORDANT:
        return _exact_sign_p([abs(cluster_sum) for cluster_sum in turning], total)
    return 2 * float(t.sf(total / np.sqrt(sum(cluster_sum * cluster_sum for cluster_sum in turning)), len(turning) - 1))


def share_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95, clusters: npt.ArrayLike | None = None
) -> Difference:
    """The share of samples on which the first is right, less that of the second, with Newcombe's paired interval.

    Newcombe (1998), method 10: the Wilson intervals of both shares, squared and added with their correlation φ. Unlike
    a bootstrap it has a width where both are right on the same samples: ten ties are no proof that there is no
    difference. With `clusters`, the same interval of as many independent pairs as are as uncertain, Student's t in
    the place of the normal distribution.

    >>> difference = share_difference([True] * 10, [True] * 10)
    >>> difference.value, round(difference.low, 3), round(difference.high, 3)
    (0.0, -0.278, 0.278)
    """
    from assay.tasks.statistics.proportions import wilson

    first_right, second_right = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    _require_pairs(first_right.shape, second_right.shape)
    n = len(first_right)
    if n == 0:
        raise ValueError("a difference over no samples cannot be measured")
    won = np.array([first_right.sum(), second_right.sum()], dtype=np.float64)
    share = won / n
    counted = float(n)
    if clusters is not None:  # as many independent pairs as know as much of the difference; none of a single cluster
        counted = effective_size(first_right.astype(np.float64) - second_right, clusters).counted(level)
    if not counted:
        return Difference(float(share[0] - share[1]), -1.0, 1.0, n, level)
    low, high = wilson(share * counted, [counted, counted], level)
    down, up, phi = share - low, high - share, _correlation(first_right, second_right)
    value = float(won[0] - won[1]) / n
    below, above = (
        float(np.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))) for a, b in ((down[0], up[1]), (up[0], down[1]))
    )
    return Difference(value, max(-1.0, value - below), min(1.0, value + above), n, level)


def compared_shares(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.NDArray[np.int64] | None = None
) -> tuple[Difference, float]:
    """How much oftener the first is right, and McNemar's exact p; both by cluster, where samples stand in some.

    >>> compared_shares([1] * 6, [0] * 6)[1]
    0.03125
    """
    if clusters is None:
        return share_difference(first, second), mcnemar(first, second).p_exact
    return share_difference(first, second, clusters=clusters), mcnemar_by_cluster(first, second, clusters)


def bootstrap_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    generator: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Difference:
    """The mean of first − second and its percentile bootstrap interval over resampled pairs.

    Pairs are drawn as multinomial counts of the distinct differences, so the interval does not depend on the order of
    the samples, and for right/wrong data the cost does not depend on their number.

    >>> bootstrap_difference([1, 1, 1, 0], [1, 1, 1, 0], np.random.default_rng(0)).high
    0.0
    """
    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    _require_pairs(ours.shape, theirs.shape)
    n = len(ours)
    if n == 0:
        raise ValueError("a difference over no samples cannot be measured")
    values, counts = np.unique(ours - theirs, return_counts=True)
    block = max(1, _CELLS // len(values))
    means = [
        generator.multinomial(n, counts / n, size=min(block, resamples - start)) @ values / n
        for start in range(0, resamples, block)
    ]
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Difference(float(counts @ values / n), float(low), float(high), n, level)


def mean_difference_by_cluster(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    generator: np.random.Generator,
    level: float = 0.95,
) -> Difference:
    """The mean of first − second with its BCa interval over resampled clusters; NaN where no resample changes it.

    >>> difference = mean_difference_by_cluster([1, 2, 3, 4], [0, 0, 0, 0], [0, 0, 1, 1], np.random.default_rng(0))
    >>> difference.value, difference.low, difference.high
    (2.5, 1.5, 3.5)
    """
    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    _require_pairs(ours.shape, theirs.shape)
    codes = pooled(codes_of(clusters))
    blocks = int(codes.max(initial=-1)) + 1
    sums = np.bincount(codes, ours - theirs, blocks).astype(np.float64)
    statistic = ratio_of(sums, np.bincount(codes, minlength=blocks).astype(np.float64))
    within = expanded(blocks, level) if blocks > 1 else level
    return Difference(*bca_interval(statistic, blocks, generator, within), len(ours), level)


def _correlation(first_right: npt.NDArray[np.bool_], second_right: npt.NDArray[np.bool_]) -> float:
    """φ of two rows of right and wrong, corrected for continuity as Newcombe does; 0 where one has only one answer."""
    n, a, b = len(first_right), int(first_right.sum()), int(second_right.sum())
    both = int((first_right & second_right).sum())
    apart = both * (n - a - b + both) - (a - both) * (b - both)
    apart_corrected = max(apart - n / 2, 0.0) if apart > 0 else float(apart)
    margins = float(a * (n - a)) * float(b * (n - b))
    return apart_corrected / float(np.sqrt(margins)) if margins else 0.0


def _require_pairs(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    if first != second or len(first) != 1:
        raise ValueError(f"paired values must be two vectors of one length, not {first} and {second}")
