"""Do two measures of hardness agree? Spearman's correlation on midranks, with a test that is robust to clusters.

The correlation is that of the midranks (Kendall 1948, chapter 3, for ties). Its test is the score test of the order
(`statistics.order_trend`) with the second measure's rank where that has right or wrong: U_g = Σ_{i∈g} a_i·b_i over the
samples of cluster g, t = Σ U_g/√(G/(G−1)·Σ U_g²) on G − 1 degrees of freedom (Liang and Zeger 1986). With a second
measure of two values it is the test of the order. The interval comes from the influence of each cluster on the
coefficient, the ranks' own uncertainty included (Hájek's projection of the V-statistic; Hoeffding 1948), on Fisher's z.

Two measures of one margin agree for nothing. So the same is asked with the subject's confidence taken away: the ranks
of both are regressed on its rank, freely (lines within groups of about one confidence), and the residuals are
correlated: the generalised covariance measure of Shah and Peters (2020, Annals of Statistics 48, 1514), summed by
cluster. A straight line alone would leave what is curved in both, and call it agreement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import Integers, codes_of, whole_sums
from assay.tasks.statistics.order_trend import FEWEST_CLUSTERS, doubled_midranks

Floats = npt.NDArray[np.float64]
FEWEST = 30
"""With fewer samples nothing is left to compare within groups of about one confidence."""
_EXPLAINED = 0.99


@dataclass(frozen=True)
class Association:
    """A rank correlation with its interval and two-sided p; or why nothing was measured."""

    n: int
    clusters: int
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
        return Association(n, groups, silent=why_not)
    scored = whole_sums(codes, a * b, groups)
    total, spread = sum(scored), sum(one * one for one in scored)
    t = math.copysign(math.sqrt(Fraction(total * total * (groups - 1), groups * spread)), total) if spread else 0.0
    variance_a, variance_b = int((a * a).sum()), int((b * b).sum())
    value = total / math.sqrt(variance_a * variance_b)
    parts = (whole_sums(codes, _influence(*pair), groups) for pair in ((a, b), (a, a), (b, b)))
    strayed = sum(
        (2 * variance_a * variance_b * both - total * (variance_b * of_a + variance_a * of_b)) ** 2
        for both, of_a, of_b in zip(*parts, strict=True)
    )
    variance = Fraction(groups * strayed, (groups - 1) * 4 * (variance_a * variance_b) ** 3)
    return Association(n, groups, value, *_interval(value, float(variance), groups), _two_sided(t, groups))


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
        return Association(n, groups, silent=why_not)
    (left_a, spent), (left_b, _) = residual_ranks(a, control), residual_ranks(b, control)
    kept = [math.fsum(left * left) / int((ranks * ranks).sum()) for left, ranks in ((left_a, a), (left_b, b))]
    if min(kept) < 1 - _EXPLAINED or n <= spent:
        return Association(n, groups, silent="one of the two says what the confidence says")
    x, y = left_a / math.sqrt(math.fsum(left_a * left_a)), left_b / math.sqrt(math.fsum(left_b * left_b))
    corrected = groups / (groups - 1) * n / (n - spent)  # what the regression fitted is not free to vary
    scored = np.bincount(codes, weights=x * y, minlength=groups)
    value = math.fsum(scored)
    spread = math.fsum(scored * scored) * corrected
    strayed = np.bincount(codes, weights=x * y - value / 2 * (x * x + y * y), minlength=groups)
    ends = _interval(value, math.fsum(strayed * strayed) * corrected, groups)
    return Association(n, groups, value, *ends, _two_sided(value / math.sqrt(spread) if spread else 0.0, groups))


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
        np.array(whole_sums(codes, one, groups), dtype=np.float64)
        for one in (np.ones(n, np.int64), control, ranks, control * control, control * ranks)
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
    _, codes = np.unique(ranks, return_inverse=True)
    sums = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(sums, codes, weights)
    up_to = np.cumsum(sums)
    apart: Integers = (up_to[-1] - up_to - (up_to - sums))[codes]
    return apart


def _why_not_tested(a: Integers, b: Integers, n: int, clusters: int) -> str:
    """Why two measures cannot be related; empty where they can."""
    if clusters < FEWEST_CLUSTERS:
        return f"{clusters} independent groups, fewer than {FEWEST_CLUSTERS}" if n else "no sample has both"
    return "" if a.any() and b.any() else "all samples are equally hard by one of the two"


def _two_sided(t: float, clusters: int) -> float:
    from scipy.stats import t as student

    return float(2 * student.sf(abs(t), clusters - 1))


def _interval(value: float, variance: float, clusters: int) -> tuple[float, float]:
    """95 %, on Fisher's z; the coefficient itself where nothing varies."""
    from scipy.stats import t as student

    if variance <= 0 or abs(value) >= 1:
        return value, value
    middle = math.atanh(value)
    half = float(student.isf(0.025, clusters - 1)) * math.sqrt(variance) / (1 - value * value)
    return math.tanh(middle - half), math.tanh(middle + half)
