"""Is a subject less often right at the hard end of the order, and do its own scores know better where it is wrong?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.calibration import brier, calibration_error
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import CONCLUDED
from assay.tasks.statistics.order_findings import area_finding, gain_finding, tenth_findings, trend_findings
from assay.tasks.statistics.order_trend import area_difference, order_test, ranked_area
from assay.tasks.statistics.selective import risk_area_interval

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answered:
    """Samples of the order's test with what a subject says of each: one row per sample everywhere."""

    scores: Floats  # of the order: θ_L
    ties: Codes
    label: Codes
    gold: Codes  # -1 where unknown
    clusters: Codes
    predicted: Codes
    probabilities: Floats | None  # [n, k]

    def truth(self, yardstick: str) -> Codes:
        """The class that the yardstick says is right: the weak label's, or the true one."""
        return self.label if yardstick == "weak" else self.gold


def judge(answered: Answered, subject: str, significance: float, generator: np.random.Generator) -> list[Finding]:
    """The findings of one subject, `of` the yardstick; with probabilities and gold, its own scores as orders as well.

    `subject.auc` with the group `confidence` or `margin` says how well that score tells where the subject is wrong,
    `subject.auc_gain` how much better than our order of the same samples.
    """
    findings: list[Finding] = []
    for yardstick in ("weak", "gold"):
        known = answered.truth(yardstick) >= 0
        right = (answered.truth(yardstick) == answered.predicted)[known].astype(np.int64)
        scores, clusters = answered.scores[known], answered.clusters[known]
        tested = order_test(scores, right, clusters)
        rows = trend_findings("subject", tested, significance, CONCLUDED)
        if tested.area is not None:
            rows += tenth_findings("subject", scores, answered.ties[known], right, clusters)
            rows.append(area_finding("subject.aurc", risk_area_interval(scores, right, clusters), tested.n))
        findings += [replace(finding, of=yardstick) for finding in rows]
    findings += _own_scores(answered, generator)
    return [replace(finding, subject=subject) for finding in findings]


def _own_scores(answered: Answered, generator: np.random.Generator) -> list[Finding]:
    """How well the subject's confidence and margin tell where it is wrong by gold, and whether they are chances."""
    known = answered.gold >= 0
    if answered.probabilities is None or not known.any():
        return []
    chances, clusters = answered.probabilities[known], answered.clusters[known]
    right = (answered.gold == answered.predicted)[known].astype(np.int64)
    orders = {name: scores[known] for name, scores in own_orders(answered).items()}
    findings = []
    if 0 < right.sum() < len(right):
        groups = int(clusters.max()) + 1
        ours = ranked_area(answered.scores[known], right, clusters, groups)
        for name, scores in orders.items():
            tested = order_test(scores, right, clusters)
            rows = [replace(one, verdict="") for one in trend_findings("subject", tested, 1.0, "")[:1]]
            gain = area_difference(ranked_area(scores, right, clusters, groups), ours) if tested.area else None
            risk = area_finding("subject.aurc", risk_area_interval(scores, right, clusters), len(right))
            rows += [gain_finding("subject.auc_gain", gain, len(right)), risk]
            findings += [replace(one, of="gold", group=name) for one in rows]
    measured = {
        "subject.ece": calibration_error(np.clip(orders["confidence"], 0, 1), right, clusters, generator),
        "subject.brier": brier(chances, answered.gold[known], clusters, generator),
    }
    return findings + [replace(area_finding(name, one, len(right)), of="gold") for name, one in measured.items()]


def own_orders(answered: Answered) -> dict[str, Floats]:
    """How sure the subject is of each sample: its largest probability, and how far that is above the next."""
    if answered.probabilities is None:
        return {}
    ranked = np.sort(answered.probabilities, axis=1)
    return {"confidence": ranked[:, -1], "margin": ranked[:, -1] - ranked[:, -2]}
