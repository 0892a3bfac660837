"""Two label models of counts alone: Dawid and Skene's model of observers (1979), fitted by expectation maximisation to
counts of vote patterns, with how frequent the classes are as it says; and FlyingSquid's triplets, in closed form.

In Dawid and Skene's, every function i has a matrix P(i answers y | the class is z), one column of which is abstaining:
rules that name one class only say as much by their silence. The M step takes shares (their Eq. 2.3 and 2.4), the E step
Bayes' theorem (Eq. 2.5); it starts from the shares of the votes that each class gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats
from assay.tasks.statistics.vote_counts import VoteCounts, VotePatterns
from assay.tasks.weak_labels.labelers import Labeler, LabelerChoice, Options, Training, given_balance, is_learnable
from assay.tasks.weak_labels.labelers import majority as equal_weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_SMALLEST = 1e-10  # no probability is less, since each has a logarithm
_SETTLED = 1e-9  # of log likelihood per sample: a step that gains less was the last
_LEAST_SHARE = 0.01  # of a class where shares are estimated: that no vote names it does not show that it is not there
_SURE = 0.001  # how surprising the votes have to be if all classes were equally frequent


@dataclass(frozen=True)
class Fitted:
    """P(class) [k], P(i answers y | z) with abstaining first [m, k + 1, k], and -log likelihood per sample by step."""

    shares: Floats
    answers: Floats
    losses: tuple[float, ...]
    settled: bool


def fit(patterns: VotePatterns, classes: int, steps: int, shares: Sequence[float] | None = None) -> Fitted:
    """The model after so many steps at most; with `shares`, the classes are taken to be so frequent.

    >>> votes = np.array([[0, 0, 0], [1, 1, 1], [1, 1, 0]], dtype=np.int8)
    >>> fit(VotePatterns(votes, np.array([70, 25, 5])), 2, 50).shares.round(2).tolist()
    [0.7, 0.3]
    """
    times, m, k = patterns.times.astype(np.float64), patterns.votes.shape[1], classes
    answered = _one_hot(patterns.votes, k)
    cast = np.stack([(patterns.votes == z).sum(axis=1) for z in range(k)], axis=1) + 0.0
    posterior = np.where(cast.any(axis=1, keepdims=True), cast, 1.0)
    posterior /= posterior.sum(axis=1, keepdims=True)
    losses, settled = list[float](), False
    for _ in range(steps):
        weighted = times[:, None] * posterior  # [p, k]
        total = weighted.sum(axis=0)
        prior = np.maximum(total / times.sum() if shares is None else np.asarray(shares), _SMALLEST)
        answers = (answered.T @ weighted) / np.maximum(total, _SMALLEST)  # [m·(k + 1), k]
        scores = answered @ np.log(np.maximum(answers, _SMALLEST)) + np.log(prior)
        highest = scores.max(axis=1, keepdims=True)
        powers = np.exp(scores - highest)
        evidence = powers.sum(axis=1, keepdims=True)
        posterior = powers / evidence
        losses.append(-float(times @ (highest + np.log(evidence))[:, 0]) / float(times.sum()))
        if len(losses) > 1 and losses[-2] - losses[-1] < _SETTLED:
            settled = True
            break
    return Fitted(prior, np.maximum(answers, _SMALLEST).reshape(m, k + 1, k), tuple(losses), settled)


def _one_hot(votes: npt.NDArray[np.int8], classes: int) -> csr_array:
    """Which of its k + 1 answers each function gives, [p, m·(k + 1)], abstaining the first."""
    from scipy.sparse import csr_array

    p, m = votes.shape
    columns = np.arange(m) * (classes + 1) + votes + 1
    return csr_array((np.ones(p * m), columns.ravel(), np.arange(p + 1) * m), shape=(p, m * (classes + 1)))


def estimated_balance(patterns: VotePatterns, classes: int, steps: int) -> tuple[tuple[float, ...] | None, float]:
    """P(class) as the votes tell it, or None where they do not, and p of all classes being equally frequent.

    They tell it where the model with free shares is so much likelier than the one with equal shares that p < 0.001 by
    the likelihood ratio. Rules that hardly overlap, or are too few, leave both alike.
    """
    from scipy.special import chdtrc

    free, equal = (fit(patterns, classes, steps, shares) for shares in (None, [1 / classes] * classes))
    ratio = 2 * int(patterns.times.sum()) * (equal.losses[-1] - free.losses[-1])
    p_value = float(chdtrc(classes - 1, max(ratio, 0.0)))
    if p_value >= _SURE:
        return None, p_value
    shares = np.maximum(free.shares, _LEAST_SHARE)
    return tuple((shares / shares.sum()).tolist()), p_value


def dawid_skene(counts: VoteCounts, steps: int, shares: Sequence[float] | None = None) -> Labeler:
    """The labeler of the fitted model: w_i = P(i is right | i votes), and the posterior of every pattern."""
    assert counts.patterns is not None
    fitted = fit(counts.patterns, counts.classes, steps, shares)
    votes = fitted.answers[:, 1:]  # [m, k, k]
    right, voted = np.einsum("izz,z->i", votes, fitted.shares), (votes * fitted.shares).sum(axis=(1, 2))
    losses, steps = fitted.losses, len(fitted.losses)
    training = Training(steps, losses[0], losses[-1], steps if fitted.settled else None)
    balance = tuple(fitted.shares.tolist())
    return Labeler(counts.functions, right / voted, votes, training, balance, silence=fitted.answers[:, 0].copy())


def _learn(counts: VoteCounts, settings: Options) -> Labeler:
    if not is_learnable(counts):
        return equal_weights(counts.functions)
    shares = given_balance(settings)
    learned = dawid_skene(counts, settings.epochs, shares or [1 / counts.classes] * counts.classes)
    return replace(learned, balance=shares)


DAWID_SKENE = LabelerChoice("dawid-skene", learn=_learn, by_pattern=True)


# FlyingSquid's triplets (Fu et al. 2020): how right each of three functions is follows from how often pairs agree.
#
# With votes of ±1, 0 where a function abstains, and functions that are independent given the class,
# E[λ_i λ_j] = a_i a_j where a_i = E[λ_i Y], so that |a_i| = √|E[λ_i λ_j] E[λ_i λ_l] / E[λ_j λ_l]|: the mean over all
# pairs j, l, taken to be positive. Counts of pairs are all that enters.


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
    """The labeler of P(λ_i, Y), solved for from a_i, how often i votes what, and how frequent the classes are.

    Votes of a function that is in no triplet tell nothing of the class.
    """
    prior = np.array(balance or (0.5, 0.5))
    voted = counts.votes / counts.n  # P(λ_i = y), [m, 2]
    cast = voted.sum(axis=1)
    means = accuracies(counts)
    agrees = (means + cast) / 2  # P(λ_i = Y)
    both = (voted[:, 1] + agrees - cast + prior[1] * cast) / 2  # P(λ_i = 1, Y = 1)
    joint = np.empty((len(cast), 2, 2))  # [m, y, z]
    joint[:, 1, 1], joint[:, 0, 1] = both, prior[1] * cast - both
    joint[:, 1, 0], joint[:, 0, 0] = voted[:, 1] - both, agrees - both
    joint = np.maximum(np.abs(joint), _SMALLEST)  # sampling may leave one below 0: its sign is turned, as they do
    joint /= (joint.sum(axis=(1, 2)) + 1 - cast)[:, None, None]
    right = joint[:, 0, 0] + joint[:, 1, 1]
    mu = np.where(means[:, None, None] > 0, joint / prior, np.maximum(voted, _SMALLEST)[:, :, None])
    return Labeler(counts.functions, right / joint.sum(axis=(1, 2)), mu, balance=balance)


def _learn_triplets(counts: VoteCounts, settings: Options) -> Labeler:
    learnable = is_learnable(counts) and counts.classes == 2 and bool(accuracies(counts).any())
    return triplets(counts, given_balance(settings)) if learnable else equal_weights(counts.functions)


TRIPLETS = LabelerChoice("triplets", learn=_learn_triplets, most_classes=2)
