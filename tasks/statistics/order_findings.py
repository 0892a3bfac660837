"""The findings on an order, of labels or of a subject's answers: its test, its ends, and how it compares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.order_trend import Area, OrderTest
from assay.tasks.statistics.resampling import Interval


def trend_findings(stage: str, tested: OrderTest, significance: float, unit: str) -> list[Finding]:
    """`STAGE.auc` and `STAGE.trend_p` of one test."""
    verdict, area = tested.verdict(significance), tested.area
    if area is None:
        return [Finding(f"{stage}.{name}", n=tested.n, verdict=verdict) for name in ("auc", "trend_p")]
    return [
        Finding(f"{stage}.auc", value=area.value, low=area.low, high=area.high, n=tested.n),
        Finding(
            f"{stage}.trend_p", value=tested.p_value, p_value=tested.p_value, n=tested.n, verdict=verdict, unit=unit
        ),
    ]


def gain_finding(metric: str, gain: Area | None, n: int) -> Finding:
    """How much better than ours an order is: shown only where the interval leaves 0 out."""
    if gain is None:
        return Finding(metric, n=n, verdict="not measured")
    verdict = "not shown" if gain.low <= 0 <= gain.high else "better" if gain.value > 0 else "worse"
    return Finding(metric, value=gain.value, low=gain.low, high=gain.high, n=n, verdict=verdict)


def area_finding(metric: str, area: Interval, n: int) -> Finding:
    """A value with its interval, or "not measured"."""
    if np.isnan(area.value):
        return Finding(metric, n=n, verdict="not measured")
    ends = (None, None) if np.isnan(area.low) else (area.low, area.high)
    return Finding(metric, value=area.value, low=ends[0], high=ends[1], n=n)


def tenth_findings(
    stage: str,
    scores: npt.NDArray[np.float64],
    ties: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    clusters: npt.NDArray[np.int64],
) -> list[Finding]:
    """The share that is right in the first and in the last tenth of an order: disjoint, unlike D1 and DN.

    >>> scores = np.arange(30.0)
    >>> findings = tenth_findings("a", scores, np.arange(30), (scores > 0).astype(np.int64), np.arange(30))
    >>> [(one.metric, round(one.value, 2), one.n) for one in findings]
    [('a.first_tenth', 1.0, 3), ('a.last_tenth', 0.67, 3)]
    """
    n = len(scores)
    tenth = max(1, round(n / 10))
    ends = {"first_tenth": np.arange(0), "last_tenth": np.arange(0)}
    if n:
        least, most = (np.partition(scores, place)[place] for place in (n - tenth, tenth - 1))
        ends["first_tenth"] = _ranked(np.flatnonzero(scores >= least), scores, ties)[:tenth]
        ends["last_tenth"] = _ranked(np.flatnonzero(scores <= most), scores, ties)[-tenth:]
    return [share_by(f"{stage}.{name}", right[end], clusters[end]) for name, end in ends.items()]


def _ranked(
    among: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], ties: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """These samples, the easiest first."""
    return among[np.lexsort((ties[among], -scores[among]))]
