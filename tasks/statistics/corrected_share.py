"""A share that an imperfect judge reports, corrected by how often the judge is right (Rogan and Gladen 1978).

A judge that finds 90 % of the cases and clears 90 % of the others calls 18 % cases where 10 % are. The share as judged
is the judge's; what it says of the truth depends on both rates, and on how well these are known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from assay.tasks.statistics.proportions import wilson


class Judge(NamedTuple):
    """What a judge was measured by: the cases it found, of how many, and the others it cleared, of how many.

    No whole numbers where samples are not independent: then as many count as are as uncertain.
    """

    detected: float
    cases: float
    cleared: float
    others: float

    @property
    def better_than_chance(self) -> bool:
        """Whether it is known to tell cases from others: Youden's J is above 0 at both rates' lower ends."""
        low, _ = wilson([self.detected, self.cleared], [self.cases, self.others])
        return bool(low.sum() > 1)


class CorrectedShare(NamedTuple):
    """The true share, and its interval."""

    value: float
    low: float
    high: float


def corrected_share(called: float, n: float, judge: Judge, level: float = 0.95) -> CorrectedShare | None:
    """The true share behind `called` of n: (share + specificity − 1)/(sensitivity + specificity − 1), in [0, 1].

    The interval is that of Lang and Reiczigel (2014): it holds the uncertainty of the share and of both rates. None
    where the judge is not known to be better than chance: then its share says nothing of the truth.

    >>> corrected = corrected_share(90, 500, Judge(45, 50, 180, 200))
    >>> [round(one, 3) for one in corrected]
    [0.1, 0.033, 0.165]
    >>> corrected_share(90, 500, Judge(3, 6, 100, 200)) is None
    True
    """
    from scipy.stats import norm

    if not n or not judge.cases or not judge.others or not judge.better_than_chance:
        return None
    sensitivity, specificity = judge.detected / judge.cases, judge.cleared / judge.others
    value = _within((called / n + specificity - 1) / (sensitivity + specificity - 1))
    z = float(norm.isf((1 - level) / 2))
    share, sized = (called + z * z / 2) / (n + z * z), n + z * z
    finds, clears = (judge.detected + 1) / (judge.cases + 2), (judge.cleared + 1) / (judge.others + 2)
    youden = finds + clears - 1
    middle = (share + clears - 1) / youden
    of_finds, of_clears = finds * (1 - finds) / (judge.cases + 2), clears * (1 - clears) / (judge.others + 2)
    shift = 2 * z * z * (middle * of_finds - (1 - middle) * of_clears)
    spread = share * (1 - share) / sized + middle**2 * of_finds + (1 - middle) ** 2 * of_clears
    half = z * math.sqrt(spread) / youden
    low, high = _within(middle + shift - half), _within(middle + shift + half)
    return CorrectedShare(value, min(low, value), max(high, value))


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))
