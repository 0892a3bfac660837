"""Whether labels get worse along an order, sample by sample, and which of two orders tells right from wrong better."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.approaches import OURS
from assay.tasks.ordering.calibrated import Calibrated
from assay.tasks.ordering.cluster_sums import AREA, OURS_AREA, SHARES, ClusterSums
from assay.tasks.ordering.judged import Judged
from assay.tasks.ordering.sort_keys import Integers
from assay.tasks.statistics.calibration import gap_interval
from assay.tasks.statistics.clusters import counted_share
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_findings import area_finding, gain_finding, trend_findings
from assay.tasks.statistics.order_trend import (
    Area,
    OrderTest,
    area_from,
    cluster_variance,
    difference_from,
    influence,
    joint_influence,
    trend_from,
    why_not_tested,
)
from assay.tasks.statistics.resampling import Interval, bca_interval, ratio_of
from assay.tasks.statistics.selective import share_interval

_SHARE_NAMES = dict(zip(SHARES, ("first_tenth", "last_tenth", "accuracy_undecided"), strict=True))


def judgement(judged: Judged, significance: float, approach: str, labeler: str) -> list[Finding]:
    """What is concluded of one order, each `of` the approach, its `group` the labeler.

    `ordering.trend_p` is the two-sided p of the fall, `ordering.auc` its size: how often a right label outranks a wrong
    one. Beside them the first and the last tenth, the undecided samples, the area under the risk-coverage curve, and
    how much better than ours the order tells right from wrong.
    """
    tested, is_ours = order_test_of(judged), approach == OURS.name
    risk = share_interval(judged.risk, judged.risk_without)
    found = [
        *trend_findings("ordering", tested, significance, CONCLUDED if is_ours else COMPARED),
        *(share_finding("ordering", judged.sums, name) for name in SHARES),
        area_finding("ordering.aurc", risk, tested.n),
    ]
    if not is_ours:
        found.append(gain_finding("ordering.auc_gain", difference(judged), tested.n))
    return [replace(finding, of=approach, group=labeler) for finding in found]


def calibration(counted: Calibrated, labeler: str, generator: np.random.Generator) -> list[Finding]:
    """Whether the labeler's confidence is the chance that its label is right: calibration error and Brier's score."""
    n = int(counted.samples.sum())
    if not n:
        return [Finding(f"weak_labels.{name}", n=0, verdict="not measured", group=labeler) for name in ("ece", "brier")]
    measured = {
        "weak_labels.ece": error_of(counted, generator),
        "weak_labels.brier": mean_of(counted.squares, counted.samples.sum(axis=1), generator),
    }
    return [replace(area_finding(metric, found, n), group=labeler) for metric, found in measured.items()]


def error_of(counted: Calibrated, generator: np.random.Generator) -> Interval:
    """The calibration error of what was counted, over resampled pools."""
    return gap_interval(counted.right - counted.confidence, counted.samples.sum(axis=1).astype(np.float64), generator)


def mean_of(sums: npt.NDArray[np.float64], sizes: Integers, generator: np.random.Generator) -> Interval:
    """The mean of what adds up to these sums by pool, over resampled pools."""
    return bca_interval(ratio_of(sums, sizes.astype(np.float64)), len(sizes), generator)


def order_test_of(judged: Judged) -> OrderTest:
    """The test of the order: `order_test`, from what was counted by cluster."""
    sums, clusters = judged.sums.sums, judged.sums.clusters
    won, lost, groups = sums["right"], sums["wrong"], clusters["tested"]
    n = won + lost
    why_not = why_not_tested(n, won, groups, judged.one_score[0])
    if why_not:
        return OrderTest(n, won, groups, silent=why_not)
    total = n * sums["weighted"] - won * sums["ranked"]
    trend = trend_from(total, judged.sums.squared(("weighted", "ranked"), (n, -won)), groups)
    weights, denominator = influence(sums["doubled"], won, lost)
    variance = cluster_variance(judged.sums.squared(AREA, weights), denominator, groups)
    pairs = min(clusters["right"], clusters["wrong"])
    area = area_from(Fraction(sums["doubled"], 2 * won * lost), variance, groups, pairs)
    return OrderTest(n, won, groups, trend.t, trend.p_value, area)


def difference(judged: Judged) -> Area | None:
    """The order's area less ours, paired by cluster; None where one of them has none."""
    sums, clusters = judged.sums.sums, judged.sums.clusters
    areas, shares = [], []
    for ours, one_score in zip(("", "ours "), judged.one_score, strict=True):
        doubled, won, lost = (sums[f"{ours}{name}"] for name in ("doubled", "right", "wrong"))
        if why_not_tested(won + lost, won, clusters[f"{ours}tested"], one_score):
            return None
        areas.append(Fraction(doubled, 2 * won * lost))
        shares.append(influence(doubled, won, lost))
    weights, denominator = joint_influence(*shares)
    groups = max(clusters["tested"], clusters["ours tested"])
    variance = cluster_variance(judged.sums.squared((*AREA, *OURS_AREA), weights), denominator, groups)
    return difference_from(areas[0] - areas[1], variance, groups)


def share_finding(stage: str, sums: ClusterSums, name: str) -> Finding:
    """`STAGE.first_tenth` and its like: the share that is right of these samples."""
    n, won = sums.sums[name], sums.sums[f"{name} right"]
    squares = sums.squared((f"{name} right", name), (n, -won))
    return counted_share(f"{stage}.{_SHARE_NAMES[name]}", n, won, squares, sums.clusters[name])
