"""Intervals by resampling what is independent: groups (or single samples), never the rows of one group apart.

A statistic is a function of weights: how often each group stands in a resample. So ratios, means of ratios and areas
are resampled alike, and several of them on the same groups, which is what pairs need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Statistic = Callable[[Array], Array]
"""Weights [b, G] to values [b], or [b, k] for k statistics at once."""

RESAMPLES = 2000
LEVEL = 0.95
"""Of an interval, unless it is asked otherwise."""
FEWEST = 30
"""Below so many groups a percentile interval is too narrow: ten cover 81 to 89 %."""
_CELLS = 4_000_000
BLOCKS = 4000
"""More groups than these are put together before they are resampled."""


class Interval(NamedTuple):
    """A value with its interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


def pooled(codes: npt.NDArray[np.int64], blocks: int = BLOCKS) -> npt.NDArray[np.int64]:
    """Codes of at most so many groups: more of them are put together, which is as good and costs no more.

    >>> pooled(np.array([0, 5, 9]), 4).tolist()
    [0, 1, 1]
    """
    return np.asarray(np.unique(codes % blocks, return_inverse=True)[1], dtype=np.int64)


def jackknife_interval(value: float, without: npt.ArrayLike) -> Interval:
    """A statistic with its interval from what it is without each part of the groups (`pooled` makes a hundred).

    >>> numbers = np.arange(50.0)
    >>> interval = jackknife_interval(numbers.mean(), [np.delete(numbers, value).mean() for value in range(50)])
    >>> [round(float(value), 1) for value in interval]
    [24.5, 20.4, 28.6]
    """
    from scipy.special import stdtrit

    each = np.asarray(without, dtype=np.float64)
    count = len(each)
    if count < 2 or np.isnan(value):
        return Interval(value, float("nan"), float("nan"))
    spread = float(np.sqrt((count - 1) / count * ((each - each.mean()) ** 2).sum()))
    half = -float(stdtrit(count - 1, (1 - LEVEL) / 2)) * spread
    return Interval(value, value - half, value + half)


def multinomial_draws(n: int, chances: Array, resamples: int, generator: np.random.Generator) -> Iterator[Array]:
    """How often each kind stands in resamples of n, [b, kinds] at a time, as many as fit into memory."""
    block = max(1, _CELLS // len(chances))
    for start in range(0, resamples, block):
        yield generator.multinomial(n, chances, min(block, resamples - start)).astype(np.float64)


def replicates(statistic: Statistic, groups: int, generator: np.random.Generator, resamples: int = RESAMPLES) -> Array:
    """The statistic over resamples of the groups, drawn with replacement."""
    equal = np.full(groups, 1 / groups)
    return np.concatenate([statistic(drawn) for drawn in multinomial_draws(groups, equal, resamples, generator)])


def bca_interval(
    statistic: Statistic, groups: int, generator: np.random.Generator, level: float = 0.95, resamples: int = RESAMPLES
) -> Interval:
    """The bias-corrected and accelerated interval of Efron (1987) over resampled groups.

    Fewer than two groups, or a statistic that no resample changes, have no interval: low and high are NaN.

    >>> values = np.arange(40.0)
    >>> interval = bca_interval(lambda w: w @ values / w.sum(axis=1), 40, np.random.default_rng(0))
    >>> [round(value, 1) for value in interval]
    [19.5, 16.1, 23.1]
    """
    value = float(statistic(np.ones((1, groups)))[0]) if groups else float("nan")
    if groups < 2 or not np.isfinite(value):
        return Interval(value, float("nan"), float("nan"))
    drawn = replicates(statistic, groups, generator, resamples)
    return _corrected(value, drawn, lambda: _acceleration(_jackknife(statistic, groups)), level)


def bca_interval_of_sums(
    statistic: Statistic, sums: Array, times: npt.NDArray[np.int64], generator: np.random.Generator
) -> Interval:
    """As `bca_interval`, where many groups are alike: what one of each kind adds [P, c], and how many there are [P].

    The statistic is one of sums over groups, [b, c] to [b]. It costs what the kinds cost, however many the groups are.

    >>> heads = np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> often = np.array([700_000, 300_000])
    >>> interval = bca_interval_of_sums(lambda s: s[:, 0] / s[:, 1], heads, often, np.random.default_rng(0))
    >>> [round(value, 3) for value in interval]
    [0.7, 0.699, 0.701]
    """
    groups, whole = int(times.sum()), times @ sums
    value = float(statistic(whole[None])[0]) if groups else float("nan")
    if groups < 2 or not np.isfinite(value):
        return Interval(value, float("nan"), float("nan"))
    drawn = [statistic(counts @ sums) for counts in multinomial_draws(groups, times / groups, RESAMPLES, generator)]
    return _corrected(value, np.concatenate(drawn), lambda: _acceleration(statistic(whole - sums), times), LEVEL)


def expanded(groups: float, level: float = 0.95) -> float:
    """The level at which resampled quantiles of few groups hold what `level` says (Hesterberg 2015, §4.3.2); `groups`
    are as many of equal size as count.

    Resamples vary by √((G − 1)/G) too little, and know nothing of how uncertain the spread of few groups is itself.

    >>> round(expanded(10), 3), round(expanded(1000), 3)
    (0.983, 0.95)
    """
    from scipy.special import ndtr, stdtrit

    if groups < 1 + 1e-9:
        return level
    tail = float(stdtrit(groups - 1, (1 - level) / 2)) * (groups / (groups - 1)) ** 0.5
    return min(1 - 2 * float(ndtr(tail)), 0.9999)


def ratio_of(above: Array, below: Array) -> Statistic:
    """The statistic Σ above / Σ below of sums per group [G]; NaN where nothing stands below."""

    def statistic(weights: Array) -> Array:
        return divided(weights @ above, weights @ below)

    return statistic


def mean_of_ratios(above: Array, below: Array) -> Statistic:
    """The mean over k kinds of Σ above_k / Σ below_k, sums per group [G, k]: every kind counts the same.

    A kind below which nothing stands in a resample is left out of that resample's mean.

    >>> two = mean_of_ratios(np.array([[1.0, 30.0]]), np.array([[2.0, 10.0]]))
    >>> two(np.ones((1, 1))).tolist()
    [1.75]
    """

    return lambda weights: mean_where_known(divided(weights @ above, weights @ below))


def mean_where_known(values: Array) -> Array:
    """The mean over the last axis of what is a number; NaN where nothing is.

    >>> mean_where_known(np.array([[1.0, np.nan, 2.0], [np.inf, np.nan, np.nan]])).tolist()
    [1.5, nan]
    """
    known = np.isfinite(values)
    return divided(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1).astype(np.float64))


def critical_value(drawn: Array, value: Array, level: float = 0.95) -> float:
    """What replaces 1.96 where several values are judged at once: the quantile of max_k |θ*_k − θ_k| / se_k.

    Values that no resample changes take no part. Never below the value for one alone.
    """
    from scipy.special import ndtri

    single = float(-ndtri((1 - level) / 2))
    spread = np.nanstd(drawn, axis=0, ddof=1)
    varied = np.isfinite(spread) & (spread > 0)
    if not varied.any():
        return single
    farthest = np.nanmax(np.abs(drawn[:, varied] - value[varied]) / spread[varied], axis=1)
    return max(single, float(np.quantile(farthest[np.isfinite(farthest)], level)))


def _corrected(value: float, drawn: Array, acceleration: Callable[[], float], level: float) -> Interval:
    """The interval from the statistic of resamples; the acceleration is asked for only where these vary."""
    from scipy.special import ndtr, ndtri

    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 2 or drawn.min() == drawn.max():
        return Interval(value, float("nan"), float("nan"))
    below = (float((drawn < value).sum()) + float((drawn == value).sum()) / 2) / len(drawn)
    bias = float(ndtri(min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn))))
    z = ndtri([(1 - level) / 2, (1 + level) / 2])
    ends = ndtr(bias + (bias + z) / np.maximum(1 - acceleration() * (bias + z), 1e-9))
    low, high = np.quantile(drawn, ends)
    return Interval(value, min(float(low), value), max(float(high), value))


def _jackknife(statistic: Statistic, groups: int) -> Array:
    """The statistic without each of the groups in turn."""
    block = max(1, _CELLS // groups)
    left = [statistic(1.0 - np.eye(min(block, groups - start), groups, start)) for start in range(0, groups, block)]
    return np.concatenate(left)


def _acceleration(jackknife: Array, times: npt.NDArray[np.int64] | None = None) -> float:
    """Efron's a: the skewness of what each group adds, from what is left without it; `times` groups are alike."""
    known = np.isfinite(jackknife)
    often = (np.ones(len(jackknife)) if times is None else times.astype(np.float64))[known]
    left = jackknife[known]
    apart = (often * left).sum() / often.sum() - left if len(left) else left
    spread = float((often * apart**2).sum())
    return float((often * apart**3).sum()) / (6 * spread**1.5) if spread else 0.0


def divided(above: Array, below: Array) -> Array:
    """above / below, NaN where nothing stands below."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))
