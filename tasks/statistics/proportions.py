"""Intervals of a proportion: Wilson's, the normal band that the paper draws, and that of a share which an
imperfect judge reports (Rogan and Gladen 1978).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.resampling import Interval

PAPER_Z = 1.64  # Pugh et al., Figure 2: a 90 % band
NO_SPREAD = 1e-12  # what varies less is alike but for rounding


class Bands(NamedTuple):
    """Lower and upper ends, one pair per proportion."""

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


def wilson(hits: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> Bands:
    """Wilson's score interval of hits/n at `level`, elementwise; [0, 1] where n = 0, for then nothing is known.

    n need not be whole, nor as much as one: answers that go together are worth fewer.

    >>> low, high = wilson([9, 0], [10, 0])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.5958, 0.0], [0.9821, 1.0])
    """
    from scipy.special import ndtri

    won, counts = _counts(hits, n)
    trials = np.where(counts > 0, counts, 1)
    z, rate = -ndtri((1 - level) / 2), won / trials
    # As statsmodels' proportion_confint to the last bit, without its imports: every page and every night needs this.
    scale = 1 + z**2 / trials
    middle = (rate + z**2 / (2 * trials)) / scale
    half = z * np.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / scale
    low, high = np.clip(middle - half, 0, rate), np.clip(middle + half, rate, 1)  # rounding can leave 0/n by 1e-17
    return Bands(np.where(counts > 0, low, 0.0), np.where(counts > 0, high, 1.0))


def wilson_of(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of one share.

    >>> [round(end, 4) for end in wilson_of(9, 10)]
    [0.5958, 0.9821]
    """
    low, high = wilson([hits], [n], level)
    return float(low[0]), float(high[0])


def unvaried(value: float, n: float, least: float = -1.0) -> tuple[float, float]:
    """The 95 % interval of a mean of values in [least, 1] that is the same in all of n samples: no resample would vary.

    Of n samples without a single exception, a share of exceptions of up to q = 1 − .025^(1/n) cannot be ruled out:
    Clopper and Pearson's end for none of n, which the rule of three puts at 3/n one-sided (Hanley and Lippman-Hand
    1983). Exceptions may be anything in [least, 1]: the mean is (1 − q)·value + q·least to (1 − q)·value + q.

    >>> [round(end, 3) for end in unvaried(0, 100)], [round(end, 3) for end in unvaried(1, 100)]
    ([-0.036, 0.036], [0.928, 1.0])
    >>> [round(end, 3) for end in unvaried(0, 100, least=0.0)]
    [0.0, 0.036]
    """
    if n < 1 or not least <= value <= 1:
        raise ValueError(f"{value} is not the mean of one or more values between {least:g} and 1")
    exceptions = 1 - 0.025 ** (1 / n)
    middle = (1 - exceptions) * value
    return max(least, middle + exceptions * least), min(1.0, middle + exceptions)


def normal_band(hits: npt.ArrayLike, n: npt.ArrayLike) -> Bands:
    """acc ± 1.64·sqrt(acc(1 − acc)/|Y|), the band of Figure 2 (90 %), kept within [0, 1]; [0, 1] where n = 0.

    >>> low, high = normal_band([80], [100])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.7344], [0.8656])
    """
    won, counts = _counts(hits, n)
    trials = np.where(counts > 0, counts, 1)
    accuracy = won / trials
    half = PAPER_Z * np.sqrt(accuracy * (1 - accuracy) / trials)
    low, high = np.clip(accuracy - half, 0, 1), np.clip(accuracy + half, 0, 1)
    return Bands(np.where(counts > 0, low, 0.0), np.where(counts > 0, high, 1.0))


def share(
    metric: str, hits: int, n: int, *, of: str = "", group: str = "", subject: str = "", level: float = 0.95
) -> Finding:
    """The finding "hits of n", with Wilson's interval; not measured (no value) where n = 0.

    >>> share("subject.accuracy", 9, 10, of="gold").value
    0.9
    """
    about = Finding(metric, of, group, subject, n=n, unit="share")
    if n == 0:
        return replace(about, verdict="not measured")
    low, high = wilson_of(hits, n, level)
    return replace(about, value=hits / n, low=low, high=high)


def _counts(hits: npt.ArrayLike, n: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    won, counts = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if (won < 0).any() or (won > counts).any():
        raise ValueError("a proportion cannot have fewer hits than none or more than it has trials")
    return won, counts


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


def corrected_share(called: float, n: float, judge: Judge, level: float = 0.95) -> Interval | None:
    """The true share behind `called` of n: (share + specificity − 1)/(sensitivity + specificity − 1), in [0, 1].

    The interval is that of Lang and Reiczigel (2014): it holds the uncertainty of the share and of both rates. None
    where the judge is not known to be better than chance: then its share says nothing of the truth.

    >>> corrected = corrected_share(90, 500, Judge(45, 50, 180, 200))
    >>> [round(value, 3) for value in corrected]
    [0.1, 0.033, 0.165]
    >>> corrected_share(90, 500, Judge(3, 6, 100, 200)) is None
    True
    """
    from scipy.special import ndtri

    if not n or not judge.cases or not judge.others or not judge.better_than_chance:
        return None
    sensitivity, specificity = judge.detected / judge.cases, judge.cleared / judge.others
    value = _within((called / n + specificity - 1) / (sensitivity + specificity - 1))
    z = float(-ndtri((1 - level) / 2))
    share, sized = (called + z * z / 2) / (n + z * z), n + z * z
    finds, clears = (judge.detected + 1) / (judge.cases + 2), (judge.cleared + 1) / (judge.others + 2)
    youden = finds + clears - 1
    middle = (share + clears - 1) / youden
    of_finds, of_clears = finds * (1 - finds) / (judge.cases + 2), clears * (1 - clears) / (judge.others + 2)
    shift = 2 * z * z * (middle * of_finds - (1 - middle) * of_clears)
    spread = share * (1 - share) / sized + middle**2 * of_finds + (1 - middle) ** 2 * of_clears
    half = z * math.sqrt(spread) / youden
    low, high = _within(middle + shift - half), _within(middle + shift + half)
    return Interval(value, min(low, value), max(high, value))


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))
