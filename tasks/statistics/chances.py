"""Whether a classifier's probabilities are chances, and how well they tell where it is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.calibration import brier, calibration_error
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.order_findings import area_finding
from assay.tasks.statistics.selective import risk_area_interval

_SEED = 0  # the same resamples for every subject: what is measured twice is the same twice


def chance_findings(
    about: About, probabilities: npt.NDArray[np.float64], truth: npt.NDArray[np.integer], groups: Groups = None
) -> list[Finding]:
    """`STAGE.ece`, `STAGE.brier` and `STAGE.aurc` of the confidence in the most probable class; none of several labels
    at once, and none without truth.

    >>> chances = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> findings = chance_findings(About("subject", "clean"), chances, np.array([0, 1, 1]))
    >>> [(one.metric, round(one.value, 3)) for one in findings]
    [('subject.ece', 0.3), ('subject.brier', 0.273), ('subject.aurc', 0.111)]
    """
    known = truth >= 0 if truth.ndim == 1 else np.zeros(len(truth), dtype=np.bool_)
    if not known.any():
        return []
    chances, codes = probabilities[known], truth[known]
    clusters = np.arange(len(codes)) if groups is None else groups[known]
    confidence, right = np.clip(chances.max(axis=1), 0, 1), (chances.argmax(axis=1) == codes).astype(np.int64)
    generator = np.random.default_rng(_SEED)
    measured = {
        "ece": calibration_error(confidence, right, clusters, generator),
        "brier": brier(chances, codes, clusters, generator),
        "aurc": risk_area_interval(confidence, right, clusters),
    }
    findings = [area_finding(f"{about.stage}.{name}", one, len(codes)) for name, one in measured.items()]
    return [replace(one, of=about.of, group=about.group, subject=about.subject) for one in findings]
