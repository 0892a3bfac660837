"""Clopper-Pearson intervals of the confidence in a weak label, for real-valued numbers of votes won.

Inverting the incomplete beta function takes a microsecond or more. Between two whole numbers of votes the bound is so
smooth that a Chebyshev polynomial through twenty of its values is right to 1e-14, at a tenth of the cost. Which way a
number is computed depends on nothing but itself, so the same votes get the same bits in any company.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Floats, Integers
from assay.data.schemas import Intervals
from assay.tasks.ordering.datasets import tie_breaks

_NONE = 1e-4  # with fewer votes won, θ_L ≈ (α/2)^(1/s) is below every float: 0
_MOST = 64  # votes cast up to which there are polynomials; beyond, and below one vote won, the function is inverted
_NODES = 20
_BLOCK = 16_384


def lower_bounds(n: Integers, s: Floats, alpha: float) -> Floats:
    """θ_L = B(α/2; s, n − s + 1), elementwise, and 0 at s = 0.

    >>> lower_bounds(np.array([10, 10]), np.array([0.0, 7.5]), alpha=0.05).round(6).tolist()
    [0.0, 0.394182]
    """
    from scipy.special import betaincinv

    lower = np.zeros(len(n))
    smooth = (s >= 1) & (n >= 2) & (n <= _MOST)
    rest = (s > _NONE) & ~smooth
    lower[rest] = betaincinv(s[rest], n[rest] - s[rest] + 1, alpha / 2)
    lower[smooth] = _interpolated(n[smooth], s[smooth], alpha)
    return lower


def _interpolated(n: Integers, s: Floats, alpha: float) -> Floats:
    """The polynomials' values, by Clenshaw's recurrence, a block at a time."""
    coefficients = _polynomials(alpha)
    bounds = np.empty(len(n))
    for start in range(0, len(n), _BLOCK):
        block = slice(start, start + _BLOCK)
        whole = np.minimum(s[block].astype(np.int64), n[block] - 1)  # s lies in [whole, whole + 1]
        place = (n[block] - 2) * (n[block] - 1) // 2 + whole - 1  # of the polynomial on [whole, whole + 1], of all
        x = 2 * (s[block] - whole) - 1
        first, second = np.zeros(len(x)), np.zeros(len(x))
        for coefficient in coefficients[:0:-1]:
            first, second = coefficient[place] + 2 * x * first - second, first
        bounds[block] = coefficients[0][place] + x * first - second
    return bounds


@functools.lru_cache(maxsize=8)
def _polynomials(alpha: float) -> Floats:
    """Chebyshev coefficients of θ_L on every [whole, whole + 1] with 1 ≤ whole < n ≤ 64, [nodes, polynomials]."""
    from scipy.special import betaincinv

    pairs = np.array([(n, whole) for n in range(2, _MOST + 1) for whole in range(1, n)])
    n, whole = pairs[:, :1].astype(np.float64), pairs[:, 1:].astype(np.float64)
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    s = whole + 0.5 + 0.5 * np.cos(angles)  # [polynomials, nodes]
    values = betaincinv(s, n - s + 1, alpha / 2)
    cosines = np.cos(np.multiply.outer(angles, np.arange(_NODES))) * (2 / _NODES)
    cosines[:, 0] /= 2
    return np.ascontiguousarray((values @ cosines).T)


_LOOKED_AT = 10_000


class Bounds(NamedTuple):
    """θ_L and θ_U, elementwise."""

    lower: Floats
    upper: Floats


def clopper_pearson(votes_cast: npt.ArrayLike, votes_won: npt.ArrayLike, alpha: float) -> Bounds:
    """θ_L = B(α/2; s, n − s + 1) and θ_U = B(1 − α/2; s + 1, n − s), where B(q; a, b) is the q-quantile of a beta.

    n are votes cast and s, real-valued, votes won. θ_L is 0 at s = 0, θ_U is 1 at s = n, and with no vote at all the
    interval is [0, 1]. θ_U is 1 − θ_L of the votes lost, n − s. Where values repeat, every pair is computed once.

    >>> lower, upper = clopper_pearson([0, 10], [0, 7.5], alpha=0.05)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.0, 0.3942], [1.0, 0.9559])
    """
    n = np.asarray(votes_cast, dtype=np.int64)
    s = np.asarray(votes_won, dtype=np.float64)
    if n.shape != s.shape or n.ndim != 1:
        raise ValueError(f"votes cast and votes won must be two vectors of one length, not {n.shape} and {s.shape}")
    if not ((s >= 0) & (s <= n)).all():
        raise ValueError("votes won must lie between none and all of the votes cast")
    first = s[:_LOOKED_AT]  # only where values repeat is it worth looking for equal pairs
    if len(np.unique(first)) < len(first) / 2:
        values, width = pc.dictionary_encode(pa.array(s)), int(n.max()) + 1
        pairs = pc.dictionary_encode(pa.array(values.indices.to_numpy().astype(np.int64) * width + n))
        distinct, where = pairs.dictionary.to_numpy(), pairs.indices.to_numpy()
        cast, won = distinct % width, values.dictionary.to_numpy()[distinct // width]
        return Bounds(lower_bounds(cast, won, alpha)[where], (1 - lower_bounds(cast, cast - won, alpha))[where])
    return Bounds(lower_bounds(n, s, alpha), 1 - lower_bounds(n, n - s, alpha))


def interval_table(labels: pa.Table, alpha: float) -> pa.Table:
    """The Intervals of a partition of WeakLabels: s(x) = n(x)·share(x), never rounded, and its bounds."""
    cast, share = labels.column("votes_cast").to_numpy(), labels.column("share").to_numpy()
    won = cast * share
    bounds = clopper_pearson(cast, won, alpha)
    made = {
        "votes_won": won,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "tie_break": tie_breaks(labels.column("id")),
    }
    columns = {name: made[name] if name in made else labels.column(name) for name in Intervals.schema.names}
    return pa.table(columns, schema=Intervals.schema)
