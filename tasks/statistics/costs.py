"""What errors cost where they do not cost the same: the expected cost per sample, and that of one constant answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.statistics.class_scores import mover
from assay.tasks.statistics.classification import Proportion
from assay.tasks.statistics.findings import Finding, distinct

_STAGES = ("subject", "attack", "corruption", "defense")


def cost_findings(findings: Sequence[Finding], miss: Mapping[str, float]) -> list[Finding]:
    """`STAGE.expected_cost` per sample, from the recalls of all classes and what a miss of each costs (1 where nothing
    is said), and `STAGE.constant_cost`, that of the cheapest constant answer, which its verdict names.

    >>> found = [Finding("subject.recall", "", "ham", "net", 0.9, 0.8, 1.0, 80)]
    >>> found.append(Finding("subject.recall", "", "spam", "net", 0.5, 0.3, 0.7, 20))
    >>> [(cost.metric, round(cost.value, 2), cost.verdict) for cost in cost_findings(found, {"spam": 10})]
    [('subject.expected_cost', 1.08, ''), ('subject.constant_cost', 0.8, 'spam')]
    """
    of_classes: dict[tuple[str, str, str, str], dict[str, Finding]] = {}
    for finding in findings:
        if finding.stage in _STAGES and finding.metric == f"{finding.stage}.recall" and finding.value is not None:
            place, _, name = finding.group.rpartition(", ")
            of_classes.setdefault((finding.stage, finding.of, place, finding.subject), {})[name] = finding
    names = distinct(name for recalls in of_classes.values() for name in recalls)
    unknown = [name for name in miss if names and name not in names]
    if unknown:
        raise InputError(f"`classes` names {unknown[0]!r}, and the classes of the samples are {', '.join(names)}.")
    return [cost for about, recalls in of_classes.items() for cost in _costs(about, recalls, miss)]


def _costs(
    about: tuple[str, str, str, str], recalls: Mapping[str, Finding], miss: Mapping[str, float]
) -> list[Finding]:
    stage, of, place, subject = about
    n = sum(recall.n or 0 for recall in recalls.values())
    weights = np.array([miss.get(name, 1.0) * (recall.n or 0) / n for name, recall in recalls.items()])
    missed = [
        Proportion(1 - (recall.value or 0.0), 1 - (recall.high or 0.0), 1 - (recall.low or 0.0), n)
        for recall in recalls.values()
    ]
    value, low, high = mover(weights, missed, np.eye(len(weights)))
    cost = Finding(f"{stage}.expected_cost", of, place, subject, value, max(0.0, low), high, n, unit="cost")
    always = int(weights.argmax())
    constant = float(weights.sum() - weights[always])
    named = replace(cost, metric=f"{stage}.constant_cost", low=None, high=None, verdict=list(recalls)[always])
    return [cost, replace(named, value=constant)]
