"""How the classifiers of the synthetic experiment learn: logistic loss, RMSProp, and for one of them a wrong bias."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.overfitting.half_spaces import DIMENSIONS, Line, Points

RATE, DECAY, TINY = 0.01, 0.9, 1e-10
INITIAL = 0.01
BATCH = 100
PENALTY = 1e4


def learn(points: Points, steps: int, penalty: float, generator: np.random.Generator) -> Line:
    """A linear classifier after so many steps on batches of 100, the samples being shuffled anew for every pass.

    The loss is ln(1 + exp(−y (wᵀx + b))), and `penalty` · w₁² where the bias shall be wrong. The paper gives the rate;
    decay, the small constant and the first weights (N(0, 0.01²), offset 0) it does not: see docs/overfitting.md.
    """
    # The offset is one more weight, of a coordinate that is always 1.
    weights = np.append(INITIAL * generator.standard_normal(DIMENSIONS), 0.0)
    signed = np.hstack([points.x, np.ones((len(points.y), 1))]) * points.y[:, None]
    squares, step = np.zeros_like(weights), 0
    while step < steps:
        shuffled = signed[generator.permutation(len(signed))]
        for start in range(0, len(shuffled) - BATCH + 1, BATCH)[: steps - step]:
            _step(weights, squares, shuffled[start : start + BATCH], penalty)
            step += 1
    return Line(weights[:-1], float(weights[-1]))


def _step(
    weights: npt.NDArray[np.float64], squares: npt.NDArray[np.float64], batch: npt.NDArray[np.float64], penalty: float
) -> None:
    """One step of RMSProp, in place; rows of the batch are y · (x, 1)."""
    # σ(−t) by tanh: no overflow for any margin
    pull = 0.5 - 0.5 * np.tanh(0.5 * (batch @ weights))
    slope = pull @ batch
    slope *= -1 / len(batch)
    slope[0] += 2 * penalty * weights[0]
    squares *= DECAY
    squares += (1 - DECAY) * slope * slope
    weights -= RATE * slope / (np.sqrt(squares) + TINY)
