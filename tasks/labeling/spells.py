"""Numbers about rows of a time series, NaN where not measured: spells, medians, slopes, spreads, all per row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.labeling.signals import Mask, Matrix, Window

Numbers = npt.NDArray[np.float64]


def well_measured(window: Window) -> Mask:
    """Whether at least half of the recorded seconds hold a value, [n]; no where nothing was recorded."""
    measured = window.measured.sum(axis=1)
    enough: Mask = (measured > 0) & (2 * measured >= window.recorded.sum(axis=1))
    return enough


def longest_spell(true: Mask) -> npt.NDArray[np.int64]:
    """The length of the longest run of True in each row, [n].

    >>> longest_spell(np.array([[True, True, False, True], [False, False, False, False]])).tolist()
    [2, 0]
    """
    seconds = np.arange(1, true.shape[1] + 1)
    last_false = np.maximum.accumulate(np.where(true, 0, seconds), axis=1)
    spell: npt.NDArray[np.int64] = np.max(seconds - last_false, axis=1, initial=0)
    return spell


def median(values: Matrix) -> Numbers:
    """The median of what was measured in each row; NaN where nothing was.

    >>> median(np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    ordered = np.sort(values, axis=1)  # NaN comes last
    count = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))
    middle: Numbers = (ordered[rows, np.maximum(count - 1, 0) // 2] + ordered[rows, np.maximum(count // 2, 0)]) / 2
    return np.where(count > 0, middle, np.nan)


def slope_per_minute(values: Matrix) -> Numbers:
    """The slope of the least-squares line through what was measured, per minute; NaN with fewer than two values.

    >>> slope_per_minute(np.array([[1.0, 2.0, np.nan, 4.0], [5.0, np.nan, np.nan, np.nan]])).tolist()
    [60.0, nan]
    """
    seconds = np.broadcast_to(np.arange(values.shape[1], dtype=np.float64), values.shape)
    x, y = _centred(np.where(np.isnan(values), np.nan, seconds)), _centred(values)
    return 60 * _ratio((x * y).sum(axis=1), (x * x).sum(axis=1))


def spread(values: Matrix) -> Numbers:
    """The standard deviation of what was measured in each row; NaN where nothing was.

    >>> spread(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    centred = _centred(values)
    return np.sqrt(_ratio((centred * centred).sum(axis=1), (~np.isnan(values)).sum(axis=1).astype(np.float64)))


def biggest_step(values: Matrix) -> Numbers:
    """The largest change between two consecutive measured seconds; NaN where there are no two.

    >>> biggest_step(np.array([[1.0, 4.0, np.nan, 90.0], [1.0, np.nan, 2.0, np.nan]])).tolist()
    [3.0, nan]
    """
    steps = np.abs(np.diff(values, axis=1))
    largest = np.max(steps, axis=1, initial=-1.0, where=~np.isnan(steps))
    return np.where(largest < 0, np.nan, largest)


def correlation(first: Matrix, second: Matrix, at_least: int) -> Numbers:
    """Pearson's correlation over the seconds that both measured; NaN with too few of them or where one is constant.

    >>> rows = np.array([[1.0, 2.0, 3.0, np.nan]])
    >>> correlation(rows, -rows, 3).tolist(), correlation(rows, rows, 4).tolist()
    ([-1.0], [nan])
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    x, y = _centred(np.where(both, first, np.nan)), _centred(np.where(both, second, np.nan))
    scale = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return np.where(both.sum(axis=1) >= at_least, _ratio((x * y).sum(axis=1), scale), np.nan)


def _centred(values: Matrix) -> Matrix:
    """Each row minus its mean, 0 where not measured (so that it adds nothing to a sum)."""
    measured = ~np.isnan(values)
    known = np.where(measured, values, 0.0)
    mean = known.sum(axis=1) / np.maximum(measured.sum(axis=1), 1)
    return np.where(measured, known - mean[:, None], 0.0)


def _ratio(above: Numbers, below: Numbers) -> Numbers:
    ratio: Numbers = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return ratio
