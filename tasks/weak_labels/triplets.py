"""FlyingSquid's triplets (Fu et al. 2020): how right each of three functions is follows from how often pairs agree.

With votes of ±1, 0 where a function abstains, and functions that are independent given the class,
E[λ_i λ_j] = a_i a_j where a_i = E[λ_i Y], so that |a_i| = √|E[λ_i λ_j] E[λ_i λ_l] / E[λ_j λ_l]|: the mean over all
pairs j, l, taken to be positive. Counts of pairs are all that enters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.vote_counts import VoteCounts
from assay.tasks.weak_labels.labelers import Labeler, LabelerChoice, Options, given_balance, is_learnable, majority

_SMALLEST = 1e-10  # no probability is less, since each has a logarithm

Floats = npt.NDArray[np.float64]


def accuracies(counts: VoteCounts) -> Floats:
    """a_i = E[λ_i Y] by all triplets that a function is in, [m]; 0 where it agrees and disagrees as often with all."""
    m = len(counts.functions)
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    moments = np.einsum("iyjz,yz->ij", counts.together.reshape(m, 2, m, 2), signs) / counts.n  # E[λ_i λ_j]
    between = np.triu(np.ones((m, m), dtype=np.bool_), 1) & (moments != 0)
    means = np.zeros(m)
    for i in range(m):
        others = between.copy()
        others[i] = others[:, i] = False
        products = np.abs(np.outer(moments[i], moments[i])[others] / moments[others])
        means[i] = np.sqrt(products[products > 0]).mean() if (products > 0).any() else 0.0
    return means


def triplets(counts: VoteCounts, balance: tuple[float, ...] | None = None) -> Labeler:
    """The labeler of P(λ_i, Y), solved for from a_i, how often i votes what, and how frequent the classes are."""
    prior = np.array(balance or (0.5, 0.5))
    voted = counts.votes / counts.n  # P(λ_i = y), [m, 2]
    cast = voted.sum(axis=1)
    agrees = (accuracies(counts) + cast) / 2  # P(λ_i = Y)
    both = (voted[:, 1] + agrees - cast + prior[1] * cast) / 2  # P(λ_i = 1, Y = 1)
    joint = np.empty((len(cast), 2, 2))  # [m, y, z]
    joint[:, 1, 1], joint[:, 0, 1] = both, prior[1] * cast - both
    joint[:, 1, 0], joint[:, 0, 0] = voted[:, 1] - both, agrees - both
    joint = np.maximum(np.abs(joint), _SMALLEST)  # sampling may leave one below 0: its sign is turned, as they do
    joint /= (joint.sum(axis=(1, 2)) + 1 - cast)[:, None, None]
    right = joint[:, 0, 0] + joint[:, 1, 1]
    return Labeler(counts.functions, right / joint.sum(axis=(1, 2)), joint / prior, balance=balance)


def _learn(counts: VoteCounts, settings: Options) -> Labeler:
    return triplets(counts, given_balance(settings)) if is_learnable(counts) else majority(counts.functions)


TRIPLETS = LabelerChoice("triplets", learn=_learn, most_classes=2)
