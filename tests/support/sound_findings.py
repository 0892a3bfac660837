"""What no finding may be, whatever was measured: a number that is none, an interval without its value, a share beyond
all or nothing, an interval of no width around what was drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from assay.flows.audits.table import KINDS
from assay.flows.kind import AuditKind
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.metrics import metric_named

_SLACK = 1e-9
"""What rounding may leave of a number."""
_KNOWN = ("subject.prediction_entropy", "attack.prediction_entropy")
"""By the delta method: of answers that are spread evenly it comes to no width."""
_OTHER_ENDS = ("ordering.spearman_tie_free", "overfitting.p_value")
"""Their ends say what ties, or repetitions, come to: not where the truth lies."""
_MAY_BE_ALIKE = (
    *("attack.distance", "attack.distance_l2", "attack.changed_pixels", "attack.steps", "attack.queries"),
    "regression.interval_width",
)
"""Amounts that an attack or a model is set to: as far as ε, as many steps as it has, ends that are as far apart."""
_OF_THE_SAME = ("hardness.association", "hardness.auc_gain", "regression.noise_rise")
"""What compares two measures, or two answers: where they are the same in all samples, nothing is left to vary."""
_APART = ("gain", "difference", "change", "above_constant", "above_chance")
"""A share less another: from -1 to 1."""


def unsound(findings: Iterable[Finding], kinds: Iterable[AuditKind[Any]] = KINDS) -> list[str]:
    """A sentence for each finding of these kinds of audit that cannot be true.

    >>> unsound([Finding("subject.accuracy", value=0.9, low=0.8, high=0.95)])
    []
    >>> unsound([Finding("subject.accuracy", value=0.9, low=0.95, high=1.01)])[0].partition(" of ")[0]
    'its interval leaves 0.9 out, 1.01 is no share: subject.accuracy'
    """
    metrics = [metric for kind in kinds for metric in kind.metrics]
    told = ((finding, [*_faults(finding, metric_named(metrics, finding.metric).in_percent)]) for finding in findings)
    return [f"{', '.join(faults)}: {finding.metric} of {finding}" for finding, faults in told if faults]


def _faults(finding: Finding, in_percent: bool) -> Iterator[str]:
    value, low, high = finding.value, finding.low, finding.high
    numbers = {"value": value, "low": low, "high": high, "p": finding.p_value, "corrected p": finding.p_adjusted}
    yield from (f"{name} is {number}" for name, number in numbers.items() if number is not None and math.isnan(number))
    p, corrected = (_ends(number) for number in (finding.p_value, finding.p_adjusted))
    yield from (f"a p of {number}" for number in (*p, *corrected) if not 0 <= number <= 1 + _SLACK)
    if p and corrected and corrected[0] < p[0] - _SLACK:
        yield "the corrected p is smaller"
    if finding.n is not None and finding.n < 0:
        yield f"of {finding.n} samples"
    if (low is None) != (high is None) or (value is None and low is not None):
        yield "an interval of one end, or of no value"
    if value is None or low is None or high is None:
        ends = _ends(value)
    else:
        ends = [value, low, high]
        if finding.metric not in _OTHER_ENDS and not low - _SLACK <= value <= high + _SLACK:
            yield f"its interval leaves {value} out"
        if high - low < _SLACK and finding.metric not in (*_KNOWN, *_OTHER_ENDS, *_MAY_BE_ALIKE, *_OF_THE_SAME):
            yield "its interval has no width"
    if in_percent:
        least = -1 if finding.metric.endswith(_APART) or "_gain" in finding.metric else 0
        yield from (f"{end} is no share" for end in ends if not least - _SLACK <= end <= 1 + _SLACK)


def _ends(number: float | None) -> list[float]:
    return [] if number is None or math.isnan(number) else [number]
