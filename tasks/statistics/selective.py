"""How good is an order at setting aside what will be wrong? The risk-coverage curve and its area (Geifman 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.resampling import Interval, jackknife_interval, pooled

Array = npt.NDArray[np.float64]
PARTS = 100
"""Of the clusters, each left out once for an interval."""


class RiskCoverage(NamedTuple):
    """The share of samples answered, easiest first, and how many of these are wrong; a point per distinct score."""

    coverage: Array
    risk: Array


def risk_coverage(scores: npt.ArrayLike, right: npt.ArrayLike) -> RiskCoverage:
    """Risk at every coverage that the scores can tell apart (higher is surer).

    >>> curve = risk_coverage([0.9, 0.9, 0.5, 0.1], [1, 1, 0, 1])
    >>> curve.coverage.tolist(), curve.risk.round(3).tolist()
    ([0.5, 0.75, 1.0], [0.0, 0.333, 0.25])
    """
    values, wrong = np.asarray(scores, dtype=np.float64), 1 - np.asarray(right, dtype=np.int64)
    order = np.argsort(-values, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(values[order]) != 0, True)) if len(values) else np.empty(0, dtype=np.int64)
    lost, asked = np.cumsum(wrong[order])[ends], ends + 1
    return RiskCoverage(asked / max(len(values), 1), lost / np.maximum(asked, 1))


def risk_area(scores: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """AURC: the mean risk over the coverages 1/n, 2/n, …, 1, in expectation over all ways to break ties.

    Within a group of m equal scores, of which w are wrong, the k-th sample adds w/m to what was lost before.

    >>> risk_area([0.9, 0.8, 0.1], [1, 1, 0]).__round__(4)
    0.1111
    >>> risk_area([0.5, 0.5], [1, 0])
    0.5
    """
    group, wrong = _groups(scores, right)
    return _area(np.bincount(group), np.bincount(group[wrong], minlength=int(group.max(initial=-1)) + 1))


def risk_area_interval(scores: npt.ArrayLike, right: npt.ArrayLike, clusters: npt.NDArray[np.int64]) -> Interval:
    """AURC with its interval over clusters, within [0, 1].

    >>> interval = risk_area_interval(range(40), [0, 1] * 20, np.arange(40))
    >>> interval.low < interval.value < interval.high
    True
    """
    group, wrong = _groups(scores, right)
    count = int(group.max(initial=-1)) + 1
    sizes, lost = np.bincount(group, minlength=count), np.bincount(group[wrong], minlength=count)
    parts = pooled(clusters, PARTS)
    by_part = np.argsort(parts, kind="stable")
    without = []
    for members in np.split(by_part, np.cumsum(np.bincount(parts))[:-1]) if len(parts) else ():
        there = group[members]
        less = np.bincount(there, minlength=count), np.bincount(there[wrong[members]], minlength=count)
        without.append(_area(sizes - less[0], lost - less[1]))
    return share_interval(_area(sizes, lost), without)


def share_interval(value: float, without: Sequence[float]) -> Interval:
    """`jackknife_interval` of what lies between 0 and 1."""
    interval = jackknife_interval(value, without)
    return Interval(interval.value, max(0.0, interval.low), min(1.0, interval.high))


def _groups(scores: npt.ArrayLike, right: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The place of each sample's score among all scores, the surest first, and whether the sample is wrong."""
    place = np.unique(-np.asarray(scores, dtype=np.float64), return_inverse=True)[1]
    return place.astype(np.int64).reshape(-1), np.asarray(right, dtype=np.int64) == 0


def _area(sizes: npt.NDArray[np.int64], lost: npt.NDArray[np.int64]) -> float:
    """AURC of so many samples of each score, of which so many are wrong."""
    there = sizes > 0
    if not there.any():
        return float("nan")
    risks = np.repeat(lost[there] / sizes[there], sizes[there])
    np.cumsum(risks, out=risks)
    risks /= np.arange(1, len(risks) + 1)
    return float(risks.mean())
