"""Which of several defences is best: what it leaves right, and every two of them on the same attacked samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from assay.tasks.defenses.answers import Answers
from assay.tasks.statistics.classification import one_answer
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.extremes import extreme_share
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, not_shown
from assay.tasks.statistics.paired import compared_shares


def between_findings(answers: Mapping[str, Answers], subject: str, significance: float) -> list[Finding]:
    """`defense.between_p` of every two defences, `of` as in `mpadvt - standard`: McNemar's exact test, and its verdict.

    `answers` are those of each defended model to the same attacked samples. All pairs are a family of their own for
    Holm, so that it does not matter which of them is asked about once the accuracies were seen. Of several labels it is
    the sign test over the samples. Defences that were not attacked alike (an attack on one of them broke) are not
    compared.
    """
    findings = []
    for first, second in combinations(answers, 2):
        if answers[first].label != answers[second].label or not np.array_equal(answers[first].ids, answers[second].ids):
            continue
        ours, theirs = answers[first].right(), answers[second].right()
        known = ~np.isnan(ours)
        if not known.any():
            continue
        ours, theirs = ours[known], theirs[known]
        groups = answers[first].groups
        p = compared_shares(ours > theirs, theirs > ours, None if groups is None else groups[known])[1]
        verdict = not_shown(significance) if p > significance else "better" if ours.mean() > theirs.mean() else "worse"
        about = Finding("defense.between_p", of=f"{first} - {second}", group=answers[first].label, subject=subject)
        findings.append(replace(about, n=len(ours), value=p, p_value=p, verdict=verdict, unit=COMPARED))
    return findings


def best_findings(answers: Mapping[str, Answers], subject: str, classes: int) -> list[Finding]:
    """`defense.best_accuracy`: what the best defence leaves right, its name the verdict, with an interval that holds
    for whichever of them had come out best. Of those that met the same attack on the same samples as the first one, and
    do not always say the same."""
    sound = {
        name: one
        for name, one in answers.items()
        if one_answer(one.predicted, one.truth, classes).verdict != "degenerate"
    }
    first = next(iter(sound.values()), None)
    if first is None:
        return []
    met = {name: one for name, one in sound.items() if one.label == first.label and np.array_equal(one.ids, first.ids)}
    best = extreme_share(
        [(one.predicted == one.truth, one.truth >= 0) for one in met.values()], "highest", first.groups
    )
    if best is None:
        return []
    place, share = best
    return [About("defense", "", first.group, subject).finding("best_accuracy", share, verdict=list(met)[place])]
