"""How far people who labelled the same samples agree beyond chance: Krippendorff's α for names of classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.resampling import Array, Interval, bca_interval

Counts = npt.NDArray[np.int64]


def label_counts(labels: npt.ArrayLike, classes: int) -> Counts:
    """How many annotators gave each class, [n, k], of labels [n, annotators] with −1 where one gave none.

    >>> label_counts([[0, 0, 1], [1, -1, -1]], 2).tolist()
    [[2, 1], [0, 1]]
    """
    given = np.asarray(labels, dtype=np.int64)
    return np.asarray((given[:, :, None] == np.arange(classes)).sum(axis=1), dtype=np.int64)


def krippendorff_alpha(counts: npt.ArrayLike) -> float | None:
    """α = 1 − observed/expected disagreement of nominal labels, from counts per sample [n, k] (Krippendorff 2011).

    Samples with fewer than two labels say nothing. None where nothing can be said: no pair of labels, or one class
    only, since then no disagreement is expected.

    >>> krippendorff_alpha([[2, 0], [0, 2], [1, 1], [2, 0]]).__round__(3)
    0.533
    """
    pairable = np.asarray(counts, dtype=np.int64)
    pairable = pairable[pairable.sum(axis=1) > 1]
    given = pairable.sum(axis=1).tolist()
    apart = sum(
        (
            Fraction(m * m - squares, m - 1)
            for m, squares in zip(given, (pairable**2).sum(axis=1).tolist(), strict=True)
        ),
        Fraction(0),
    )
    of_class = pairable.sum(axis=0).tolist()
    total = sum(of_class)
    expected = total * total - sum(one * one for one in of_class)
    return None if not expected else float(1 - (total - 1) * apart / expected)


def alpha_interval(counts: npt.ArrayLike, generator: np.random.Generator, level: float = 0.95) -> Interval | None:
    """α with its BCa interval over resampled samples; None where there is no α.

    >>> interval = alpha_interval([[2, 0], [0, 2], [1, 1], [2, 0]] * 20, np.random.default_rng(0))
    >>> interval.low < interval.value < interval.high
    True
    """
    value = krippendorff_alpha(counts)
    if value is None:
        return None
    pairable = np.asarray(counts, dtype=np.float64)
    pairable = pairable[pairable.sum(axis=1) > 1]
    given = pairable.sum(axis=1)
    apart = (given**2 - (pairable**2).sum(axis=1)) / (given - 1)

    def statistic(weights: Array) -> Array:
        of_class = weights @ pairable
        total = of_class.sum(axis=1)
        expected = total**2 - (of_class**2).sum(axis=1)
        inside = np.divide(
            (total - 1) * (weights @ apart), expected, out=np.full(len(weights), np.nan), where=expected > 0
        )
        return np.asarray(1 - inside)

    interval = bca_interval(statistic, len(pairable), generator, level)
    return Interval(value, interval.low, interval.high)
