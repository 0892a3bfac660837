"""The findings on noise: what is still right, what flips, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import RunError
from assay.tasks.attacks.noise.rows import NEWS, ORIGINAL, Condition, conditions_of, group_of, rows_under
from assay.tasks.statistics.classification import Groups, accuracy, fooling_rate, proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.extremes import extreme_share
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.paired import compared_shares
from assay.tasks.subjects.predictions import require_same_samples

Codes = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EVERY_KIND = "every kind"
"""In place of a kind: a prediction counts as right that is right under every kind of noise at that severity."""


@dataclass(frozen=True)
class Answered:
    """What a subject says of the same texts with one kind of noise at one severity, in the order of the samples."""

    condition: Condition
    predicted: Codes  # [n]
    changed: Bools  # [n]: whether the noise changed the text at all


def answers_under_noise(noisy: pa.Table, predictions: pa.Table, samples: pa.Table) -> list[Answered]:
    """The predictions on noisy texts, brought into the order of the samples under every kind and severity."""
    require_same_samples(predictions, noisy, "the subject")
    codes = predictions["predicted"].to_numpy().astype(np.int64)
    changes = pc.greater(pc.list_value_length(noisy[NEWS]), 0).to_numpy()
    ids = samples["id"].combine_chunks()
    answers = []
    for condition in conditions_of(noisy):
        rows = np.flatnonzero(rows_under(noisy, condition).to_numpy(zero_copy_only=False))
        order = pc.index_in(noisy[ORIGINAL].take(pa.array(rows)).combine_chunks(), value_set=ids).to_numpy()
        sorted_rows = rows[np.argsort(order)]
        if len(sorted_rows) != len(ids):
            raise RunError(f"There are {len(sorted_rows)} texts with {condition.group} and {len(ids)} samples.")
        answers.append(Answered(condition, codes[sorted_rows], changes[sorted_rows]))
    return answers


def noise_findings(
    noisy: Sequence[Answered],
    clean: Codes,
    truth: Codes,
    *,
    subject: str,
    called: str,
    significance: float,
    groups: Groups = None,
) -> list[Finding]:
    """Per kind and severity `attack.accuracy`, `attack.flip_rate`, `attack.unchanged` and `attack.accuracy_change`.

    The change is paired, the same texts with and without noise, with Newcombe's interval and McNemar's p beside it. A
    conclusion (`attack.mcnemar_p`) is drawn once per kind, at the highest severity, so that the family of tests which
    Holm corrects stays small. Of several kinds together (`every kind`) a prediction is right that is right under each.
    `attack.worst_accuracy` is that of the kind and severity that its verdict names, with an interval that allows for
    its having been named after looking.
    """
    findings: list[Finding] = []
    last = max((answered.condition.severity for answered in noisy), default=0)
    for answered in noisy:
        about = About("attack", called, answered.condition.group, subject)
        right = answered.predicted == truth
        findings += [
            about.finding("accuracy", accuracy(answered.predicted, truth, groups)),
            about.finding("flip_rate", fooling_rate(clean, answered.predicted, groups)),
            about.finding("unchanged", proportion(~answered.changed, groups=groups)),
        ]
        findings += _change(about, right, clean, truth, answered.condition.severity == last, significance, groups)
    severities = sorted({answered.condition.severity for answered in noisy})
    for severity in severities if len({answered.condition.kind for answered in noisy}) > 1 else ():
        right = np.all(
            [answered.predicted == truth for answered in noisy if answered.condition.severity == severity], axis=0
        )
        about = About("attack", called, group_of(EVERY_KIND, severity), subject)
        findings.append(about.finding("accuracy", proportion(right, truth >= 0, groups=groups)))
        findings += _change(about, right, clean, truth, severity == last, significance, groups)
    worst = extreme_share([(answered.predicted == truth, truth >= 0) for answered in noisy], "lowest", groups)
    if worst is not None:
        place, share = worst
        about = About("attack", called, subject=subject)
        findings.append(about.finding("worst_accuracy", share, verdict=noisy[place].condition.group))
    return findings


def _change(
    about: About,
    right: Bools,
    clean: Codes,
    truth: Codes,
    concluded: bool,
    significance: float,
    groups: Groups,
) -> list[Finding]:
    """The paired change in accuracy, and McNemar's test of it; nothing where no class is known."""
    known = truth >= 0
    if not known.any():
        return []
    before, after = (clean == truth)[known], right[known]
    change, p = compared_shares(after, before, None if groups is None else groups[known])
    finding = Finding(
        "attack.accuracy_change",
        of=about.of,
        group=about.group,
        subject=about.subject,
        n=change.n,
        value=change.value,
        low=change.low,
        high=change.high,
        p_value=p,
        unit="share",
    )
    if not concluded:
        return [finding]
    verdict = not_shown(significance) if p > significance else "worse" if change.value < 0 else "better"
    test = replace(finding, metric="attack.mcnemar_p", value=p, low=None, high=None, unit="p", verdict=verdict)
    return [finding, test]
