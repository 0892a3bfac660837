"""How strongly each pair of labelling functions correlates, from counts of their votes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.vote_counts import VoteCounts

Correlations = npt.NDArray[np.float64]  # [m, m]


def correlations(counts: VoteCounts) -> Correlations:
    """Pearson's r of every pair of labelling functions (Algorithm 1, line 2), with 0 on the diagonal.

    Two classes are encoded -1 and +1 with 0 for abstain, and r has a sign. With more classes there is no natural
    encoding: r is the largest |r| over pairs of class indicators ("i says y", "j says z"). A function that says the
    same of every sample correlates with nothing: r = 0.
    """
    r = _of_signed_votes(counts) if counts.classes == 2 else _of_class_indicators(counts)
    np.fill_diagonal(r, 0.0)
    return r


def _of_signed_votes(counts: VoteCounts) -> Correlations:
    m = len(counts.functions)
    signs = np.array([-1, 1], dtype=np.int64)
    sums = counts.votes @ signs  # Σ x_i
    products = np.einsum("iyjz,y,z->ij", counts.together.reshape(m, 2, m, 2), signs, signs)  # Σ x_i x_j
    return _pearson(counts.n, sums, products)


def _of_class_indicators(counts: VoteCounts) -> Correlations:
    m, k = len(counts.functions), counts.classes
    r = np.abs(_pearson(counts.n, counts.votes.ravel(), counts.together))
    strongest: Correlations = r.reshape(m, k, m, k).max(axis=(1, 3))
    return strongest


def _pearson(n: int, sums: npt.NDArray[np.int64], products: npt.NDArray[np.int64]) -> Correlations:
    """r from Σx_i and Σx_i·x_j in integers up to the one division, so that an r of exactly δ is exactly δ."""
    covariance = n * products - np.multiply.outer(sums, sums)  # n² times the covariance
    variance = np.diagonal(covariance).astype(np.float64)
    scale = np.sqrt(np.multiply.outer(variance, variance))
    r = np.divide(covariance, scale, out=np.zeros(covariance.shape), where=scale > 0)
    return np.clip(r, -1.0, 1.0)
