"""Shares of many answers per block of samples, with intervals that know that the answers of one block go together.

A block is a sample, a group of them, or several such units put together. All that is needed of the blocks is one
matrix of whole numbers: the sums and the products of what was counted in each, added over blocks. It is divided once,
at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.proportions import wilson
from assay.tasks.statistics.resampling import Interval

Counts = npt.NDArray[np.int64]
_NOWHERE = float("nan")


@dataclass(frozen=True)
class Gram:
    """The sums and products of counts over blocks, and how many independent units (samples or groups) the blocks hold.

    The matrix is aᵀa over rows a = (1, counts), [1 + m, 1 + m].
    """

    sums: npt.NDArray[np.int64]
    units: int


def gram(counts: Counts, units: int | None = None) -> Gram:
    """Of the counts of blocks [n, m]; as many units as blocks where nothing else is said.

    >>> gram(np.array([[2, 30], [1, 30]])).sums.tolist()
    [[2, 3, 60], [3, 5, 90], [60, 90, 1800]]
    """
    rows = np.column_stack([np.ones(len(counts), np.int64), counts])
    return Gram(rows.T @ rows, len(counts) if units is None else units)


def clustered_share(
    of: Gram, hits: int, trials: int, alike: float | None = None, level: float = 0.95
) -> Interval | None:
    """Σ hits / Σ trials over units, each with several trials; None where nothing was tried.

    The interval is Wilson's for so many independent trials as have the variance that the blocks show: at most one per
    trial, at least one per unit, and fewer where few blocks show it. `alike` is how far the trials of a unit are known
    to go together (`likeness` of more of them): few hits show too little of it by themselves. Without it, units that
    all gave the same answer are taken to have one trial each. One unit says nothing of others: its interval is [0, 1].

    >>> interval = clustered_share(gram(np.array([[2, 30], [1, 30]])), 1, 2)
    >>> round(interval.value, 3), round(interval.high, 2)
    (0.05, 0.76)
    """
    total = int(of.sums[0, trials])
    if total == 0:
        return None
    value = int(of.sums[0, hits]) / total
    if of.units < 2:
        return Interval(value, 0.0, 1.0)
    own = _inflation(of, hits, trials)
    each = total / of.units
    known = None if alike is None else 1 + (each - 1) * alike
    inflation = max((one for one in (own, known) if one is not None), default=each)
    correction = 1.0 if own is None else _t_correction(int(of.sums[0, 0]), level)
    worth = min(max(total / inflation, of.units), total) * correction
    low, high = wilson([value * worth], [worth], level)
    return Interval(value, float(low[0]), float(high[0]))


def covariances(of: Gram) -> npt.NDArray[np.float64]:
    """How the shares of k cells vary together over blocks, [k, k], from their hits and trials cell by cell.

    A cell in which nothing was tried does not vary.

    >>> covariances(gram(np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1]]))).tolist()
    [[0.0625, -0.0625], [-0.0625, 0.0625]]
    """
    places = [(at, at + 1) for at in range(1, len(of.sums), 2)]
    matrix = np.zeros((len(places), len(places)))
    for at, cell in enumerate(places):
        for beside, other in enumerate(places[: at + 1]):
            tried = int(of.sums[0, cell[1]]) * int(of.sums[0, other[1]])
            matrix[at, beside] = matrix[beside, at] = _spread(of, cell, other) / tried if tried else 0.0
    return matrix


def likeness(of: Gram, hits: int, trials: int) -> float | None:
    """How far the trials of a unit go together, 0 (not at all) to 1 (as one); None where blocks do not differ.

    >>> likeness(gram(np.array([[30, 30], [0, 30]] * 50)), 1, 2)
    1.0
    """
    inflation = _inflation(of, hits, trials)
    each = int(of.sums[0, trials]) / max(1, of.units)
    return None if inflation is None or each <= 1 else min(1.0, max(0.0, (inflation - 1) / (each - 1)))


def _inflation(of: Gram, hits: int, trials: int) -> float | None:
    """The variance of the share beside that of independent trials (the design effect); None where it is unknown."""
    total, blocks = int(of.sums[0, trials]), int(of.sums[0, 0])
    spread = _spread(of, (hits, trials), (hits, trials)) if total else 0.0
    if spread <= 0 or blocks < 2:
        return None
    value = int(of.sums[0, hits]) / total
    return spread / total * blocks / (blocks - 1) / (value * (1 - value))


def _t_correction(blocks: int, level: float = 0.95) -> float:
    """(z/t)², t on n − 1 degrees of freedom: the spread of few blocks is itself uncertain."""
    from scipy.stats import norm, t

    tail = (1 - level) / 2
    return float(norm.isf(tail) / t.isf(tail, blocks - 1)) ** 2


def clustered_ratio(
    of: Gram, above: tuple[int, int], below: tuple[int, int], alike: tuple[float | None, float | None] = (None, None)
) -> Interval | None:
    """The ratio of two shares (hits, trials) of the same units; None where the lower one is zero.

    The interval puts the two shares' own intervals together (MOVER-R, Donner and Zou 2012) and allows for their
    correlation over the blocks; it holds where the upper share is zero. `alike` is as for the two shares. Of one unit
    there is no interval: NaN.
    """
    upper, lower = clustered_share(of, *above, alike[0]), clustered_share(of, *below, alike[1])
    if upper is None or lower is None or lower.value == 0:
        return None
    value = upper.value / lower.value
    if of.units < 2:
        return Interval(value, _NOWHERE, _NOWHERE)
    spreads = _spread(of, above, above) * _spread(of, below, below)
    correlation = _spread(of, above, below) / math.sqrt(spreads) if spreads > 0 else 0.0
    low, high = _mover(upper, lower, min(1.0, max(-1.0, correlation)))
    return Interval(value, min(low, value), max(high, value))


def _mover(upper: Interval, lower: Interval, correlation: float) -> tuple[float, float]:
    """Where (A - θB)² is as large as the intervals of A and B allow: the two roots in θ."""
    a, b = upper.value, lower.value
    inner = lower.high * (2 * b - lower.high)
    middle = a * b - correlation * (a - upper.low) * (lower.high - b)
    product = upper.low * (2 * a - upper.low)
    root = math.sqrt(max(0.0, middle**2 - inner * product))
    low = product / (middle + root) if middle + root > 0 else 0.0
    outer = lower.low * (2 * b - lower.low)
    middle = a * b - correlation * (upper.high - a) * (b - lower.low)
    root = math.sqrt(max(0.0, middle**2 - outer * upper.high * (2 * a - upper.high)))
    return low, (middle + root) / outer


def _spread(of: Gram, cell: tuple[int, int], other: tuple[int, int]) -> float:
    """Σ (hits - share·trials)·(the same of the other) over blocks, exact until the one division at the end."""
    (h, m), (g, k) = cell, other
    x = [[int(of.sums[i, j]) for j in (g, k)] for i in (h, m)]
    hits, trials, others, tries = (int(of.sums[0, i]) for i in (h, m, g, k))
    whole = x[0][0] * trials * tries - x[0][1] * trials * others - x[1][0] * hits * tries + x[1][1] * hits * others
    return whole / (trials * tries)
