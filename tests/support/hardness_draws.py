"""Simulated hardness: measures of one set of samples that share something, or nothing, beyond the confidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
N = 400


def draw(seed: int, shared: float, n: int = N) -> dict[str, Floats]:
    """A confidence, and three measures that go by it, each along its own curve and with noise of its own.

    `shared` is the strength of a hardness that two of them have in common, and neither the confidence nor the third.
    """
    random = np.random.default_rng(seed)
    unsure, common = random.normal(size=(2, n))
    noise = random.normal(size=(3, n))
    return {
        "confidence": unsure,
        "theta_l": np.exp(unsure / 2) + shared * common + noise[0],
        "eps": np.round(2 * (unsure + shared * common + noise[1])) / 2,  # an ε is one of a few
        "flips": np.maximum(unsure**3 / 3 + noise[2], 0.0),  # and most samples never flip
    }


def unrelated(seed: int, n: int = N) -> dict[str, Floats]:
    """Four measures that have nothing to do with each other."""
    random = np.random.default_rng(seed)
    names = ("confidence", "theta_l", "eps", "flips")
    return dict(zip(names, random.normal(size=(4, n)), strict=True))
