"""What corruption costs beside a reference: mCE and relative mCE of Hendrycks and Dietterich (2019), §4.3."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.resampling import Array, Statistic


def mean_corruption_error(wrong: npt.ArrayLike, reference: npt.ArrayLike) -> Statistic:
    """mCE: the mean over corruptions c of Σ_s E_{s,c} / Σ_s E^ref_{s,c}, from wrong answers per group [G, c].

    Errors are added over severities before; a corruption under which the reference errs never in a resample is left
    out of that resample.

    >>> mean_corruption_error([[2.0, 3.0]], [[4.0, 3.0]])(np.ones((1, 1))).tolist()
    [0.75]
    """
    return _mean_ratio(np.asarray(wrong, dtype=np.float64), np.asarray(reference, dtype=np.float64))


def relative_corruption_error(
    wrong: npt.ArrayLike, clean: npt.ArrayLike, reference: npt.ArrayLike, reference_clean: npt.ArrayLike
) -> Statistic:
    """Relative mCE: the same of Σ_s (E_{s,c} − E_clean), which is what corruption adds to the errors on clean samples.

    All four are wrong answers per group and corruption [G, c], the clean ones as often as there are severities.

    >>> relative_corruption_error([[5.0]], [[1.0]], [[6.0]], [[4.0]])(np.ones((1, 1))).tolist()
    [2.0]
    """
    added = np.asarray(wrong, dtype=np.float64) - np.asarray(clean, dtype=np.float64)
    beside = np.asarray(reference, dtype=np.float64) - np.asarray(reference_clean, dtype=np.float64)
    return _mean_ratio(added, beside)


def _mean_ratio(above: Array, below: Array) -> Statistic:
    def statistic(weights: Array) -> Array:
        top, bottom = weights @ above, weights @ below
        each = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
        known = np.isfinite(each)
        counted = known.sum(axis=1)
        total = np.where(known, each, 0.0).sum(axis=1)
        return np.asarray(np.divide(total, counted, out=np.full(len(total), np.nan), where=counted > 0))

    return statistic
