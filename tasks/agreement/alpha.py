"""How far people who labelled the same samples agree beyond chance: Krippendorff's α for names of classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.resampling import Array, Interval, bca_interval, bca_interval_of_sums, expanded, pooled

Counts = npt.NDArray[np.int64]
Times = npt.NDArray[np.int64] | None
"""How many samples each row stands for [n]; None where it is one each."""


def label_counts(labels: npt.ArrayLike, classes: int) -> Counts:
    """How many annotators gave each class, [n, k], of labels [n, annotators] with −1 where one gave none.

    >>> label_counts([[0, 0, 1], [1, -1, -1]], 2).tolist()
    [[2, 1], [0, 1]]
    """
    given = np.asarray(labels, dtype=np.int64)
    counts = np.zeros((len(given), classes), dtype=np.int64)
    for codes in given.T:  # one after the other, since there may be no room for [n, annotators, k]
        labelled = np.flatnonzero(codes >= 0)
        counts[labelled, codes[labelled]] += 1
    return counts


def krippendorff_alpha(counts: npt.ArrayLike, times: Times = None) -> float | None:
    """α = 1 − observed/expected disagreement of nominal labels, from counts per sample [n, k] (Krippendorff 2011).

    Samples with fewer than two labels say nothing. None where nothing can be said: no pair of labels, or one class
    only, since then no disagreement is expected.

    >>> krippendorff_alpha([[2, 0], [0, 2], [1, 1], [2, 0]]).__round__(3)
    0.533
    >>> krippendorff_alpha([[2, 0], [0, 2], [1, 1]], np.array([2, 1, 1])).__round__(3)
    0.533
    """
    pairable, often = _pairable(counts, times)
    given = pairable.sum(axis=1)
    differing = often * (given**2 - (pairable**2).sum(axis=1))
    apart = sum((Fraction(int(differing[given == m].sum()), m - 1) for m in np.unique(given).tolist()), Fraction(0))
    of_class = (often @ pairable).tolist()
    total = sum(of_class)
    expected = total * total - sum(one * one for one in of_class)
    return None if not expected else float(1 - (total - 1) * apart / expected)


def alpha_interval(
    counts: npt.ArrayLike,
    generator: np.random.Generator,
    level: float = 0.95,
    times: Times = None,
    groups: Groups = None,
) -> Interval | None:
    """α with its BCa interval over resampled samples, or over their groups [n]; None where there is no α.

    With `times`, the rows that are alike are resampled together, which is the same of as many samples as you like;
    those of a group stay together all the same.

    >>> counts = [[2, 0], [0, 2], [1, 1], [2, 0]] * 20
    >>> interval = alpha_interval(counts, np.random.default_rng(0))
    >>> interval.low < interval.value < interval.high
    True
    >>> patients = np.repeat(np.arange(10), 8)
    >>> alpha_interval(counts, np.random.default_rng(0), groups=patients).value == interval.value
    True
    """
    value = krippendorff_alpha(counts, times)
    if value is None:
        return None
    kinds, often = _pairable(counts, times)
    if times is not None and groups is None:
        kinds, often = alike(kinds, often)
    given = kinds.sum(axis=1)
    sums = np.column_stack([kinds, (given**2 - (kinds**2).sum(axis=1)) / (given - 1)])
    if groups is not None:
        units = pooled(np.unique(groups, return_inverse=True)[1][several_labels(counts)])
        whole = _by_group(sums * often[:, None], units)
        within = expanded(len(whole), level) if len(whole) > 1 else level
        found = bca_interval(lambda weights: _alpha(weights @ whole), len(whole), generator, within)
    elif times is not None:
        found = bca_interval_of_sums(_alpha, sums, often, generator, level)
    else:
        found = bca_interval(lambda weights: _alpha(weights @ sums), len(sums), generator, level)
    return Interval(value, found.low, found.high)


def several_labels(counts: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which samples have two labels or more [n]: the others say nothing."""
    return np.asarray(np.asarray(counts, dtype=np.int64).sum(axis=1) > 1)


def alike(counts: Counts, times: npt.NDArray[np.int64]) -> tuple[Counts, npt.NDArray[np.int64]]:
    """The differing rows in ascending order, and how many samples have each.

    >>> rows, times = alike(np.array([[2, 0], [1, 1], [2, 0]]), np.array([5, 1, 2]))
    >>> rows.tolist(), times.tolist()
    ([[1, 1], [2, 0]], [1, 7])
    """
    rows, kind = np.unique(counts, axis=0, return_inverse=True)
    often = np.zeros(len(rows), dtype=np.int64)
    np.add.at(often, kind.reshape(-1), times)
    return rows, often


def _by_group(sums: Array, codes: Counts) -> Array:
    """What the rows of each group add up to [G, c]."""
    groups = int(codes.max(initial=-1)) + 1
    return np.column_stack([np.bincount(codes, column, groups) for column in sums.T])


def _alpha(sums: Array) -> Array:
    """α of resamples [b] from their sums [b, k + 1]: labels of each class, and how far those of a sample differ."""
    of_class, apart = sums[:, :-1], sums[:, -1]
    total = of_class.sum(axis=1)
    expected = total**2 - (of_class**2).sum(axis=1)
    inside = np.divide((total - 1) * apart, expected, out=np.full(len(apart), np.nan), where=expected > 0)
    return np.asarray(1 - inside)


def _pairable(counts: npt.ArrayLike, times: Times) -> tuple[Counts, npt.NDArray[np.int64]]:
    """The rows with two labels or more, and how many samples each stands for."""
    rows = np.asarray(counts, dtype=np.int64)
    often = np.ones(len(rows), dtype=np.int64) if times is None else times
    kept = several_labels(rows)
    return rows[kept], often[kept]
