"""Agreement as findings, from the labels of annotators as codes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from assay.tasks.agreement.alpha import alpha_interval, label_counts, several_labels
from assay.tasks.agreement.patterns import Codes, Labelled
from assay.tasks.statistics.classification import Bools, Proportion, proportion, proportion_of
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding

_SEED = 0  # the same resamples for the same labels


def agreement_findings(labelled: Labelled, classes: int) -> list[Finding]:
    """`annotators.alpha` of all and (`of`) of every pair, `.labelled` and `.with_gold` of each annotator.

    >>> labels = {"a": np.array([0, 1, 0]), "b": np.array([0, 1, -1])}
    >>> findings = agreement_findings(Labelled(labels, np.array([0, 1, 1])), 2)
    >>> [(one.metric, one.of, one.value and round(one.value, 2)) for one in findings][:3]
    [('annotators.alpha', '', 1.0), ('annotators.labelled', 'a', 1.0), ('annotators.with_gold', 'a', 0.67)]
    """
    labels, gold = labelled.labels, labelled.gold
    findings = [_alpha(list(labels.values()), labelled, "", classes)]
    for name, codes in labels.items():
        about, given = About("annotators", name), codes >= 0
        findings.append(about.finding("labelled", _share(given, np.ones_like(given), labelled)))
        findings.append(about.finding("with_gold", _share(codes == gold, given & (gold >= 0), labelled)))
    pairs = combinations(labels, 2) if len(labels) > 2 else ()
    findings += [_alpha([labels[one] for one in pair], labelled, " - ".join(pair), classes) for pair in pairs]
    return findings


def _share(hits: Bools, known: Bools, of: Labelled) -> Proportion:
    if of.times is None:
        return proportion(hits, known, groups=of.groups)
    return proportion_of((hits & known) * of.times, known * of.times, groups=of.groups)


def _alpha(labels: list[Codes], labelled: Labelled, of: str, classes: int) -> Finding:
    counts, times = label_counts(np.column_stack(labels), classes), labelled.times
    several = several_labels(counts)
    n = int(several.sum() if times is None else times[several].sum())
    alpha = alpha_interval(counts, np.random.default_rng(_SEED), times=times, groups=labelled.groups)
    if alpha is None:
        return Finding("annotators.alpha", of=of, n=n, verdict="not measured", unit="α")
    low, high = (None if np.isnan(end) else float(end) for end in (alpha.low, alpha.high))
    return Finding("annotators.alpha", of=of, value=alpha.value, low=low, high=high, n=n, unit="α")
