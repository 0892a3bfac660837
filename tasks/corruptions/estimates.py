"""Shares of many answers per sample, with intervals that know that the answers of one sample go together.

All that is needed of the samples is one matrix of whole numbers: the sums and the products of what was counted per
sample, added over samples. It is the same for any cut of the samples and any order, and is divided once, at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.proportions import wilson

Gram = npt.NDArray[np.int64]  # [1 + m, 1 + m]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval, the samples behind it, and how far single samples stray (for ratios)."""

    value: float
    low: float
    high: float
    samples: int


def gram(counts: Counts) -> Gram:
    """The sums and products of the counts of samples [n, m]: aᵀa over rows a = (1, counts), [1 + m, 1 + m].

    >>> gram(np.array([[2, 30], [1, 30]])).tolist()
    [[2, 3, 60], [3, 5, 90], [60, 90, 1800]]
    """
    rows = np.column_stack([np.ones(len(counts), np.int64), counts])
    return rows.T @ rows


def clustered_share(
    sums: Gram, hits: int, trials: int, alike: float | None = None, level: float = 0.95
) -> Share | None:
    """Σ hits / Σ trials over samples, each with several trials; None where nothing was tried.

    The interval is Wilson's for so many independent trials as have the variance that the samples show: at most one per
    trial, at least one per sample. `alike` is how far the trials of a sample are known to go together (`likeness` of
    more of them): few hits show too little of it by themselves. Without it, samples that all gave the same answer are
    taken to have one trial each.

    >>> share = clustered_share(gram(np.array([[2, 30], [1, 30]])), 1, 2)
    >>> round(share.value, 3), share.samples
    (0.05, 2)
    """
    total, samples = int(sums[0, trials]), int(sums[0, 0])
    if total == 0:
        return None
    value = int(sums[0, hits]) / total
    own = _inflation(sums, hits, trials)
    each = total / samples
    known = None if alike is None else 1 + (each - 1) * alike
    inflation = max((one for one in (own, known) if one is not None), default=each)
    worth = min(max(total / inflation, samples), total)
    low, high = wilson([value * worth], [worth], level)
    return Share(value, float(low[0]), float(high[0]), samples)


def covariances(sums: Gram) -> npt.NDArray[np.float64]:
    """How the shares of k cells vary together, [k, k], from the sums and products of (hits, trials) cell by cell,
    [1 + 2k, 1 + 2k]; 0 for a cell in which nothing was tried.

    >>> covariances(gram(np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1]]))).tolist()
    [[0.0625, -0.0625], [-0.0625, 0.0625]]
    """
    places = [(at, at + 1) for at in range(1, len(sums), 2)]
    found = np.zeros((len(places), len(places)))
    for at, one in enumerate(places):
        for beside, other in enumerate(places[: at + 1]):
            tried = int(sums[0, one[1]]) * int(sums[0, other[1]])
            found[at, beside] = found[beside, at] = _spread(sums, one, other) / tried if tried else 0.0
    return found


def likeness(sums: Gram, hits: int, trials: int) -> float | None:
    """How far the trials of a sample go together, 0 (not at all) to 1 (as one); None where samples do not differ.

    >>> likeness(gram(np.array([[30, 30], [0, 30]] * 50)), 1, 2)
    1.0
    """
    inflation = _inflation(sums, hits, trials)
    each = int(sums[0, trials]) / max(1, int(sums[0, 0]))
    return None if inflation is None or each <= 1 else min(1.0, max(0.0, (inflation - 1) / (each - 1)))


def _inflation(sums: Gram, hits: int, trials: int) -> float | None:
    """The variance of the share beside that of independent trials (the design effect); None where it is unknown."""
    total, samples = int(sums[0, trials]), int(sums[0, 0])
    spread = _spread(sums, (hits, trials), (hits, trials)) if total else 0.0
    if spread <= 0 or samples < 2:
        return None
    value = int(sums[0, hits]) / total
    return spread / total * samples / (samples - 1) / (value * (1 - value))


def clustered_ratio(
    sums: Gram, above: tuple[int, int], below: tuple[int, int], alike: tuple[float | None, float | None] = (None, None)
) -> Share | None:
    """The ratio of two shares (hits, trials) of the same samples; None where the lower one is zero.

    The interval puts the two shares' own intervals together (MOVER-R, Donner and Zou 2012) and allows for their
    correlation over the samples; it holds where the upper share is zero. `alike` is as for the two shares.
    """
    upper, lower = clustered_share(sums, *above, alike[0]), clustered_share(sums, *below, alike[1])
    if upper is None or lower is None or lower.value == 0:
        return None
    spreads = _spread(sums, above, above) * _spread(sums, below, below)
    correlation = _spread(sums, above, below) / math.sqrt(spreads) if spreads > 0 else 0.0
    low, high = _mover(upper, lower, min(1.0, max(-1.0, correlation)))
    value = upper.value / lower.value
    return Share(value, min(low, value), max(high, value), upper.samples)


def _mover(upper: Share, lower: Share, correlation: float) -> tuple[float, float]:
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


def _spread(sums: Gram, one: tuple[int, int], other: tuple[int, int]) -> float:
    """Σ (hits - share·trials)·(the same of the other) over samples, exact until the one division at the end."""
    (h, m), (g, k) = one, other
    x = [[int(sums[i, j]) for j in (g, k)] for i in (h, m)]
    hits, trials, others, tries = (int(sums[0, i]) for i in (h, m, g, k))
    whole = x[0][0] * trials * tries - x[0][1] * trials * others - x[1][0] * hits * tries + x[1][1] * hits * others
    return whole / (trials * tries)
