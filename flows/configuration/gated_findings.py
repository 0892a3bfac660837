"""Which findings each stage can measure: a gate on any other would fail every night, so it is refused at the door."""

from __future__ import annotations

from collections.abc import Mapping

from assay.flows.configuration.mistakes import suggestion
from assay.tasks.attacks import metrics as attacks
from assay.tasks.attacks.terms import metrics as terms
from assay.tasks.corruptions import metrics as corruptions
from assay.tasks.defenses import metrics as defenses
from assay.tasks.diagnostics import metrics as diagnostics
from assay.tasks.labeling import metrics as labeling
from assay.tasks.ordering import metrics as ordering
from assay.tasks.overfitting import metrics as overfitting
from assay.tasks.pruning import metrics as pruning
from assay.tasks.statistics.metrics import Metric
from assay.tasks.subjects import metrics as subjects
from assay.tasks.trust import metrics as trust
from assay.tasks.weak_labels import metrics as weak_labels

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for room in (labeling, pruning, weak_labels, ordering, subjects, attacks, terms, corruptions, defenses, diagnostics,
                 trust, overfitting)
    for metric in room.METRICS
}  # fmt: skip
"""What the rooms can measure, by `stage.metric`; a test reads their code for any that is missing here."""


def unknown_metric(finding: str) -> str:
    """What is wrong with the `stage.metric` that a gate names, and what was probably meant; empty where it exists.

    >>> unknown_metric("attack.acuracy"), unknown_metric("attack.accuracy")
    ('no stage measures attack.acuracy; did you mean attack.accuracy?', '')
    """
    stage = finding.partition(".")[0]
    known = sorted(name for name in METRICS if name.partition(".")[0] == stage)
    if not known or finding in METRICS:
        return ""
    return f"no stage measures {finding}; {suggestion(finding, known)}"
