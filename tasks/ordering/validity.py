"""Does accuracy fall along D1 … DN? The paper's test, and what it misses: shared samples, and ties.

The paper's test (Definitions 2 and 3, with the "1 −" that Definition 2 leaves out) treats nested sets as independent
measurements and calls a random order valid far too often. Beside it stand the same test on disjoint strata, a
permutation test, and a ρ that does not depend on how ties were broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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
    """What is counted of samples in their order, the easiest first: all that its tests need, however many there are.

    Of the tie that holds the last sample of a D_i, rank `first` is its beginning and `last` its end.
    """

    cuts: Counts  # [N]
    first: Counts  # [N]
    last: Counts  # [N]
    right: Counts  # [3, N]: how many of the samples before `first`, before the cut, and before `last` are RIGHT
    gold: Counts  # [3, N]: and how many are RIGHT or WRONG
    largest_tie: int
    distinct_scores: int

    @classmethod
    def of(cls, scores: npt.NDArray[np.float64], outcomes: npt.NDArray[np.int8], cuts: Counts) -> Ordered:
        """Counted in one place: `scores` descend, and `outcomes` are RIGHT, WRONG or UNKNOWN.

        >>> order = Ordered.of(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 0, 1, -1], np.int8), np.array([2, 4]))
        >>> order.hits.tolist(), order.known.tolist(), order.first.tolist(), order.last.tolist()
        ([1, 1], [2, 1], [1, 3], [3, 4])
        """
        starts = tie_starts(scores)
        group = np.searchsorted(starts, cuts, side="left")
        places = np.stack([starts[group - 1], cuts, starts[group]])
        right, gold = (
            np.concatenate([[0], np.cumsum(chosen)])[places].astype(np.int64)
            for chosen in (outcomes == RIGHT, outcomes != UNKNOWN)
        )
        return cls(cuts, places[0], places[2], right, gold, largest_tie(scores), len(starts) - 1)

    @property
    def samples(self) -> int:
        """How many samples are in the order."""
        return int(self.cuts[-1])

    @property
    def hits(self) -> Counts:
        """How many weak labels are right in each stratum, D_i without D_{i−1}, [N]."""
        return np.asarray(np.diff(self.right[1], prepend=0), dtype=np.int64)

    @property
    def known(self) -> Counts:
        """How many samples of each stratum have a gold label, [N]."""
        return np.asarray(np.diff(self.gold[1], prepend=0), dtype=np.int64)


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
        largest_tie=ordered.largest_tie,
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
    accuracies: list[Fraction | None] = []
    for at, cut in enumerate(ordered.cuts.tolist()):
        a, b = int(ordered.first[at]), int(ordered.last[at])
        inside = Fraction(cut - a, b - a)
        right, of_gold = (
            int(before) + inside * int(after - before)
            for before, _, after in (ordered.right[:, at], ordered.gold[:, at])
        )
        accuracies.append(right / of_gold if of_gold else None)
    return accuracies


def tie_range(ordered: Ordered, generator: np.random.Generator, orders: int = _TIE_ORDERS) -> tuple[float, float]:
    """The smallest and the largest ρ of D1 … DN among random ways to break the ties.

    Breaking ties at random deals the right, wrong and unknown labels of a group onto its pieces between cuts, so no
    sample is moved: each piece draws its share of what is left of the group, by the hypergeometric law.
    """
    dealt_right, dealt_known = np.tile(ordered.hits, (orders, 1)), np.tile(ordered.known, (orders, 1))
    for group in _cut_groups(ordered):
        strata, sizes, right, gold = _pieces(ordered, group)
        hits = _deal(np.full(orders, right.sum()), np.tile(sizes, (orders, 1)), generator)
        misses = _deal(np.full(orders, (gold - right).sum()), sizes - hits, generator)
        dealt_right[:, strata] += hits - right
        dealt_known[:, strata] += hits + misses - gold
    known = np.cumsum(dealt_known, axis=1)
    accuracy = np.cumsum(dealt_right, axis=1) / np.where(known > 0, known, np.nan)
    measured = (known > 0).all(axis=0)
    rho = np.nan_to_num(spearman_rows(accuracy[:, measured]).rho) if measured.any() else np.zeros(1)
    return float(rho.min()), float(rho.max())


def _cut_groups(ordered: Ordered) -> list[Counts]:
    """The ties that cuts go through, each as the cuts (their numbers) inside it: only these are dealt anew."""
    through = np.flatnonzero(ordered.cuts < ordered.last)
    return [through[ordered.first[through] == first] for first in np.unique(ordered.first[through])]


def _pieces(ordered: Ordered, group: Counts) -> tuple[Counts, Counts, Counts, Counts]:
    """Of the pieces of a tie between cuts: the stratum of each, its samples, how many are right, how many have gold."""
    at = group[0]
    samples, right, gold = (
        np.diff(np.concatenate([[start], inner[group], [end]]))
        for start, inner, end in (
            (ordered.first[at], ordered.cuts, ordered.last[at]),
            (ordered.right[0, at], ordered.right[1], ordered.right[2, at]),
            (ordered.gold[0, at], ordered.gold[1], ordered.gold[2, at]),
        )
    )
    return np.append(group, group[-1] + 1), samples, right, gold


def _deal(cards: Counts, pieces: Counts, generator: np.random.Generator) -> Counts:
    """`cards` [b] dealt at random onto the places of the pieces [b, p]: how many land on each."""
    left, places = cards.copy(), pieces.sum(axis=1)
    dealt = np.zeros(pieces.shape, dtype=np.int64)
    for piece in range(pieces.shape[1]):
        dealt[:, piece] = generator.hypergeometric(left, places - left, pieces[:, piece])
        left -= dealt[:, piece]
        places = places - pieces[:, piece]
    return dealt


def outcomes(labels: npt.NDArray[np.int16], gold: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.int8]:
    """Whether each weak label is RIGHT or WRONG, or UNKNOWN where gold is negative.

    >>> outcomes(np.array([0, 1, 1], dtype=np.int16), np.array([0, 0, -1])).tolist()
    [1, 0, -1]
    """
    return np.where(gold < 0, np.int8(UNKNOWN), (labels == gold).astype(np.int8))
