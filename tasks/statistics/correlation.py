"""How well scores follow people's: Pearson's r, Spearman's ρ and the mean absolute error, with intervals.

All intervals come from a bootstrap, and so do those of differences between two systems, which are resampled on the
same pairs. Fisher's z would be quicker and holds the truth only where scores are normal: of skewed ones in 61 to 89 %.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.entities import percentiles

Array = npt.NDArray[np.float64]
Statistic = Literal["pearson", "spearman", "mae"]

FEWEST_PAIRS = 30
"""Below so many pairs there is no interval: a bootstrap of fewer is too narrow."""

CORRELATED = 4
"""Fewer pairs have no correlation: a line through two points fits them whatever they are, and three nearly so."""


class Interval(NamedTuple):
    """A value with the ends of its interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


def measured(statistic: Statistic, gold: Array, predicted: Array, times: Array | None = None) -> Array:
    """A statistic of pairs; with `times` [b, n], of b resamples in which pair i stands times[·, i] times.

    >>> gold, predicted = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 30.0])
    >>> [round(float(measured(name, gold, predicted)[0]), 2) for name in ("pearson", "spearman", "mae")]
    [0.81, 1.0, 6.75]
    """
    weights = np.ones((1, len(gold))) if times is None else np.asarray(times, dtype=np.float64)
    if statistic == "mae":
        total = weights.sum(axis=1)
        summed = np.asarray(weights @ np.abs(gold - predicted))
        return np.asarray(np.divide(summed, total, out=np.full(len(weights), np.nan), where=total > 0))
    if len(gold) < CORRELATED:
        return np.full(len(weights), np.nan)
    if statistic == "pearson":
        return _correlation(np.broadcast_to(gold, weights.shape), np.broadcast_to(predicted, weights.shape), weights)
    return _correlation(_ranks(gold, weights), _ranks(predicted, weights), weights)


def resamples_of(
    n: int, generator: np.random.Generator, resamples: int = 10_000, groups: npt.NDArray[np.int64] | None = None
) -> Array:
    """How often each of n pairs stands in each resample [b, n]; fewer resamples where there are many pairs, and none
    where there are fewer than `FEWEST_PAIRS`. Pairs of one of the `groups` are drawn together, and these are counted.

    >>> times = resamples_of(60, np.random.default_rng(0), 1000, np.arange(60) // 2)
    >>> times.shape, bool((times[:, ::2] == times[:, 1::2]).all())
    ((1000, 60), True)
    """
    names, codes = np.arange(n), np.arange(n)
    if groups is not None:
        names, codes = np.unique(groups, return_inverse=True)
    if len(names) < FEWEST_PAIRS:
        return np.zeros((0, n))
    rows = max(1000, min(resamples, 10_000_000 // max(n, 1)))
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=rows)
    return np.asarray((drawn if groups is None else drawn[:, codes]).astype(np.float64))


def percentile_interval(value: float, values: Array, level: float = 0.95) -> Interval:
    """A value with the percentile interval of its bootstrap; resamples in which it is undefined are left out.

    >>> percentile_interval(0.5, np.array([0.4, np.nan, 0.4])).low
    0.4
    """
    return Interval(value, *(percentiles(values, level) if np.isfinite(value) else (float("nan"), float("nan"))))


def estimated(statistic: Statistic, gold: Array, predicted: Array, generator: np.random.Generator) -> Interval:
    """A statistic with its 95 % interval over resampled pairs."""
    value = float(measured(statistic, gold, predicted)[0])
    return percentile_interval(value, measured(statistic, gold, predicted, resamples_of(len(gold), generator)))


def compared(
    statistic: Statistic,
    gold: Array,
    predicted: list[Array],
    combine: Callable[..., Array],
    generator: np.random.Generator,
) -> Interval:
    """A combination of several systems' statistics (a difference, a share) with its paired bootstrap interval."""
    times = resamples_of(len(gold), generator)
    value = float(combine(*(measured(statistic, gold, one) for one in predicted))[0])
    return percentile_interval(value, combine(*(measured(statistic, gold, one, times) for one in predicted)))


def _correlation(x: Array, y: Array, weights: Array) -> Array:
    total = weights.sum(axis=1)
    means = [(weights * one).sum(axis=1, keepdims=True) / total[:, None] for one in (x, y)]
    dx, dy = x - means[0], y - means[1]
    shared = (weights * dx * dy).sum(axis=1)
    spread = np.sqrt((weights * dx * dx).sum(axis=1) * (weights * dy * dy).sum(axis=1))
    tiny = 1e-12 * np.maximum(np.abs(x).max(axis=1) * np.abs(y).max(axis=1), 1e-300) * total
    defined = np.divide(shared, spread, out=np.full(len(total), np.nan), where=spread > tiny)
    return np.asarray(np.clip(defined, -1.0, 1.0))


def _ranks(values: Array, weights: Array) -> Array:
    """The average rank of every pair within each resample [b, n]: ranks are taken anew, ties share theirs."""
    distinct, place = np.unique(values, return_inverse=True)
    held = np.zeros((len(weights), len(distinct)))
    np.add.at(held.T, place, weights.T)
    middle = np.cumsum(held, axis=1) - (held - 1) / 2
    return np.asarray(middle[:, place])
