"""Do two measures of hardness agree, beyond the subject's confidence too, and which of them rank true errors?

The correlation is that of the midranks (Kendall 1948, chapter 3, for ties). Test and interval are one: Fisher's z with
the variance of each group's influence on the coefficient, the ranks' own uncertainty included (Hájek's projection of
the V-statistic; Hoeffding 1948), seen from the other groups, and Student's t of as many groups as count (Kish 1965).
Without `source.group` each sample is its own group.

Two measures of one margin agree for nothing. So the same is asked with the subject's confidence taken away: the ranks
of both are regressed on its rank, freely (lines within groups of about one confidence), and the residuals are
correlated: the generalised covariance measure of Shah and Peters (2020, Annals of Statistics 48, 1514), summed by
group. A straight line alone would leave what is curved in both, and call it agreement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from assay.data.arrays import Bools, Floats, Integers
from assay.infra.settings import Settings
from assay.tasks.hardness.measures import CONFIDENCE, GOLD_DOUBT, THETA, Columns
from assay.tasks.statistics.clusters import (
    codes_of,
    doubled_midranks,
    from_the_others,
    kish,
    mean_within,
    sums_by_cluster,
    two_sided,
)
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import RELATED
from assay.tasks.statistics.order_test import (
    FEWEST_CLUSTERS,
    area_difference,
    area_interval,
    area_sums,
    gain_finding,
    why_not_tested,
)
from assay.tasks.statistics.proportions import unvaried


class Hardness(Settings):
    """Whether the samples that one audit finds hard are hard for others too; `{}` takes every default."""

    subjects: tuple[str, ...] | None = None
    """The subjects whose measures are related; left out, all. Every subject adds pairs to what is corrected."""

    hardest: float = Field(default=0.25, gt=0, lt=1)
    """A sample is hard by a measure if it is among this share of the hardest."""

    shown: int = Field(default=12, ge=0, le=100)
    """How many samples hard by every measure the report shows of each subject."""


FEWEST = 30
"""With fewer samples nothing is left to compare within groups of about one confidence."""
_EXPLAINED = 0.99


@dataclass(frozen=True)
class Association:
    """A rank correlation with its interval and two-sided p; or why nothing was measured."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    silent: str = ""

    def verdict(self, significance: float) -> str:
        """`together` where the hard ones are the same, `opposite` where they are the other's easy ones."""
        if self.value is None or self.p_value is None:
            return f"not measured: {self.silent}"
        if self.p_value > significance:
            return "not shown"
        return "together" if self.value > 0 else "opposite"


def association(first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.ArrayLike) -> Association:
    """Spearman's ρ of two measures of the same samples, on midranks: whole numbers up to one division.

    >>> related = association(range(40), [value // 2 for value in range(40)], range(40))
    >>> round(related.value, 3), related.verdict(0.01)
    (0.999, 'together')
    >>> association([1] * 40, range(40), range(40)).verdict(0.01)
    'not measured: all samples are equally hard by one of the two'
    """
    codes = codes_of(clusters)
    a, b = centred_ranks(first), centred_ranks(second)
    n, groups = len(codes), int(codes.max(initial=-1)) + 1
    why_not = _why_not_tested(a, b, n, groups)
    if why_not:
        return Association(n, silent=why_not)
    total, variance_a, variance_b = int((a * b).sum()), int((a * a).sum()), int((b * b).sum())
    value = total / math.sqrt(variance_a * variance_b)
    parts = (sums_by_cluster(codes, _influence(*pair), groups).tolist() for pair in ((a, b), (a, a), (b, b)))
    strayed = [
        (2 * variance_a * variance_b * both - total * (variance_b * of_a + variance_a * of_b))
        / (2 * math.sqrt(variance_a * variance_b) ** 3)
        for both, of_a, of_b in zip(*parts, strict=True)
    ]
    return _concluded(value, np.array(strayed), np.bincount(codes))


def partial_association(
    first: npt.ArrayLike, second: npt.ArrayLike, confidence: npt.ArrayLike, clusters: npt.ArrayLike
) -> Association:
    """The correlation of what is left of both ranks once the rank of the confidence is known.

    >>> import random
    >>> draws = random.Random(0)
    >>> margin = [draws.gauss(0, 1) for _ in range(400)]
    >>> noisy = [[one + draws.gauss(0, 1) for one in margin] for _ in range(2)]
    >>> association(*noisy, range(400)).verdict(0.01), partial_association(*noisy, margin, range(400)).verdict(0.01)
    ('together', 'not shown')
    """
    codes, control = codes_of(clusters), centred_ranks(confidence)
    a, b = centred_ranks(first), centred_ranks(second)
    n, groups = len(codes), int(codes.max(initial=-1)) + 1
    why_not = _why_not_tested(a, b, n, groups)
    if not why_not and n < FEWEST:
        why_not = f"{n} samples, fewer than {FEWEST}"
    if why_not:
        return Association(n, silent=why_not)
    (left_a, spent), (left_b, _) = residual_ranks(a, control), residual_ranks(b, control)
    kept = [math.fsum(left * left) / int((ranks * ranks).sum()) for left, ranks in ((left_a, a), (left_b, b))]
    if min(kept) < 1 - _EXPLAINED or n <= spent:
        return Association(n, silent="one of the two says what the confidence says")
    x, y = left_a / math.sqrt(math.fsum(left_a * left_a)), left_b / math.sqrt(math.fsum(left_b * left_b))
    value = math.fsum(x * y)
    strayed = np.bincount(codes, weights=x * y - value / 2 * (x * x + y * y), minlength=groups)
    free = math.sqrt(n / (n - spent))  # what the regression fitted is not free to vary
    return _concluded(value, strayed * free, np.bincount(codes))


def _concluded(value: float, strayed: npt.NDArray[np.floating[Any]], sizes: Integers) -> Association:
    """The coefficient with the interval and p that its groups' influences give, on Fisher's z; where nothing varies,
    with that of `unvaried`."""
    from scipy.special import stdtrit

    n, equal = int(sizes.sum()), kish(sizes)
    parts = from_the_others(strayed * n, sizes)
    spread = math.sqrt(math.fsum(parts * parts))
    if not spread or abs(value) >= 1 - 1e-12:
        return Association(n, value, *unvaried(max(-1.0, min(1.0, value)), equal), 2 * 0.5**equal if value else 1.0)
    spread /= 1 - value * value
    middle, half = math.atanh(value), -float(stdtrit(equal - 1, 0.025)) * spread
    ends = math.tanh(middle - half), math.tanh(middle + half)
    return Association(n, value, *ends, two_sided(middle / spread, equal))


def centred_ranks(values: npt.ArrayLike) -> Integers:
    """2·midrank − (n + 1), a whole number: how many values lie below each one less how many lie above.

    >>> centred_ranks([0.5, 0.5, 9.0]).tolist()
    [-1, -1, 2]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if np.isnan(numbers).any():
        raise ValueError("a value that is not a number cannot be ranked")
    return np.asarray(doubled_midranks(numbers) - (len(numbers) + 1), dtype=np.int64)


def residual_ranks(ranks: Integers, control: Integers) -> tuple[Floats, int]:
    """What a line in the control's rank, within each of about ∛n groups of equal size, leaves of the ranks; and how
    many coefficients it took.

    >>> bool(residual_ranks(centred_ranks(range(40)), centred_ranks(range(40)))[0].any())
    False
    """
    n = len(ranks)
    groups = max(1, round(n ** (1 / 3)))
    codes = np.asarray((control + n - 1) * groups // (2 * n), dtype=np.int64)  # by (rank − 1/2)/n
    count, c, r, cc, cr = (
        sums_by_cluster(codes, column, groups).astype(np.float64)
        for column in (np.ones(n, np.int64), control, ranks, control * control, control * ranks)
    )
    spread = count * cc - c * c
    slope = np.where(spread > 0, count * cr - c * r, 0.0) / np.where(spread > 0, spread, 1.0)
    of_all = np.maximum(count, 1)
    left = (ranks - (r / of_all)[codes]) - slope[codes] * (control - (c / of_all)[codes])
    return left, int((count > 0).sum() + (spread > 0).sum())


def _influence(a: Integers, b: Integers) -> Integers:
    """What each sample adds to Σ a·b, in its own place and in the ranks of all others (with −3Σ/n, its influence).

    a_i = Σ_j sign(x_i − x_j), so the sum runs over triples: a_i·b_i + Σ_j sign(x_j − x_i)·b_j +
    Σ_j a_j·sign(y_j − y_i).
    """
    return a * b + _above_less_below(a, b) + _above_less_below(b, a)


def _above_less_below(ranks: Integers, weights: Integers) -> Integers:
    """Per sample the weights of those that rank above it less the weights of those below."""
    codes = codes_of(ranks)
    sums = sums_by_cluster(codes, weights)
    up_to = np.cumsum(sums)
    return np.asarray((up_to[-1] - up_to - (up_to - sums))[codes])


def _why_not_tested(a: Integers, b: Integers, n: int, clusters: int) -> str:
    """Why two measures cannot be related; empty where they can."""
    if clusters < FEWEST_CLUSTERS:
        return f"{clusters} groups, fewer than {FEWEST_CLUSTERS}" if n else "no sample has both"
    return "" if a.any() and b.any() else "all samples are equally hard by one of the two"


_GROUPS = 10

Answers = npt.NDArray[np.int8]
"""Per sample: whether the subject is right (1), wrong (0), or nobody knows (−1)."""


def association_findings(columns: Columns, clusters: Integers, significance: float) -> Iterator[Finding]:
    """`hardness.association` of every pair, `hardness.partial` where the subject has a confidence to take away, and the
    p of each; pairs with the confidence itself have nothing left to take away."""
    measures = columns.all
    for of, group in columns.pairs:
        first, second = measures[of], measures[group]
        both = ~(np.isnan(first) | np.isnan(second))
        plain = association(first[both], second[both], clusters[both])
        yield from _findings("association", plain, of, group, significance)
        if columns.confidence is not None and CONFIDENCE not in (of, group):
            sure = both & ~np.isnan(columns.confidence)
            left = partial_association(first[sure], second[sure], columns.confidence[sure], clusters[sure])
            yield from _findings("partial", left, of, group, significance)


def _findings(name: str, tested: Association, of: str, group: str, significance: float) -> Iterator[Finding]:
    untested = Finding(f"hardness.{name}", of, group, n=tested.n, unit="ρ")
    yield (about := untested.estimated(tested, verdict=tested.verdict(significance)))
    p = replace(about, metric=f"hardness.{name}_p", value=tested.p_value, low=None, high=None, unit=RELATED)
    yield replace(p, p_value=tested.p_value)


def area_findings(columns: Columns, answers: Answers, clusters: Integers) -> Iterator[Finding]:
    """`hardness.auc` of every measure: how often an error of the subject is harder than what it gets right; and
    `hardness.auc_gain`, the difference from ours (from the confidence, without an order), paired by cluster (DeLong
    1988). A measure that speaks of right answers only cannot rank errors, and one that knows the gold label would do so
    by knowing it: neither has one."""
    codes, kept_by = codes_of(clusters), dict[str, Bools]()
    groups = int(codes.max(initial=-1)) + 1
    for name, values in columns.all.items():
        if name == GOLD_DOUBT:
            continue
        kept = (answers >= 0) & ~np.isnan(values)
        right, there = answers[kept], len(np.unique(codes[kept]))
        if why_not_tested(len(right), int(right.sum()), there, len(np.unique(values[kept])) < 2):
            continue
        kept_by[name] = kept
        area = area_interval(area_sums(-values[kept], right, codes[kept], groups))
        yield Finding("hardness.auc", name, n=len(right)).estimated(area)
    ours = next((name for name in (THETA, CONFIDENCE) if name in kept_by), None)
    for name in kept_by:
        if ours is not None and name != ours:
            kept = kept_by[name] & kept_by[ours]
            right, gain = answers[kept], None
            if 0 < int(right.sum()) < len(right):
                first, second = (-columns.all[each][kept] for each in (name, ours))
                inside = right, codes[kept], groups
                gain = area_difference(area_sums(first, *inside), area_sums(second, *inside))
            yield replace(gain_finding("hardness.auc_gain", gain, len(right)), of=name, group=ours)


def pair_rows(columns: Columns, subject: str, clusters: Integers) -> Iterator[dict[str, object]]:
    """For every pair, up to ten groups of samples by the first measure, and how hard they are by the second."""
    measures = columns.all
    for first, second in columns.pairs:
        both = ~(np.isnan(measures[first]) | np.isnan(measures[second]))
        x, y = (_places(measures[name][both]) for name in (first, second))
        group = np.minimum((x * _GROUPS).astype(np.int64), _GROUPS - 1)
        for tenth in np.unique(group):
            of_tenth = group == tenth
            mean = mean_within(y[of_tenth], groups=clusters[both][of_tenth])
            yield {
                "subject": subject,
                "first": first,
                "second": second,
                "n": int(of_tenth.sum()),
                "x": float(x[of_tenth].mean()),
                "y": mean.value,
                "low": mean.low,
                "high": mean.high,
            }


def _places(values: Floats) -> Floats:
    """The midrank of each value as a share: 0 for the easiest, 1 for the hardest, 1/2 where all are equal."""
    return (centred_ranks(values) + len(values) - 1) / max(2 * (len(values) - 1), 1)
