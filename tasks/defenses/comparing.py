"""The findings on defences: what each leaves right, clean and attacked, beside the undefended model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.infra.seeds import Seeds
from assay.tasks.attacks.worst import WORST
from assay.tasks.defenses.answers import CLEAN, Answers, by_label
from assay.tasks.statistics.classification import accuracy, answer_name, one_answer
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.paired import Difference, bootstrap_difference, compared_shares, mean_difference_by_cluster
from assay.tasks.statistics.proportions import unvaried

NONE = "none"
"""What findings call the undefended model where they would name a defence."""


def accuracy_findings(answers: Sequence[Answers], defence: str, subject: str, classes: Sequence[str]) -> list[Finding]:
    """`defense.accuracy` of one model: on clean samples, and at every ε under the worst case (or the only attack).

    The verdict says where a model answers (almost) everything alike: such a model withstands every attack, and knows
    nothing.
    """
    findings = []
    for group_answers in deciding(answers):
        alone = one_answer(group_answers.predicted, group_answers.truth, len(classes))
        verdict = ""
        if alone.verdict == "degenerate":
            verdict = f"degenerate: {alone.share.value:.1%} of samples are called {answer_name(alone.answer, classes)}"
        about = About("defense", defence, group_answers.group, subject)
        findings.append(
            about.finding(
                "accuracy",
                accuracy(group_answers.predicted, group_answers.truth, group_answers.groups),
                verdict=verdict,
            )
        )
    return findings


def comparison_findings(
    original: Sequence[Answers],
    defended: Sequence[Answers],
    defence: str,
    subject: str,
    *,
    telling: str,
    significance: float,
    seeds: Seeds,
) -> list[Finding]:
    """`defense.gain` wherever both models answered, and the tests that are concluded from: `defense.mcnemar_p`.

    A gain is the accuracy of the defended model minus that of the original, with Newcombe's paired interval (of several
    labels a bootstrap over the samples) and McNemar's p beside it. Concluded are two of them per defence, fixed before
    anything is seen, so that the family that Holm corrects stays small: clean samples, and the worst case (or the only
    attack) at the `telling` ε.
    """
    before, findings = by_label(original), []
    concluded = {one.label for one in deciding(original) if one.group in (CLEAN, telling)}
    for after in defended:
        if after.label not in before:
            continue
        paired = compared(before[after.label], after, seeds.generator(f"{subject}/{defence}/{after.label}"))
        if paired is None:
            continue
        gain, p = paired
        about = Finding("defense.gain", of=defence, group=after.label, subject=subject, n=gain.n, p_value=p)
        findings.append(replace(about, value=gain.value, low=gain.low, high=gain.high, unit="share"))
        if after.label in concluded:
            verdict = not_shown(significance) if p > significance else "better" if gain.value > 0 else "worse"
            findings.append(replace(about, metric="defense.mcnemar_p", value=p, verdict=verdict, unit="p"))
    return findings


def deciding(answers: Sequence[Answers]) -> list[Answers]:
    """Those answers that robustness is read from: clean ones, and the worst case, or the first attack there is."""
    attacks = list(dict.fromkeys(one.attack for one in answers if one.attack))
    decides = WORST if WORST in attacks else next(iter(attacks), "")
    return [one for one in answers if one.attack in ("", decides)]


def compared(
    before: Answers, after: Answers, generator: np.random.Generator | None = None
) -> tuple[Difference, float] | None:
    """The gain in accuracy, and McNemar's exact p; None where no sample's truth is known.

    With several labels per image a sample counts for the model that has more of its labels right, since the labels of
    one image are not independent of each other: with one label that is McNemar's test, with several the sign test. Only
    there the interval is a bootstrap's, for which a `generator` is needed; where all samples gain alike, `unvaried`.
    """
    if not np.array_equal(before.ids, after.ids):
        raise ValueError("only answers to the same samples can be compared")
    first, second = before.right(), after.right()
    known = ~np.isnan(first)
    if not known.any():
        return None
    first, second = first[known], second[known]
    groups = None if before.groups is None else before.groups[known]
    if before.truth.ndim == 1:
        return compared_shares(second, first, groups)
    p = compared_shares(second > first, first > second, groups)[1]
    assert generator is not None
    if groups is None:
        gain, units = bootstrap_difference(second, first, generator), len(first)
    else:
        gain = mean_difference_by_cluster(second, first, groups, generator)
        units = len(np.unique(groups))
    if gain.low < gain.high:
        return gain, p
    low, high = unvaried(gain.value, units)
    return replace(gain, low=low, high=high), p
