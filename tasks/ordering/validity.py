"""Does accuracy fall along D1 … DN? The paper's test, and what it misses: shared samples, and ties.

The paper's test (Definitions 2 and 3, with the "1 −" that Definition 2 leaves out) treats nested sets as independent
measurements and calls a random order valid far too often. Beside it stand the same test on disjoint strata, a
permutation test, and a ρ that does not depend on how ties were broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.datasets import largest_tie, tie_starts
from assay.tasks.statistics.ranks import spearman_rows
from assay.tasks.statistics.trend import TrendTest, nested_accuracy, permutation_p

RIGHT, WRONG, UNKNOWN = 1, 0, -1  # what is known of a weak label: it equals gold, it does not, there is no gold
_TIE_ORDERS = 1000  # random ways to break the ties, for the range of ρ
_FEWEST = 3  # data sets with a known accuracy that a trend needs

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Ordered:
    """Samples in their order: the score of each, whether its weak label is right, and the cuts of D1 … DN."""

    scores: npt.NDArray[np.float64]  # [n], descending
    outcomes: npt.NDArray[np.int8]  # [n], RIGHT, WRONG or UNKNOWN
    cuts: Counts  # [N]

    @property
    def hits(self) -> Counts:
        """How many weak labels are right in each stratum, D_i without D_{i−1}, [N]."""
        return _per_stratum(self.outcomes == RIGHT, self.cuts)

    @property
    def known(self) -> Counts:
        """How many samples of each stratum have a gold label, [N]."""
        return _per_stratum(self.outcomes != UNKNOWN, self.cuts)


@dataclass(frozen=True)
class Trend:
    """Spearman's ρ along the order, 0 for a constant curve, and the two-sided p-value of t(N − 2), 1 for such."""

    rho: float
    p_value: float

    def verdict(self, significance: float) -> str:
        """Definition 3: `adverse` iff ρ < 0 and p ≤ γ; `violation` iff ρ > 0 and p ≤ γ; else `no trend`."""
        if self.rho == 0 or self.p_value > significance:
            return "no trend"
        return "adverse" if self.rho < 0 else "violation"


@dataclass(frozen=True)
class Validity:
    """Everything that is tested about an order: how the accuracies of D1 … DN move, four ways."""

    nested: Trend
    disjoint: Trend
    tie_free: Trend
    tie_range: tuple[float, float]
    permutation: TrendTest
    largest_tie: int


def validity(ordered: Ordered, permutations: int, generator: np.random.Generator) -> Validity | None:
    """The tests of an order, or None where fewer than three of D1 … DN hold a sample with gold: not measured."""
    hits, known = ordered.hits, ordered.known
    if (np.cumsum(known) > 0).sum() < _FEWEST:
        return None
    lowest, highest = tie_range(ordered, generator)
    return Validity(
        nested=trend(nested_accuracy(hits[None, :], known)[0]),
        disjoint=trend(hits[known > 0] / known[known > 0]),
        tie_free=trend(np.array([float(a) for a in tie_free_accuracy(ordered) if a is not None])),
        tie_range=(lowest, highest),
        permutation=permutation_p(hits, known, permutations, generator),
        largest_tie=largest_tie(ordered.scores),
    )


def trend(accuracies: npt.ArrayLike) -> Trend:
    """ρ = Spearman(i, accuracy_i) and p* = 2·P(T ≥ |t|), t = ρ·sqrt((N − 2)/(1 − ρ²)) (Definition 2).

    >>> trend([0.9, 0.8, 0.8, 0.7]).verdict(0.1)
    'adverse'
    """
    rho, p_value = (float(each[0]) for each in spearman_rows(np.asarray(accuracies, dtype=np.float64)[None, :]))
    return Trend(0.0 if np.isnan(rho) else rho, 1.0 if np.isnan(p_value) else p_value)


def tie_free_accuracy(ordered: Ordered) -> list[Fraction | None]:
    """The accuracy of each D_i in expectation over all ways to break ties, exactly; None where it holds no gold.

    Inside a group of equal scores the expected hits grow linearly: H(c) = H(a) + (c − a)/(b − a) · (H(b) − H(a)) for a
    cut c in the group [a, b), and so do the samples with gold, whose number the hits are divided by.
    """
    hits = np.concatenate([[0], np.cumsum(ordered.outcomes == RIGHT)])
    known = np.concatenate([[0], np.cumsum(ordered.outcomes != UNKNOWN)])
    starts = tie_starts(ordered.scores)
    accuracies: list[Fraction | None] = []
    for cut in ordered.cuts.tolist():
        group = int(np.searchsorted(starts, cut, side="left"))
        a, b = int(starts[group - 1]), int(starts[group])
        inside = Fraction(cut - a, b - a)
        of_gold = int(known[a]) + inside * int(known[b] - known[a])
        right = int(hits[a]) + inside * int(hits[b] - hits[a])
        accuracies.append(right / of_gold if of_gold else None)
    return accuracies


def tie_range(ordered: Ordered, generator: np.random.Generator, orders: int = _TIE_ORDERS) -> tuple[float, float]:
    """The smallest and the largest ρ of D1 … DN among random ways to break the ties.

    Breaking ties at random deals the right, wrong and unknown labels of a group onto its pieces between cuts, so no
    sample is moved: each piece draws its share of what is left of the group, by the hypergeometric law.
    """
    starts = tie_starts(ordered.scores)
    dealt_right, dealt_known = np.tile(ordered.hits, (orders, 1)), np.tile(ordered.known, (orders, 1))
    for first, last in _cut_groups(starts, ordered.cuts):
        strata, sizes, inside = _pieces(first, last, ordered)
        right, wrong = inside == RIGHT, inside == WRONG
        ends = np.cumsum(sizes)[:-1]
        hits = _deal(np.full(orders, right.sum()), np.tile(sizes, (orders, 1)), generator)
        misses = _deal(np.full(orders, wrong.sum()), sizes - hits, generator)
        dealt_right[:, strata] += hits - [part.sum() for part in np.split(right, ends)]
        dealt_known[:, strata] += hits + misses - [part.sum() for part in np.split(right | wrong, ends)]
    known = np.cumsum(dealt_known, axis=1)
    accuracy = np.cumsum(dealt_right, axis=1) / np.where(known > 0, known, np.nan)
    measured = (known > 0).all(axis=0)
    rho = np.nan_to_num(spearman_rows(accuracy[:, measured]).rho) if measured.any() else np.zeros(1)
    return float(rho.min()), float(rho.max())


def _cut_groups(starts: Counts, cuts: Counts) -> list[tuple[int, int]]:
    """The groups of equal scores that a cut goes through, as [first, last) in the order: only these are dealt anew."""
    through = cuts[~np.isin(cuts, starts)]
    groups = np.unique(np.searchsorted(starts, through, side="right"))
    return [(int(starts[group - 1]), int(starts[group])) for group in groups]


def _pieces(first: int, last: int, ordered: Ordered) -> tuple[Counts, Counts, npt.NDArray[np.int8]]:
    """The strata that a group of equal scores reaches into, how many of it lie in each, and its outcomes."""
    inner = ordered.cuts[(ordered.cuts > first) & (ordered.cuts < last)]
    bounds = np.concatenate([[first], inner, [last]])
    return np.searchsorted(ordered.cuts, bounds[:-1], side="right"), np.diff(bounds), ordered.outcomes[first:last]


def _deal(cards: Counts, pieces: Counts, generator: np.random.Generator) -> Counts:
    """`cards` [b] dealt at random onto the places of the pieces [b, p]: how many land on each."""
    left, places = cards.copy(), pieces.sum(axis=1)
    dealt = np.zeros(pieces.shape, dtype=np.int64)
    for piece in range(pieces.shape[1]):
        dealt[:, piece] = generator.hypergeometric(left, places - left, pieces[:, piece])
        left -= dealt[:, piece]
        places = places - pieces[:, piece]
    return dealt


def _per_stratum(chosen: npt.NDArray[np.bool_], cuts: Counts) -> Counts:
    bounds = [0, *cuts.tolist()]
    return np.array([np.count_nonzero(chosen[first:last]) for first, last in pairwise(bounds)], dtype=np.int64)


def outcomes(labels: npt.NDArray[np.int16], gold: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.int8]:
    """Whether each weak label is RIGHT or WRONG, or UNKNOWN where gold is negative.

    >>> outcomes(np.array([0, 1, 1], dtype=np.int16), np.array([0, 0, -1])).tolist()
    [1, 0, -1]
    """
    return np.where(gold < 0, np.int8(UNKNOWN), (labels == gold).astype(np.int8))
