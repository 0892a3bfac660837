"""How good is an order at setting aside what will be wrong? The risk-coverage curve and its area (Geifman 2017)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.resampling import Interval, jackknife_interval

Array = npt.NDArray[np.float64]


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
    values, wrong = np.asarray(scores, dtype=np.float64), 1 - np.asarray(right, dtype=np.int64)
    n = len(values)
    if not n:
        return float("nan")
    _, group, sizes = np.unique(-values, return_inverse=True, return_counts=True)
    lost = np.bincount(group, wrong, len(sizes))
    expected = np.cumsum(np.repeat(lost / sizes, sizes))
    return float((expected / np.arange(1, n + 1)).mean())


def risk_area_interval(scores: npt.ArrayLike, right: npt.ArrayLike, clusters: npt.NDArray[np.int64]) -> Interval:
    """AURC with its interval over clusters, within [0, 1].

    >>> interval = risk_area_interval(range(40), [0, 1] * 20, np.arange(40))
    >>> interval.low < interval.value < interval.high
    True
    """
    values, hits = np.asarray(scores, dtype=np.float64), np.asarray(right, dtype=np.int64)
    interval = jackknife_interval(lambda chosen: risk_area(values[chosen], hits[chosen]), clusters)
    return Interval(interval.value, max(0.0, interval.low), min(1.0, interval.high))
