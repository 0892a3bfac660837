"""How right a subject is on every slice, on the worst of them, and on what the search confirms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.tasks.slices.searching import WorseSlice, worst_slices
from assay.tasks.slices.settings import Slices
from assay.tasks.statistics.classification import Groups, proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.extremes import extreme_share
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import OWN_LEVEL, adjusted, not_shown

Columns = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Judged:
    """What a subject has right of the samples of a known class [n], their values by column, and their groups."""

    right: npt.NDArray[np.bool_]
    columns: Columns
    groups: Groups = None


def slice_findings(judged: Judged, subject: str) -> list[Finding]:
    """`slices.accuracy` of every value (`of` the column, the value is the group), and `slices.worst_accuracy`.

    The worst is named in its verdict, and its interval holds for all of them at once.
    """
    named = [
        (column, value)
        for column, values in judged.columns.items()
        for value in sorted({one for one in values if one is not None})
    ]
    inside = [np.array([one == value for one in judged.columns[column]], dtype=np.bool_) for column, value in named]
    findings = [
        About("slices", column, value, subject).finding(
            "accuracy", proportion(judged.right, where, groups=judged.groups)
        )
        for (column, value), where in zip(named, inside, strict=True)
    ]
    worst = extreme_share([(judged.right, where) for where in inside], "lowest", judged.groups)
    if worst is None:
        return findings
    place, share = worst
    verdict = " = ".join(named[place])
    return [*findings, About("slices", "", subject=subject).finding("worst_accuracy", share, verdict=verdict)]


def search(judged: Judged, settings: Slices, generator: np.random.Generator) -> list[WorseSlice]:
    """The slices that one half of the samples shows to be worse, as the other half has them."""
    clusters = np.arange(len(judged.right)) if judged.groups is None else judged.groups
    return worst_slices(judged.right, judged.columns, clusters, generator, deepest=settings.deepest, most=settings.most)


def confirmed_findings(by_subject: Mapping[str, Sequence[WorseSlice]], significance: float) -> list[Finding]:
    """Per subject and slice `slices.worse_p` (Holm over all slices of all subjects that went to the second half), with
    `slices.confirmed_accuracy` and `slices.rest_accuracy` on that half."""
    every = [(subject, worse) for subject, slices in by_subject.items() for worse in slices]
    corrected = adjusted([worse.p_value for _, worse in every])
    findings = []
    for (subject, worse), p in zip(every, corrected, strict=True):
        about = Finding("slices.worse_p", of=worse.name, subject=subject, n=worse.n)
        verdict = "worse" if p <= significance else not_shown(significance)
        findings.append(replace(about, value=p, p_value=p, verdict=verdict, unit=OWN_LEVEL))
        share = replace(about, metric="slices.confirmed_accuracy", value=worse.right, low=worse.low, high=worse.high)
        findings.append(replace(share, unit="share"))
        findings.append(replace(about, metric="slices.rest_accuracy", value=worse.rest, n=worse.others, unit="share"))
    return findings
