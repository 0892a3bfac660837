"""Whether labels get worse along an order, sample by sample, and which of two orders tells right from wrong better."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.approaches import OURS
from assay.tasks.ordering.validity import RIGHT, UNKNOWN
from assay.tasks.statistics.calibration import brier, calibration_error
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_findings import area_finding, gain_finding, tenth_findings, trend_findings
from assay.tasks.statistics.order_trend import Area, OrderTest, area_difference, order_test, ranked_area
from assay.tasks.statistics.selective import risk_area_interval

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """Samples with the score of an order, what is known of their label, their cluster, and if they are in its test."""

    scores: npt.NDArray[np.float64]
    outcomes: npt.NDArray[np.int8]  # RIGHT, WRONG or UNKNOWN
    confidence: npt.NDArray[np.float64]
    undecided: Bools
    ties: npt.NDArray[np.int64]
    clusters: npt.NDArray[np.int64]  # codes, the same in every order of these samples
    apart: bool = True
    """Whether undecided samples are left out of the test: their label is the default, and nobody is confident of it."""

    @property
    def tested(self) -> Bools:
        """The samples that the test is about: those with a true label and, where they stand apart, a decided one."""
        known: Bools = self.outcomes != UNKNOWN
        return known & ~self.undecided if self.apart else known

    @property
    def right(self) -> npt.NDArray[np.int64]:
        """1 where a tested sample's label is right, else 0."""
        return np.asarray(self.outcomes[self.tested] == RIGHT, dtype=np.int64)

    def test(self) -> OrderTest:
        """The test of the order."""
        return order_test(self.scores[self.tested], self.right, self.clusters[self.tested])


def judgement(
    order: Scored, ours: Scored, significance: float, approach: str, labeler: str, generator: np.random.Generator
) -> list[Finding]:
    """What is concluded of one order, each `of` the approach, its `group` the labeler.

    `ordering.trend_p` is the two-sided p of the fall, `ordering.auc` its size: how often a right label outranks a wrong
    one. Beside them the first and the last tenth, the undecided samples, the area under the risk-coverage curve, and
    how much better than ours the order tells right from wrong; of ours, whether the confidence is a chance.
    """
    tested, kept, is_ours = order.test(), order.tested, approach == OURS.name
    other = order.undecided & (order.outcomes != UNKNOWN)
    found = [
        *trend_findings("ordering", tested, significance, CONCLUDED if is_ours else COMPARED),
        *tenth_findings("ordering", order.scores[kept], order.ties[kept], order.right, order.clusters[kept]),
        share_by("ordering.accuracy_undecided", order.outcomes[other] == RIGHT, order.clusters[other]),
        area_finding(
            "ordering.aurc", risk_area_interval(order.scores[kept], order.right, order.clusters[kept]), tested.n
        ),
    ]
    if not is_ours:
        found.append(gain_finding("ordering.auc_gain", difference(order, ours), tested.n))
    found = [replace(one, of=approach, group=labeler) for one in found]
    return [*found, *_calibration(order, labeler, generator)] if is_ours else found


def difference(order: Scored, ours: Scored) -> Area | None:
    """The order's area less ours, paired by cluster; None where one of them has none."""
    if order.test().area is None or ours.test().area is None:
        return None
    groups = int(max(order.clusters.max(), ours.clusters.max())) + 1
    first, second = (
        ranked_area(one.scores[one.tested], one.right, one.clusters[one.tested], groups) for one in (order, ours)
    )
    return area_difference(first, second)


def _calibration(order: Scored, labeler: str, generator: np.random.Generator) -> list[Finding]:
    """Whether the labeler's confidence is the chance that its label is right: calibration error and Brier's score."""
    known = order.outcomes != UNKNOWN
    right, clusters = order.outcomes[known] == RIGHT, order.clusters[known]
    confidence = np.clip(order.confidence[known], 0, 1)
    measured = {
        "weak_labels.ece": calibration_error(confidence, right, clusters, generator),
        "weak_labels.brier": brier(confidence[:, None], np.where(right, 0, 1), clusters, generator),
    }
    return [replace(area_finding(metric, one, len(right)), group=labeler) for metric, one in measured.items()]
