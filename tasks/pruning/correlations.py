"""How strongly each pair of labelling functions correlates, from counts of their votes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import eye_array, kron

from assay.tasks.statistics.vote_counts import VoteCounts

Integers = npt.NDArray[np.int64]
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
    signs = kron(eye_array(len(counts.functions), dtype=np.int64), np.array([[-1], [1]]), format="csr")  # [2m, m]
    products = (signs.T @ counts.matrix @ signs).toarray()  # Σ x_i·x_j
    moments = _Moments(counts.votes @ np.array([-1, 1], dtype=np.int64), products.diagonal())
    return _pearson(counts.n, moments, moments, products)


def _of_class_indicators(counts: VoteCounts) -> Correlations:
    m, k = len(counts.functions), counts.classes
    matrix, votes, strongest = counts.matrix, counts.votes.ravel(), np.zeros((m, m))
    for i in range(m):  # a function at a time: all cells by all cells are too many to be looked at together
        own = slice(i * k, (i + 1) * k)
        indicators, others = _Moments(votes[own], votes[own]), _Moments(votes, votes)
        r = np.abs(_pearson(counts.n, indicators, others, matrix[own].toarray()))
        strongest[i] = r.reshape(k, m, k).max(axis=(0, 2))
    return strongest


class _Moments(NamedTuple):
    """Σx and Σx² of some variables."""

    sums: Integers
    squares: Integers


def _pearson(n: int, first: _Moments, second: _Moments, products: Integers) -> Correlations:
    """r of every variable with every other, [a, b], given Σx_i·x_j: integers up to the one division, so that an r of
    exactly δ is exactly δ."""
    covariance = n * products - np.multiply.outer(first.sums, second.sums)  # n² times the covariance
    variances = [(n * each.squares - each.sums**2).astype(np.float64) for each in (first, second)]
    scale = np.sqrt(np.multiply.outer(*variances))
    r = np.divide(covariance, scale, out=np.zeros(covariance.shape), where=scale > 0)
    return np.clip(r, -1.0, 1.0)
