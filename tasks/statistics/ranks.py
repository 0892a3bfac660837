"""Spearman's rank correlation of many curves with their own position, average ranks for ties, all rows at once."""

from __future__ import annotations

from typing import NamedTuple

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
    from scipy.stats import rankdata, t

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
            p_value[defined] = 2 * t.sf(np.abs(r) * np.sqrt((width - 2) / (1 - r * r)), width - 2)
    return Spearman(rho, p_value)
