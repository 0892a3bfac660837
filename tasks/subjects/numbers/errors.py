"""How far predicted numbers are from the true ones: MAE, RMSE, R², and how often intervals hold the truth.

A mean of errors is a ratio of sums over what is independent (a group, or a sample). Its interval is Student's t of the
logarithm, by linearisation: ends of a positive ratio are not equally far. R² is 1 − Σ(y − ŷ)²/Σ(y − ȳ)², so that one
constant number, the mean of the truth, has R² 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.clusters import doubled_midranks, half_width, share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import CONCLUDED, not_shown
from assay.tasks.statistics.order_test import FEWEST_CLUSTERS, group_trend, pattern_totals, permuted_trend
from assay.tasks.statistics.resampling import Interval

CLEAN, ALONG, NOISE = "clean", "along", "noise"


@dataclass(frozen=True)
class Predicted:
    """Samples with a true number [n], the prediction, the ends of its interval (NaN without), and what is independent
    (None: each sample)."""

    ids: npt.NDArray[np.str_]
    truth: Floats
    value: Floats
    low: Floats
    high: Floats
    groups: npt.NDArray[np.int64] | None = None

    def at(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Predicted:
        """Some of the samples."""
        groups = None if self.groups is None else self.groups[rows]
        truth, value, low, high = (column[rows] for column in (self.truth, self.value, self.low, self.high))
        return Predicted(self.ids[rows], truth, value, low, high, groups)

    @property
    def error(self) -> Floats:
        """The prediction less the truth."""
        return self.value - self.truth

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Whether the truth lies within the interval."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    def amounts(self, name: str) -> tuple[Floats, Floats]:
        """What each sample adds above and below, in the ratio of sums that a finding is, or whose root it is; of R²,
        the ratio that it lacks to 1."""
        spread, ones = (self.truth - self.truth.mean()) ** 2 * (np.ptp(self.truth) > 0), np.ones(len(self.ids))
        above: dict[str, Floats] = {
            "mae": np.abs(self.error),
            "rmse": self.error**2,
            "r2": self.error**2,
            "coverage": self.inside.astype(np.float64),
            "interval_width": self.high - self.low,
            "constant_mae": np.abs(self.truth - np.median(self.truth)),
        }
        return above[name], spread if name == "r2" else ones

    def estimate(self, name: str) -> Interval:
        """A finding with its interval."""
        ratio = ratio_interval(*self.amounts(name), self.groups)
        if name == "r2":
            return Interval(1 - ratio.value, 1 - ratio.high, 1 - ratio.low)
        return Interval(*np.sqrt(ratio)) if name.endswith("rmse") else ratio

    def sampled(self, name: str) -> Sampled:
        """What each sample adds to a finding; a root (RMSE) is linearised about its value, to which the samples still
        come."""
        above, below = self.amounts(name)
        if name == "r2":
            above = below - above
        elif name == "rmse" and above.any():
            root = math.sqrt(float(above.mean()))
            above = (above / root + root) / 2
        return Sampled(self.ids, above, below)


def ratio_interval(above: Floats, below: Floats, groups: npt.NDArray[np.int64] | None) -> Interval:
    """Σ above / Σ below of amounts that are not negative, and its 95 % interval by group; without ends where fewer than
    two groups are there, or nothing stands above.

    >>> interval = ratio_interval(np.arange(1.0, 41.0), np.ones(40), None)
    >>> [round(end, 1) for end in interval]
    [20.5, 17.1, 24.6]
    """
    whole = float(below.sum())
    value = float(above.sum()) / whole if whole else math.nan
    if not value > 0:
        return Interval(value, math.nan, math.nan)
    half = half_width(above - value * below, groups) * len(above) / whole / value
    return Interval(value, value * math.exp(-half), value * math.exp(half))


def error_findings(about: Finding, predicted: Predicted, promised: float | None) -> Iterator[Finding]:
    """MAE, RMSE and R² of some samples, and what one constant number gets; with intervals, how often and how widely
    these hold the truth. `about` says whose and of what."""
    about = replace(about, n=len(predicted.ids))
    names = ["mae", "rmse", *(["constant_mae"] if about.of == CLEAN else [])]
    names += [] if promised is None else ["interval_width"]
    for name in names:
        yield replace(about, metric=f"regression.{name}").estimated(predicted.estimate(name))
    r2, verdict = predicted.estimate("r2"), "not measured: all true numbers are equal"
    if not math.isnan(r2.value):
        better = r2.low > 0 or r2.value == 1
        verdict = f"{'' if better else 'not shown to be '}better than one constant number"
    yield replace(about, metric="regression.r2").estimated(r2, verdict=verdict)
    if promised is not None:
        held = share_by("regression.coverage", predicted.inside, predicted.groups)
        short, wide = (held.high or 0.0) < promised, (held.low or 0.0) > promised
        kept = "as promised" if not (short or wide) else f"{'less' if short else 'more'} than promised"
        coverage = replace(about, metric="regression.coverage", unit="share")
        yield coverage.estimated(held, verdict=f"{kept} ({100 * promised:g} %)")


def mean_interval(amounts: Floats, groups: npt.NDArray[np.int64] | None) -> Interval:
    """A mean and its 95 % interval by group, Student's t; without ends where fewer than two groups are there.

    >>> [round(end, 2) for end in mean_interval(np.arange(10.0), None)]
    [4.5, 2.33, 6.67]
    """
    mean = float(amounts.mean())
    half = half_width(amounts - mean, groups)
    return Interval(mean, mean - half, mean + half)


def noise_findings(about: Finding, clean: Predicted, noisy: Predicted, promised: float | None) -> Iterator[Finding]:
    """The errors under noise, and by how much the absolute error of the same samples rises: of those that were asked
    both times, in the order of the samples."""
    yield from error_findings(about, noisy, promised)
    clean, noisy = clean.at(np.isin(clean.ids, noisy.ids)), noisy.at(np.isin(noisy.ids, clean.ids))
    rise = mean_interval(np.abs(noisy.error) - np.abs(clean.error), clean.groups)
    shown = "more" if rise.low > 0 else "less" if rise.high < 0 else "not shown to be more"
    about = replace(about, metric="regression.noise_rise", n=len(clean.ids))
    yield about.estimated(rise, verdict=f"{shown} than without noise")


def error_trend(
    about: Finding,
    errors: Floats,
    scores: Floats,
    patterns: npt.NDArray[np.int64] | None,
    groups: npt.NDArray[np.int64],
    significance: float,
    generator: np.random.Generator,
) -> Finding:
    """Whether errors grow towards the hard end of the order: ranks of |error| along θ_L, scores permuted over the
    patterns of votes, or by group where there are some."""
    about = replace(about, metric="regression.trend_p", n=len(errors))
    ranks, independent = doubled_midranks(np.abs(errors)), groups if patterns is None else patterns
    there = len(np.unique(independent))
    if there < FEWEST_CLUSTERS or len(np.unique(scores)) < 2 or len(np.unique(ranks)) < 2:
        called = "groups" if patterns is None else "patterns of votes"
        why = f"{there} {called}" if there < FEWEST_CLUSTERS else "all samples have one score, or one error"
        return replace(about, verdict=f"not measured: {why}")
    totals = None if patterns is None else pattern_totals(scores, ranks, patterns)
    trend = group_trend(scores, ranks, groups) if totals is None else permuted_trend(totals, generator)
    p = trend.p_value
    verdict = ("adverse" if trend.t < 0 else "violation") if p <= significance else not_shown(significance)
    return replace(about, value=p, p_value=p, verdict=verdict, unit=CONCLUDED)


def stratum_findings(
    about: Finding, predicted: Predicted, stratum: npt.NDArray[np.int64], datasets: int, promised: float | None
) -> list[Finding]:
    """The findings on every D_i and on every stratum that holds samples."""
    cuts: list[tuple[str, npt.NDArray[np.bool_]]] = [
        *((f"D{at}", stratum <= at) for at in range(1, datasets + 1)),
        *((f"stratum {at}", stratum == at) for at in range(1, datasets + 1)),
    ]
    there = [(cut, predicted.at(chosen)) for cut, chosen in cuts if chosen.any()]
    return [found for group, part in there for found in error_findings(replace(about, group=group), part, promised)]
