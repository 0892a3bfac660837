"""Does accuracy fall along D1 … DN? The paper's test, what it misses (shared samples, and ties), the accuracy curve of
Figure 2, and the findings.

The paper's test (Definitions 2 and 3, with the "1 −" that Definition 2 leaves out) treats nested sets as independent
measurements and calls a random order valid far too often. Beside it stand the same test on disjoint strata, a
permutation test, and a ρ that does not depend on how ties were broken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Counts
from assay.data.schemas import OrderingCurve
from assay.tasks.statistics.correlation import TrendTest, nested_accuracy, permutation_p, spearman_rows
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import normal_band, share, wilson

RIGHT, WRONG, UNKNOWN = 1, 0, -1  # what is known of a weak label: it equals gold, it does not, there is no gold
_TIE_ORDERS = 1000  # random ways to break the ties, for the range of ρ
_FEWEST = 3  # data sets with a known accuracy that a trend needs


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


def validity(ordered: Ordered, permutations: int, generator: np.random.Generator) -> Validity | None:
    """The tests of an order, or None where fewer than three of D1 … DN hold a sample with gold: not measured."""
    hits, known = ordered.hits, ordered.known
    if (np.cumsum(known) > 0).sum() < _FEWEST:
        return None
    return Validity(
        nested=trend(nested_accuracy(hits[None, :], known)[0]),
        disjoint=trend(hits[known > 0] / known[known > 0]),
        tie_free=trend(np.array([float(a) for a in tie_free_accuracy(ordered) if a is not None])),
        tie_range=tie_range(ordered, generator),
        permutation=permutation_p(hits, known, permutations, generator),
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
    cut = np.flatnonzero(ordered.cuts < ordered.last)
    for first in np.unique(ordered.first[cut]):  # only ties that cuts go through are dealt anew
        strata, sizes, right, gold = _pieces(ordered, cut[ordered.first[cut] == first])
        hits = _deal(np.full(orders, right.sum()), np.tile(sizes, (orders, 1)), generator)
        misses = _deal(np.full(orders, (gold - right).sum()), sizes - hits, generator)
        dealt_right[:, strata] += hits - right
        dealt_known[:, strata] += hits + misses - gold
    known = np.cumsum(dealt_known, axis=1)
    accuracy = np.cumsum(dealt_right, axis=1) / np.where(known > 0, known, np.nan)
    measured = (known > 0).all(axis=0)
    rho = np.nan_to_num(spearman_rows(accuracy[:, measured]).rho) if measured.any() else np.zeros(1)
    return float(rho.min()), float(rho.max())


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


def ordering_curve(ordered: Ordered, approach: str, labeler: str) -> pa.Table:
    """The OrderingCurve of one order: one row per D_i; accuracies are null where a D_i holds no sample with gold."""
    hits, known = ordered.hits, ordered.known
    won, n = np.cumsum(hits), np.cumsum(known)
    datasets = len(ordered.cuts)
    band, wide = normal_band(won, n), wilson(won, n)
    unknown, empty = n == 0, known == 0
    return pa.table(
        {
            "approach": [approach] * datasets,
            "labeler": [labeler] * datasets,
            "dataset": np.arange(1, datasets + 1, dtype=np.int32),
            "size": ordered.cuts,
            "n": n,
            "accuracy": pa.array(won / np.maximum(n, 1), mask=unknown),
            "band_low": pa.array(band.low, mask=unknown),
            "band_high": pa.array(band.high, mask=unknown),
            "wilson_low": pa.array(wide.low, mask=unknown),
            "wilson_high": pa.array(wide.high, mask=unknown),
            "tie_free_accuracy": [None if a is None else float(a) for a in tie_free_accuracy(ordered)],
            "stratum_n": known,
            "stratum_accuracy": pa.array(hits / np.maximum(known, 1), mask=empty),
        },
        schema=OrderingCurve.schema,
    )


_TESTS = ("spearman", "spearman_tie_free", "spearman_disjoint", "permutation_p", "permutation_p_violation")


def ordering_findings(
    ordered: Ordered, tested: Validity | None, significance: float, approach: str, labeler: str
) -> list[Finding]:
    """The findings of one order, each `of` the approach, its `group` the labeler; `n` counts samples with gold.

    They describe, as the paper does: ρ over N nested sets cannot conclude, since among ten even −1 has p = .0014. What
    is concluded is in `order_test`. `ordering.permutation_p` is how often a random order falls as clearly. Verdicts of
    ρ are the paper's, `adverse`, `violation`, `no trend`, or `not measured` where gold is missing. The tie-free ρ comes
    with the range that ρ takes over random ways to break the ties, and without a p-value, for it has no honest one.
    """
    hits, known = ordered.hits, ordered.known
    found = [
        share("ordering.accuracy", int(hits.sum()), int(known.sum())),
        share("ordering.accuracy_easiest", int(hits[0]), int(known[0])),
        share("ordering.accuracy_hardest", int(hits[-1]), int(known[-1])),
        *_tests(tested, int(known.sum()), significance),
        Finding("ordering.largest_tie", value=ordered.largest_tie, n=ordered.samples, unit="samples"),
        Finding("ordering.distinct_scores", value=ordered.distinct_scores, n=ordered.samples, unit="scores"),
    ]
    return [replace(finding, of=approach, group=labeler) for finding in found]


def _tests(tested: Validity | None, n: int, significance: float) -> list[Finding]:
    if tested is None:
        return [Finding(f"ordering.{test}", n=n, verdict="not measured") for test in _TESTS]
    low, high = tested.tie_range
    permutation, free = tested.permutation, _trend("spearman_tie_free", tested.tie_free, n, significance)
    return [
        _trend("spearman", tested.nested, n, significance),
        replace(free, p_value=None, verdict="", low=low, high=high),
        _trend("spearman_disjoint", tested.disjoint, n, significance),
        Finding("ordering.permutation_p", value=permutation.p_adverse, n=n, unit="p"),
        Finding("ordering.permutation_p_violation", value=permutation.p_violation, n=n, unit="p"),
    ]


def _trend(name: str, trend: Trend, n: int, significance: float) -> Finding:
    return Finding(
        f"ordering.{name}", value=trend.rho, p_value=trend.p_value, n=n, verdict=trend.verdict(significance), unit="ρ"
    )
