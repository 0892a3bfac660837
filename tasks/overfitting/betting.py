"""An e-value for "the mean is not above zero": what a gambler who bets on the opposite would have won."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

STAKES = np.geomspace(1e-3, 0.9, 40)
"""The shares of the fortune that are staked, one gambler each; their average fortune is the e-value."""


def betting_log_e(values: npt.NDArray[np.float64], lowest: float = -1.0) -> float:
    """The logarithm of the e-value, the mean over stakes λ of Π (1 + λ T_i) (after Waudby-Smith and Ramdas, 2024).

    No value may be below `lowest`. If their expectation is zero or less, the e-value exceeds 1/α with probability α at
    most (Markov), so 1/e is a p-value. A fixed mixture of stakes, so the order of the samples does not matter.

    >>> abs(betting_log_e(np.zeros(10))) < 1e-12, betting_log_e(np.repeat([0.5, 0.0], [30, 70])) > 3
    (True, True)
    """
    fortunes = np.array([_log_fortune(values, stake / -lowest) for stake in STAKES])
    return float(np.logaddexp.reduce(fortunes) - np.log(len(STAKES)))


def betting_gap(values: npt.NDArray[np.float64], alpha: float, lowest: float = -1.0) -> float:
    """The smallest mean at which values spread like these would give an e-value of 1/α: they are shifted until so."""
    spread, low, high = values - values.mean(), 0.0, -lowest
    for _ in range(40):
        middle = (low + high) / 2
        shifted = np.maximum(spread + middle, lowest)
        low, high = (low, middle) if betting_log_e(shifted, lowest) >= -np.log(alpha) else (middle, high)
    return float(high)


def _log_fortune(values: npt.NDArray[np.float64], stake: float) -> float:
    return float(np.log1p(stake * values).sum())
