"""Do scores mean what they say? Expected calibration error, Brier score, reliability, and the risk-coverage curve
with its area (Geifman 2017).

A confidence is a score, not a chance, until it is shown to be one: 85 % on average where 64 % are right is 21 points
too much. Bins hold equally many samples, ties kept together, so that no bin rests on a handful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import codes_of, kish
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import NO_SPREAD, unvaried
from assay.tasks.statistics.resampling import (
    FEWEST,
    LEVEL,
    Array,
    Interval,
    bca_interval,
    expanded,
    jackknife_interval,
    pooled,
    ratio_of,
    replicates,
)

BINS = 10
"""What rounding leaves of a spread."""


class CalibrationError(NamedTuple):
    """An expected calibration error without what chance adds, its interval, and what a calibrated score of as many
    samples would show before that is taken away."""

    value: float
    low: float
    high: float
    by_chance: float


def calibration_error(
    confidence: npt.ArrayLike, right: npt.ArrayLike, groups: npt.ArrayLike, generator: np.random.Generator
) -> CalibrationError:
    """ECE = Σ_b n_b/n·|right_b − confidence_b| over equal-mass bins, less what chance adds, with an interval from
    resampled groups; see `gap_interval`.

    >>> error = calibration_error([0.9] * 50, [1, 0] * 25, range(50), np.random.default_rng(0))
    >>> [round(value, 2) for value in error]
    [0.4, 0.24, 0.54, 0.06]
    """
    scores, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if scores.shape != hits.shape or scores.ndim != 1:
        raise ValueError(f"confidences {scores.shape} and rights {hits.shape} must be two vectors of one length")
    if ((scores < 0) | (scores > 1)).any():
        raise ValueError("a confidence lies between 0 and 1")
    if not len(scores):
        return CalibrationError(*[float("nan")] * 4)
    codes = pooled(codes_of(groups))
    # The bin of each sample: by the middle of its ties' ranks, empty ones left out.
    _, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = (2 * np.cumsum(counts) - counts)[where]  # twice the rank of the middle of the ties
    places = codes_of(middle * BINS // (2 * len(scores)))
    count, groups_there = int(places.max()) + 1, int(codes.max()) + 1
    gaps = np.bincount(codes * count + places, hits - scores, groups_there * count).astype(np.float64)
    sizes = np.bincount(codes, minlength=groups_there).astype(np.float64)
    return gap_interval(gaps.reshape(groups_there, count), sizes, generator)


def gap_interval(gaps: Array, sizes: Array, generator: np.random.Generator) -> CalibrationError:
    """`calibration_error` of the sums of right − confidence by group and bin [G, b], and of the groups' sizes [G].

    A mean of absolute values is too large by what chance adds: a calibrated score of 180 samples shows some 8 %. What a
    normal gap of this size and spread would show too much is taken away per bin (Kumar, Liang and Ma 2019, §4). The
    lower end is what is left once so much is taken away as the gaps move together in resamples; the upper end is that
    of resamples, treated alike. Gaps that no resample moves have the interval of `unvaried`.
    """
    groups_there = len(sizes)

    def binned(weights: Array) -> Array:
        return np.asarray((weights @ gaps) / (weights @ sizes)[:, None])

    gap = binned(np.ones((1, groups_there)))[0]
    plain = float(np.abs(gap).sum())
    if groups_there < 2:
        return CalibrationError(plain, float("nan"), float("nan"), float("nan"))
    drawn = replicates(binned, groups_there, generator)
    spread = drawn.std(axis=0)
    if spread.max() < NO_SPREAD:
        return CalibrationError(plain, *unvaried(min(plain, 1.0), kish(sizes), least=0.0), 0.0)
    value = float(_less_chance(gap, spread))
    moved, most = (
        float(np.quantile(sums, (1 + LEVEL) / 2))
        for sums in (np.abs(drawn - gap).sum(axis=1), _less_chance(drawn, spread))
    )
    low, high = max(0.0, plain - moved), min(1.0, most)
    return CalibrationError(value, min(low, value), max(high, value), float(spread.sum() * (2 / np.pi) ** 0.5))


def _less_chance(gaps: Array, spread: Array) -> Array:
    """Σ_b 2·|gap_b| − E|N(gap_b, spread_b)|, not below 0: the sum of gaps without what their spread adds."""
    from scipy.stats import norm

    apart, wide = np.abs(gaps), np.maximum(spread, 1e-300)
    shown = 2 * wide * norm.pdf(apart / wide) + apart * (1 - 2 * norm.sf(apart / wide))
    return np.asarray(np.maximum((2 * apart - shown).sum(axis=-1), 0.0))


def error_findings(about: Finding, error: CalibrationError) -> list[Finding]:
    """`….ece`, and beside it `….ece_by_chance`: what a calibrated score of as many samples would show uncorrected."""
    chance = Interval(error.by_chance, float("nan"), float("nan"))
    findings = [about.estimated(error), replace(about, metric=f"{about.metric}_by_chance").estimated(chance)]
    return [finding for finding in findings if finding.value is not None]


def brier(
    probabilities: npt.ArrayLike, truth: npt.ArrayLike, groups: npt.ArrayLike, generator: np.random.Generator
) -> Interval:
    """Brier's score, the mean of Σ_c (p_c − y_c)² over samples [n, k] (0 best, 2 worst), with a BCa interval by group.

    >>> brier([[0.2, 0.8], [0.6, 0.4]], [1, 0], [0, 1], np.random.default_rng(0)).value.__round__(3)
    0.2
    """
    chances, codes = np.asarray(probabilities, dtype=np.float64), np.asarray(truth, dtype=np.int64)
    lost = ((chances - (codes[:, None] == np.arange(chances.shape[1]))) ** 2).sum(axis=1)
    clusters = pooled(codes_of(groups))
    sums, sizes = (np.bincount(clusters, each).astype(np.float64) for each in (lost, None))
    return mean_loss(sums, sizes, generator)


def mean_loss(lost: Array, sizes: Array, generator: np.random.Generator) -> Interval:
    """The mean of losses from 0 to 2, by their sums and numbers in each group [G]; where all are alike, `unvaried`.

    >>> [round(end, 2) for end in mean_loss(np.full(30, 0.1), np.ones(30), np.random.default_rng(0))]
    [0.1, 0.09, 0.32]
    """
    groups = kish(sizes)
    loss = bca_interval(ratio_of(lost, sizes), len(sizes), generator, expanded(groups) if groups < FEWEST else LEVEL)
    if len(sizes) < 2 or loss.high - loss.low > 1e-6:  # losses of billionths, of a model that is sure, are alike
        return loss
    return Interval(loss.value, *(2 * end for end in unvaried(min(loss.value / 2, 1.0), groups, least=0.0)))


PARTS = 100
"""Of the clusters, each left out once for an interval."""


def risk_area_interval(scores: npt.ArrayLike, right: npt.ArrayLike, clusters: npt.NDArray[np.int64]) -> Interval:
    """AURC, the mean risk over the coverages 1/n, 2/n, …, 1, with its interval over clusters, within [0, 1].

    In expectation over all ways to break ties: within m equal scores, of which w are wrong, the k-th sample adds w/m to
    what was lost before.

    >>> risk_area_interval([0.9, 0.8, 0.1], [1, 1, 0], np.arange(3)).value.__round__(4)
    0.1111
    >>> interval = risk_area_interval(range(40), [0, 1] * 20, np.arange(40))
    >>> interval.low < interval.value < interval.high
    True
    """
    group = np.unique(-np.asarray(scores, dtype=np.float64), return_inverse=True)[1].reshape(-1)  # the surest first
    wrong = np.asarray(right, dtype=np.int64) == 0
    count = int(group.max(initial=-1)) + 1
    sizes, lost = np.bincount(group, minlength=count), np.bincount(group[wrong], minlength=count)
    parts = pooled(clusters, PARTS)
    by_part = np.argsort(parts, kind="stable")
    without = []
    for members in np.split(by_part, np.cumsum(np.bincount(parts))[:-1]) if len(parts) else ():
        there = group[members]
        less = np.bincount(there, minlength=count), np.bincount(there[wrong[members]], minlength=count)
        without.append(_area(sizes - less[0], lost - less[1]))
    return share_interval(_area(sizes, lost), without, kish(np.unique(clusters, return_counts=True)[1]))


def share_interval(value: float, without: Sequence[float], groups: float) -> Interval:
    """`jackknife_interval` of what lies between 0 and 1, on the logit scale, for small areas are skewed; `unvaried`
    where no group moves it.

    >>> [round(end, 3) for end in share_interval(0.0, [0.0] * 25, groups=25)]
    [0.0, 0.0, 0.137]
    """
    from scipy.special import expit, logit

    _, low, high = jackknife_interval(value, without)
    if high - low < NO_SPREAD:
        return Interval(value, *unvaried(min(value, 1.0), groups, least=0.0))
    half, middle = (high - low) / 2 / max(value * (1 - value), NO_SPREAD), float(logit(value))
    return Interval(value, max(0.0, float(expit(middle - half))), min(1.0, float(expit(middle + half))))


def _area(sizes: npt.NDArray[np.int64], lost: npt.NDArray[np.int64]) -> float:
    """AURC of so many samples of each score, of which so many are wrong."""
    there = sizes > 0
    if not there.any():
        return float("nan")
    risks = np.repeat(lost[there] / sizes[there], sizes[there])
    np.cumsum(risks, out=risks)
    risks /= np.arange(1, len(risks) + 1)
    return float(risks.mean())
