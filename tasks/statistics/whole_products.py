"""Sums of products of whole numbers, exactly: what variances over clusters are made of, however many clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_LIMB = 21  # bits: three limbs hold any 64-bit number, and 2^20 products of two limbs add up within 63 bits
_ROWS = 1 << 20
_MOST = 2**62


def whole_dot(first: Integers, second: Integers) -> int:
    """Σ first·second, without rounding and without overflow.

    >>> whole_dot(np.array([2**62, 3]), np.array([2**62, -1])) == 2**124 - 3
    True
    """
    reach = _reach(first) * _reach(second)
    rows = min(_ROWS, _MOST // max(reach, 1))
    if rows >= min(len(first), _ROWS):
        return sum(int(first[at : at + _ROWS] @ second[at : at + _ROWS]) for at in range(0, len(first), _ROWS))
    return sum(
        int(one @ two) << (_LIMB * (i + j))
        for at in range(0, len(first), _ROWS)
        for i, one in enumerate(_limbs(first[at : at + _ROWS]))
        for j, two in enumerate(_limbs(second[at : at + _ROWS]))
    )


def squared_sum(columns: Sequence[Integers], weights: Sequence[int]) -> int:
    """Σ_g (Σ_k weights_k · columns_k[g])², exactly, for weights of any size: no list of large numbers is made.

    >>> squared_sum([np.array([1, 2]), np.array([3, 4])], [10**30, 1]) == (10**30 + 3) ** 2 + (2 * 10**30 + 4) ** 2
    True
    """
    total = 0
    for i, column in enumerate(columns):
        for j in range(i, len(columns)):
            total += (1 if i == j else 2) * weights[i] * weights[j] * whole_dot(column, columns[j])
    return total


def _limbs(values: Integers) -> list[Integers]:
    """The numbers in base 2^21: the two lower limbs from 0, the highest with the sign."""
    mask = (1 << _LIMB) - 1
    return [values & mask, (values >> _LIMB) & mask, values >> (2 * _LIMB)]


def _reach(values: Integers) -> int:
    return max(abs(int(values.min(initial=0))), abs(int(values.max(initial=0))))
