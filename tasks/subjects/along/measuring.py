"""How right a subject is along the order, under each circumstance: on every stratum, on every D_i, and the trend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_findings import trend_findings
from assay.tasks.statistics.order_trend import order_test
from assay.tasks.subjects.along.circumstances import CLEAN, WEAK, Circumstance, OrderedSamples

ACCURACY = "along.accuracy"


def along_findings(
    ordered: OrderedSamples,
    circumstances: Iterable[Circumstance],
    *,
    subject: str,
    datasets: int,
    significance: float,
    concluded: bool,
    only_decided: bool,
) -> list[Finding]:
    """The findings of one model: of what (`clean`, an attack, …), with the ε or severity and the stratum as the group.

    A run concludes from the answers to clean samples (`concluded`: of a subject, not of its defended copies); what is
    done to them is compared with that, in a family of tests of its own.
    """
    findings: list[Finding] = []
    for circumstance in circumstances:
        if len(circumstance.places):
            findings += _shares(ordered, circumstance, datasets)
        unit = CONCLUDED if concluded and circumstance.of in (CLEAN, WEAK) else COMPARED
        findings += _trend(ordered, circumstance, significance, unit, only_decided)
    return [replace(finding, subject=subject) for finding in findings]


def group_of(circumstance: str, cut: str) -> str:
    """The group of a finding: the circumstance's own, and the stratum or data set.

    >>> group_of("eps=0.1", "stratum 2"), group_of("", "D3")
    ('eps=0.1, stratum 2', 'D3')
    """
    return ", ".join(part for part in (circumstance, cut) if part)


def _shares(ordered: OrderedSamples, circumstance: Circumstance, datasets: int) -> list[Finding]:
    """Accuracy on every D_i and on every stratum that holds audited samples of known truth."""
    stratum, clusters = ordered.stratum[circumstance.places], ordered.clusters[circumstance.places]
    cuts = [(f"D{i}", stratum <= i) for i in range(1, datasets + 1)]
    cuts += [(f"stratum {i}", stratum == i) for i in range(1, datasets + 1)]
    return [
        share_by(
            ACCURACY,
            circumstance.right[here],
            clusters[here],
            of=circumstance.of,
            group=group_of(circumstance.group, cut),
        )
        for cut, here in cuts
        if here.any()
    ]


def _trend(
    ordered: OrderedSamples, circumstance: Circumstance, significance: float, unit: str, only_decided: bool
) -> list[Finding]:
    """Whether right answers gather at the easy end: `along.auc` and `along.trend_p`."""
    kept = ordered.decided[circumstance.places] if only_decided else slice(None)
    places, right = circumstance.places[kept], circumstance.right[kept]
    tested = order_test(ordered.scores[places], right, ordered.clusters[places])
    return [
        replace(finding, of=circumstance.of, group=circumstance.group, verdict=_of_answers(finding.verdict))
        for finding in trend_findings("along", tested, significance, unit)
    ]


def _of_answers(verdict: str) -> str:
    """Why nothing was tested, of a subject's answers rather than of labels.

    >>> _of_answers("not measured: no label is wrong")
    'not measured: no answer is wrong'
    """
    return verdict.replace("no label is", "no answer is")
