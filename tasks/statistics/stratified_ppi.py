"""How right answers are over N samples of which people labelled n, drawn with known probabilities where errors are
likely: active inference (Zrnic and Candès 2024) with stratified (Fisch et al. 2024) prediction-powered estimates,
PPI++ (Angelopoulos, Duchi and Zrnic 2023).

The N samples are fixed and only the draw is random: whoever has labels of all of them is not uncertain any more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assay.data.arrays import Codes, Floats
from assay.tasks.statistics.resampling import LEVEL

_FLOOR = 0.5
"""What is added to the spread of every sample, in parts of the mean: no sample is nearly sure not to be drawn."""
_PER_STRATUM, _MOST_STRATA = 8, 10


def strata_by_expectation(expected: Floats, budget: int) -> Codes:
    """The stratum of every sample [N], by its expected chance to be right: each with the same sum of √(f(1 − f)) and a
    floor, so that equal numbers drawn of each are drawn in proportion to it.

    >>> strata_by_expectation(np.array([0.5, 0.99, 0.6, 0.99, 0.99, 0.99, 0.99, 0.99]), 16).tolist()
    [0, 1, 0, 1, 1, 1, 1, 1]
    """
    chance = np.clip(expected, 0.01, 0.99)
    spread = np.sqrt(chance * (1 - chance))
    spread = spread + _FLOOR * spread.mean()
    strata = max(1, min(_MOST_STRATA, budget // _PER_STRATUM))
    order = np.argsort(expected, kind="stable")
    reached = (np.cumsum(spread[order]) - spread[order] / 2) / spread.sum()
    codes = np.empty(len(expected), np.int64)
    codes[order] = np.minimum((reached * strata).astype(np.int64), strata - 1)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def draw_strata(strata: Codes, budget: int, generator: np.random.Generator) -> Codes:
    """The places of the samples to label [n], in random order: equal numbers per stratum, all of one that has fewer.

    >>> strata = np.array([0, 0, 1, 1, 1, 1])
    >>> np.bincount(strata[draw_strata(strata, 5, np.random.default_rng(0))])
    array([2, 3])
    """
    sizes = np.bincount(strata)
    taken, left, smallest_first = np.zeros(len(sizes), np.int64), min(budget, len(strata)), np.argsort(sizes)
    for at, stratum in enumerate(smallest_first):
        taken[stratum] = min(sizes[stratum], left // (len(sizes) - at))
        left -= taken[stratum]
    chosen = [
        generator.choice(np.flatnonzero(strata == at), count, replace=False) for at, count in enumerate(taken.tolist())
    ]
    return generator.permutation(np.concatenate(chosen)).astype(np.int64)


class Ratio(NamedTuple):
    """A share of cases that are hits: 0 or 1 for every labelled sample [n], and what was expected of all [N]."""

    hits: Floats
    cases: Floats
    expected_hits: Floats
    expected_cases: Floats


@dataclass(frozen=True)
class LabelledShare:
    """A share with its interval, and how many labels of cases drawn at random would tell as much."""

    value: float
    low: float
    high: float
    worth: float
    tuning: float
    """λ of PPI++: how far the expectation is believed; 0 is the classical estimate."""


@dataclass(frozen=True)
class Drawn:
    """The stratum of each of N samples, and the places of those that were drawn and labelled."""

    strata: Codes  # [N]
    at: Codes  # [n]

    @cached_property
    def sizes(self) -> Codes:
        """The samples of each stratum."""
        return np.bincount(self.strata)

    @cached_property
    def taken(self) -> Codes:
        """The labelled ones of each stratum."""
        return np.bincount(self.strata[self.at], minlength=len(self.sizes))

    @property
    def probabilities(self) -> Floats:
        """The chance of every sample to be drawn, [N]."""
        return np.asarray((self.taken / self.sizes)[self.strata])

    @property
    def scale(self) -> Floats:
        """What the variance of one sample of a stratum adds to that of the estimate: W²(1 − n/N)/n."""
        return np.asarray((self.sizes / len(self.strata)) ** 2 * (1 - self.taken / self.sizes) / self.taken)

    def within(self, values: Floats) -> Floats:
        """The mean of the labelled samples' values in each stratum."""
        return np.asarray(np.bincount(self.strata[self.at], values, len(self.sizes)) / self.taken)

    def mean(self, values: Floats, expected: Floats, tuning: float) -> float:
        """θ̂ = λ·mean f + Σ w(Y − λf), with w the inverse of the probability to be drawn, over N."""
        rest = self.within(values - tuning * expected[self.at])
        return float(tuning * expected.mean() + self.sizes / len(self.strata) @ rest)

    def spread(self, first: Floats, second: Floats) -> Floats:
        """The covariance of two values of the labelled samples within each stratum."""
        codes = self.strata[self.at]
        product = (first - self.within(first)[codes]) * (second - self.within(second)[codes])
        return np.asarray(np.bincount(codes, product, len(self.sizes)) / np.maximum(self.taken - 1, 1))

    def cautious_spread(self, values: Floats) -> Floats:
        """The variance within each stratum, with one sample more whose spread is that of the labelled ones and of the
        highest and the lowest value of all."""
        ends = np.array([values.max(), values.min()])
        mean = (self.within(values) * self.taken + ends.sum()) / (self.taken + 2)
        added = (self.within(values**2) * self.taken + (ends**2).sum()) / (self.taken + 2) - mean**2
        return np.asarray(((self.taken - 1) * self.spread(values, values) + added) / self.taken)

    def tuning(self, values: Floats, expected: Floats) -> float:
        """The λ in [0, 1] of least variance; 0 where the expectation is the same of all samples of each stratum."""
        apart = expected - (np.bincount(self.strata, expected) / self.sizes)[self.strata]
        spread = float(self.scale @ (np.bincount(self.strata, apart**2) / np.maximum(self.sizes - 1, 1)))
        together = float(self.scale @ self.spread(values, expected[self.at]))
        return min(1.0, max(0.0, together / spread)) if spread > 0 else 0.0


def labelled_share(ratios: Sequence[Ratio], drawn: Drawn, *, tuned: bool = True) -> LabelledShare | None:
    """The mean of one or several shares over all N samples; None where no labelled sample is a case of one of them.

    The interval is Wilson's for as many random labels as are as uncertain, by Student's t on n less the number of
    strata. Where all labels say the same, what differs is taken to hide where samples were least likely drawn.

    >>> half = Ratio(np.array([1.0, 0, 1, 0]), np.ones(4), np.full(8, 0.5), np.ones(8))
    >>> share = labelled_share([half], Drawn(np.zeros(8, np.int64), np.arange(4)))
    >>> share.value, share.tuning
    (0.5, 0.0)
    """
    from scipy.special import stdtrit

    if any(not ratio.cases.any() for ratio in ratios):
        return None
    tuning = drawn.tuning(*_linearised(ratios, drawn, 0.0)[1:]) if tuned else 0.0
    shares, values, expected = _linearised(ratios, drawn, tuning)
    value, n = min(1.0, max(0.0, float(shares.mean()))), len(drawn.at)
    effective, weights = math.inf, drawn.sizes / len(drawn.strata)
    fewest = min(drawn.mean(ratio.cases, ratio.expected_cases, 0.0) for ratio in ratios)
    if drawn.scale.any() and np.ptp(values) == 0:
        effective = fewest / float((drawn.scale / weights).max())
    elif drawn.scale.any():
        inside = min(1 - 0.5 / n, max(0.5 / n, value))
        left = values - tuning * expected[drawn.at]
        effective = inside * (1 - inside) / float(drawn.scale @ drawn.cautious_spread(left))
    z = float(stdtrit(max(1, n - len(weights)), (1 - LEVEL) / 2)) ** 2 / effective
    middle, half = value + z / 2, math.sqrt(z * value * (1 - value) + z * z / 4)
    low, high = (middle - half) / (1 + z), (middle + half) / (1 + z)
    worth = 1 / (1 / effective + 1 / (fewest * len(drawn.strata)))
    return LabelledShare(value, min(value, low), max(value, high), worth, tuning)


def _linearised(ratios: Sequence[Ratio], drawn: Drawn, tuning: float) -> tuple[Floats, Floats, Floats]:
    """The shares, and what every labelled sample [n] adds to their mean, and was expected to of all [N]."""
    cases = np.array([drawn.mean(ratio.cases, ratio.expected_cases, tuning) for ratio in ratios])
    cases = np.maximum(cases, 1 / len(drawn.strata))
    shares = np.array([drawn.mean(ratio.hits, ratio.expected_hits, tuning) for ratio in ratios]) / cases
    each = [(ratio, share, of) for ratio, share, of in zip(ratios, shares, cases, strict=True)]
    values = np.mean([(ratio.hits - share * ratio.cases) / of for ratio, share, of in each], axis=0)
    expected = np.mean([(ratio.expected_hits - share * ratio.expected_cases) / of for ratio, share, of in each], axis=0)
    return shares, values, expected
