"""What a defence gains on every stratum, and whether it helps where samples are naturally hard or only where not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding, distinct
from assay.tasks.statistics.multiplicity import COMPARED, not_shown
from assay.tasks.statistics.order_trend import FEWEST_CLUSTERS, trend_of
from assay.tasks.statistics.paired import share_difference
from assay.tasks.subjects.along.circumstances import WEAK
from assay.tasks.subjects.along.measuring import group_of

GAIN, GAIN_TREND = "along.gain", "along.gain_trend_p"
EASY, HARD = "more where it is easy", "more where it is hard"


def gain_findings(
    before: pa.Table, after: pa.Table, *, copy: str, significance: float, only_decided: bool
) -> list[Finding]:
    """How much oftener a defended copy is right than its original, on the same samples: `along.gain` over all and on
    every stratum, and whether that grows along the order (`along.gain_trend_p`).

    Circumstances under which a sample is answered once are compared: clean, and under each attack that both met. The
    trend of the gains −1, 0 and 1 is the interaction of defence and order, tested by cluster.
    """
    findings: list[Finding] = []
    for of, group in _shared(before, after):
        paired = _paired(_only(before, of, group), _only(after, of, group))
        if paired.num_rows:
            findings += _gains(paired, of, group)
            findings.append(_trend(paired, of, group, significance, only_decided))
    return [replace(finding, subject=copy) for finding in findings]


def _shared(before: pa.Table, after: pa.Table) -> Iterator[tuple[str, str]]:
    """The circumstances that both answered, by gold, each sample once."""
    mine, theirs = (_answered_once(table) for table in (before, after))
    return (one for one in mine if one in theirs and one[0] != WEAK)


def _answered_once(answers: pa.Table) -> list[tuple[str, str]]:
    single = answers.filter(pc.equal(answers["times"], 1))
    several = answers.filter(pc.greater(answers["times"], 1))
    names = [
        distinct(zip(table["of"].to_pylist(), table["group"].to_pylist(), strict=True)) for table in (single, several)
    ]
    return [one for one in names[0] if one not in names[1]]


def _only(answers: pa.Table, of: str, group: str) -> pa.Table:
    return answers.filter(pc.and_(pc.equal(answers["of"], of), pc.equal(answers["group"], group)))


def _paired(before: pa.Table, after: pa.Table) -> pa.Table:
    """The samples that both answered, with `right` of the original and `defended` of the copy."""
    at = pc.index_in(before["id"], value_set=after["id"].combine_chunks())
    rows = before.append_column("defended", after["right"].take(at))
    return rows.filter(pc.is_valid(rows["defended"]))


def _gains(paired: pa.Table, of: str, group: str) -> list[Finding]:
    stratum, clusters = paired["stratum"].to_numpy(), codes_of(paired["cluster"].to_numpy())
    right, defended = paired["right"].to_numpy(), paired["defended"].to_numpy()
    cuts = [(group, np.ones(len(stratum), dtype=np.bool_))]
    cuts += [(group_of(group, f"stratum {one}"), stratum == one) for one in np.unique(stratum).tolist()]
    return [_gain(defended[here], right[here], clusters[here], of, name) for name, here in cuts]


def _gain(
    defended: npt.NDArray[np.int32], right: npt.NDArray[np.int32], clusters: npt.NDArray[np.int64], of: str, group: str
) -> Finding:
    gain = share_difference(defended, right, clusters=codes_of(clusters))
    return Finding(GAIN, of=of, group=group, value=gain.value, low=gain.low, high=gain.high, n=len(right))


def _trend(paired: pa.Table, of: str, group: str, significance: float, only_decided: bool) -> Finding:
    rows = paired.filter(paired["decided"]) if only_decided else paired
    gains = rows["defended"].to_numpy().astype(np.int64) - rows["right"].to_numpy().astype(np.int64)
    scores, clusters = rows["score"].to_numpy(), rows["cluster"].to_numpy()
    silent = _why_untested(scores, gains, clusters)
    if silent:
        return Finding(GAIN_TREND, of=of, group=group, n=len(gains), verdict=f"not measured: {silent}")
    trend = trend_of(scores, gains, clusters)
    shown = trend.p_value <= significance
    verdict = (EASY if trend.t > 0 else HARD) if shown else not_shown(significance)
    return Finding(
        GAIN_TREND,
        of=of,
        group=group,
        value=trend.p_value,
        p_value=trend.p_value,
        n=len(gains),
        verdict=verdict,
        unit=COMPARED,
    )


def _why_untested(
    scores: npt.NDArray[np.float64], gains: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]
) -> str:
    """Why the gains cannot be tested; empty where they can."""
    groups = len(np.unique(clusters))
    if groups < FEWEST_CLUSTERS:
        return f"{groups} independent groups, fewer than {FEWEST_CLUSTERS}"
    if (gains == gains[0]).all():
        return "the defence changes every answer alike"
    return "all samples have one score" if (scores == scores[0]).all() else ""
