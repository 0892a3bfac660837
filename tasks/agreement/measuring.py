"""Agreement as findings, from the labels of annotators in columns of words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assay.tasks.agreement.alpha import alpha_interval, label_counts
from assay.tasks.statistics.classification import Groups, proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding

_SEED = 0  # the same resamples for the same labels
Codes = npt.NDArray[np.int64]


def agreement_findings(labels: Mapping[str, Codes], gold: Codes, classes: int, groups: Groups = None) -> list[Finding]:
    """`annotators.alpha` of all and (`of`) of every pair, `.labelled` and `.with_gold` of each annotator.

    `labels` are codes by annotator [n], −1 where there is none; `gold` likewise.

    >>> findings = agreement_findings({"a": np.array([0, 1, 0]), "b": np.array([0, 1, -1])}, np.array([0, 1, 1]), 2)
    >>> [(one.metric, one.of, one.value and round(one.value, 2)) for one in findings][:3]
    [('annotators.alpha', '', 1.0), ('annotators.labelled', 'a', 1.0), ('annotators.with_gold', 'a', 0.67)]
    """
    findings = [_alpha(labels, "", classes)]
    for name, codes in labels.items():
        about = About("annotators", name)
        findings.append(about.finding("labelled", proportion(codes >= 0, groups=groups)))
        known = (codes >= 0) & (gold >= 0)
        findings.append(about.finding("with_gold", proportion(codes == gold, known, groups=groups)))
    pairs = combinations(labels, 2) if len(labels) > 2 else ()
    findings += [_alpha({one: labels[one] for one in pair}, " - ".join(pair), classes) for pair in pairs]
    return findings


def _alpha(labels: Mapping[str, Codes], of: str, classes: int) -> Finding:
    counts = label_counts(np.column_stack(list(labels.values())), classes)
    n = int((counts.sum(axis=1) > 1).sum())
    alpha = alpha_interval(counts, np.random.default_rng(_SEED))
    if alpha is None:
        return Finding("annotators.alpha", of=of, n=n, verdict="not measured", unit="α")
    low, high = (None if np.isnan(end) else float(end) for end in (alpha.low, alpha.high))
    return Finding("annotators.alpha", of=of, value=alpha.value, low=low, high=high, n=n, unit="α")
