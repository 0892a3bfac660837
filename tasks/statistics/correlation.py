"""Correlation: how well scores follow people's (Pearson's r, Spearman's ρ, mean absolute error, with bootstrap
intervals), and whether accuracy falls along nested data sets.

Intervals of differences between two systems are resampled on the same pairs. Fisher's z would be quicker and holds
the truth only where scores are normal: of skewed ones in 61 to 89 %.

D_1 ⊂ D_2 ⊂ … share samples, so their accuracies move together and the t-test of Definition 2 calls a random order
adverse far too often. In `permutation_p` ρ is compared with its own distribution under random orders of the same
samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt


class Spearman(NamedTuple):
    """ρ and its two-sided p-value per row; NaN where they are undefined."""

    rho: npt.NDArray[np.float64]  # [b]
    p_value: npt.NDArray[np.float64]  # [b]


def spearman_rows(rows: npt.ArrayLike) -> Spearman:
    """ρ(i, row_i) of every row of [b, N] with i = 1…N, and its two-sided p-value from t(N − 2).

    Ties within a row share their average rank. A constant row has no ranks to correlate: ρ and p are NaN, and so they
    are where the row itself holds a NaN. With two values p is NaN as well, because t(0) does not exist.

    >>> spearman_rows([[0.9, 0.8, 0.7], [0.5, 0.5, 0.5]]).rho
    array([-1., nan])
    """
    from scipy.special import stdtr
    from scipy.stats import rankdata

    values: npt.NDArray[np.float64] = np.atleast_2d(np.asarray(rows, dtype=np.float64))  # [b, N]
    width = values.shape[1]
    known: npt.NDArray[np.bool_] = np.logical_not(np.isnan(values).any(axis=1))
    doubled = np.rint(2 * rankdata(np.where(known[:, None], values, 0.0), axis=1)).astype(np.int64)
    ranks = doubled - (width + 1)  # twice the centred rank: integers, so every sum below is exact
    positions = 2 * np.arange(1, width + 1, dtype=np.int64) - (width + 1)
    spread = (ranks * ranks).sum(axis=1).astype(np.float64) * float((positions * positions).sum())
    defined = known & (spread > 0)
    rho = np.full(len(values), np.nan)
    rho[defined] = np.clip((ranks @ positions)[defined] / np.sqrt(spread[defined]), -1.0, 1.0)
    p_value = np.full(len(values), np.nan)
    if width > 2:
        r = rho[defined]
        with np.errstate(divide="ignore"):
            p_value[defined] = 2 * stdtr(width - 2, -np.abs(r) * np.sqrt((width - 2) / (1 - r * r)))
    return Spearman(rho, p_value)


_TIE = 1e-12  # two ρ of integer ranks that are closer than this are the same number, rounded twice
_BLOCK = 16_384  # permutations in memory at a time


@dataclass(frozen=True)
class TrendTest:
    """ρ of the nested accuracies (None for a constant curve) and its one-sided p-values among random orders."""

    rho: float | None
    p_adverse: float
    p_violation: float


def permutation_p(
    hits_per_stratum: npt.ArrayLike, sizes: npt.ArrayLike, permutations: int, generator: np.random.Generator
) -> TrendTest:
    """ρ(i, accuracy of D_i) with p = (1 + #{ρ_perm ≤ ρ}) / (1 + B), and the same for ≥ (the violation).

    `sizes` are the samples that each D_i adds to D_{i−1}, `hits_per_stratum` how many of those are right. Under a
    random order the hits fall into the strata by the multivariate hypergeometric law, so no sample is ever shuffled:
    the cost does not grow with their number. A constant curve, observed or drawn, counts as ρ = 0: it has no trend.

    >>> falling = permutation_p([30, 29, 27, 26, 24, 22, 21, 19], [30] * 8, 999, np.random.default_rng(0))
    >>> falling.rho, falling.p_adverse <= 0.05
    (-1.0, True)
    """
    hits, counts = (np.asarray(each, dtype=np.int64) for each in (hits_per_stratum, sizes))
    rho = float(spearman_rows(nested_accuracy(hits[None, :], counts)).rho[0])
    observed, at_most, at_least = float(np.nan_to_num(rho)), 0, 0
    for start in range(0, permutations, _BLOCK):
        block = min(_BLOCK, permutations - start)
        dealt = generator.multivariate_hypergeometric(counts, int(hits.sum()), size=block)
        drawn = np.nan_to_num(spearman_rows(nested_accuracy(dealt, counts)).rho)
        at_most += int((drawn <= observed + _TIE).sum())
        at_least += int((drawn >= observed - _TIE).sum())
    p_adverse, p_violation = ((1 + orders) / (1 + permutations) for orders in (at_most, at_least))
    return TrendTest(None if np.isnan(rho) else rho, p_adverse, p_violation)


def nested_accuracy(hits: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The accuracy of D_1, D_2, … from the hits of each stratum, [b, N] → [b, N']: empty D_i are left out.

    Equal fractions come out as equal floats (division rounds correctly), so ties stay ties.

    >>> nested_accuracy(np.array([[0, 2, 1]]), np.array([0, 2, 2]))
    array([[1.  , 0.75]])
    """
    cumulative = np.cumsum(sizes)
    filled = cumulative > 0
    accuracy: npt.NDArray[np.float64] = np.cumsum(hits, axis=1)[:, filled] / cumulative[filled]
    return accuracy


Array = npt.NDArray[np.float64]
Statistic = Literal["pearson", "spearman", "mae"]

FEWEST_PAIRS = 30
"""Below so many pairs there is no interval: a bootstrap of fewer is too narrow."""

CORRELATED = 4
"""Fewer pairs have no correlation: a line through two points fits them whatever they are, and three nearly so."""


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


def _correlation(x: Array, y: Array, weights: Array) -> Array:
    total = weights.sum(axis=1)
    means = [(weights * values).sum(axis=1, keepdims=True) / total[:, None] for values in (x, y)]
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
