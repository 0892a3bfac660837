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

Codes = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EVERY_KIND = "every kind"
"""In place of a kind: a prediction counts as right that is right under every kind of noise at that severity."""


@dataclass(frozen=True)
class Answered:
    """What a subject says of the same texts with one kind of noise at one severity, in the order of the samples."""

    condition: Condition
    said: Codes  # [n]
    changed: Bools  # [n]: whether the noise changed the text at all


def answers_under_noise(noisy: pa.Table, said: pa.Table, samples: pa.Table) -> list[Answered]:
    """The predictions on noisy texts, brought into the order of the samples under every kind and severity."""
    if not noisy["id"].equals(said["id"]):
        raise RunError("The predictions are not those of these noisy texts, row by row; run again with --fresh.")
    codes = said["predicted"].to_numpy().astype(np.int64)
    changes = pc.greater(pc.list_value_length(noisy[NEWS]), 0).to_numpy()
    ids = samples["id"].combine_chunks()
    found = []
    for condition in conditions_of(noisy):
        rows = np.flatnonzero(rows_under(noisy, condition).to_numpy(zero_copy_only=False))
        order = pc.index_in(noisy[ORIGINAL].take(pa.array(rows)).combine_chunks(), value_set=ids).to_numpy()
        sorted_rows = rows[np.argsort(order)]
        if len(sorted_rows) != len(ids):
            raise RunError(f"There are {len(sorted_rows)} texts with {condition.group} and {len(ids)} samples.")
        found.append(Answered(condition, codes[sorted_rows], changes[sorted_rows]))
    return found


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
    found: list[Finding] = []
    last = max((one.condition.severity for one in noisy), default=0)
    for one in noisy:
        about = About("attack", called, one.condition.group, subject)
        right = one.said == truth
        found += [
            about.finding("accuracy", accuracy(one.said, truth, groups)),
            about.finding("flip_rate", fooling_rate(clean, one.said, groups)),
            about.finding("unchanged", proportion(~one.changed, groups=groups)),
        ]
        found += _change(about, right, clean, truth, one.condition.severity == last, significance, groups)
    severities = sorted({one.condition.severity for one in noisy})
    for severity in severities if len({one.condition.kind for one in noisy}) > 1 else ():
        right = np.all([one.said == truth for one in noisy if one.condition.severity == severity], axis=0)
        about = About("attack", called, group_of(EVERY_KIND, severity), subject)
        found.append(about.finding("accuracy", proportion(right, truth >= 0, groups=groups)))
        found += _change(about, right, clean, truth, severity == last, significance, groups)
    worst = extreme_share([(one.said == truth, truth >= 0) for one in noisy], "lowest", groups)
    if worst is not None:
        place, share = worst
        about = About("attack", called, subject=subject)
        found.append(about.finding("worst_accuracy", share, verdict=noisy[place].condition.group))
    return found


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
    one = Finding(
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
        return [one]
    verdict = not_shown(significance) if p > significance else "worse" if change.value < 0 else "better"
    test = replace(one, metric="attack.mcnemar_p", value=p, low=None, high=None, unit="p", verdict=verdict)
    return [one, test]
