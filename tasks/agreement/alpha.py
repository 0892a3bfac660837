"""How far people who labelled the same samples agree beyond chance: Krippendorff's α for names of classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.resampling import Array, Interval, bca_interval, bca_interval_of_sums

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
    counts: npt.ArrayLike, generator: np.random.Generator, level: float = 0.95, times: Times = None
) -> Interval | None:
    """α with its BCa interval over resampled samples; None where there is no α.

    With `times`, the rows that are alike are resampled together, which is the same of as many samples as you like.

    >>> interval = alpha_interval([[2, 0], [0, 2], [1, 1], [2, 0]] * 20, np.random.default_rng(0))
    >>> interval.low < interval.value < interval.high
    True
    """
    value = krippendorff_alpha(counts, times)
    if value is None:
        return None
    kinds, often = _pairable(counts, times)
    if times is not None:
        kinds, often = alike(kinds, often)
    pairable = kinds.astype(np.float64)
    given = pairable.sum(axis=1)
    apart = (given**2 - (pairable**2).sum(axis=1)) / (given - 1)
    if times is None:
        found = bca_interval(
            lambda weights: _alpha(weights @ pairable, weights @ apart), len(pairable), generator, level
        )
    else:
        sums = np.column_stack([pairable, apart])
        found = bca_interval_of_sums(lambda each: _alpha(each[:, :-1], each[:, -1]), sums, often, generator, level)
    return Interval(value, found.low, found.high)


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


def _alpha(of_class: Array, apart: Array) -> Array:
    """α of resamples, from how many labels name each class [b, k] and how much those of a sample differ [b]."""
    total = of_class.sum(axis=1)
    expected = total**2 - (of_class**2).sum(axis=1)
    inside = np.divide((total - 1) * apart, expected, out=np.full(len(apart), np.nan), where=expected > 0)
    return np.asarray(1 - inside)


def _pairable(counts: npt.ArrayLike, times: Times) -> tuple[Counts, npt.NDArray[np.int64]]:
    """The rows with two labels or more, and how many samples each stands for."""
    rows = np.asarray(counts, dtype=np.int64)
    often = np.ones(len(rows), dtype=np.int64) if times is None else times
    kept = rows.sum(axis=1) > 1
    return rows[kept], often[kept]
