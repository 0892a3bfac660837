"""As `judging`, of more samples than one place should hold: counted by ranges of the order on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Clusters, Intervals, Predictions, Samples
from assay.infra.artifacts import Artifact
from assay.infra.partitions import Columns, reduce_partitions
from assay.tasks.ordering.calibrated import calibrated_by_ranges, halves, joined
from assay.tasks.ordering.judged import Judged, judged_by_ranges
from assay.tasks.ordering.judging import difference, error_of, mean_of, order_test_of, share_finding
from assay.tasks.ordering.known import Known
from assay.tasks.ordering.pools import Pools, pools_of
from assay.tasks.ordering.sort_keys import Integers, keys_of
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import CONCLUDED
from assay.tasks.statistics.order_findings import area_finding, gain_finding, trend_findings
from assay.tasks.statistics.selective import share_interval
from assay.tasks.subjects.tables.judging import Answered, own_orders

OURS = "lower"


@dataclass(frozen=True)
class KnownAnswers:
    """The samples on which a subject is known to be right or wrong by a yardstick, along these scores: θ_L, or the
    subject's own. Undecided ones are left out where they stand apart."""

    yardstick: str
    scores: tuple[str, ...]
    apart: bool

    def __call__(self, *tables: pa.Table) -> list[Known]:
        """Those of a partition."""
        answered = answered_in(tables, self.apart)
        truth = answered.truth(self.yardstick)
        rows = np.flatnonzero(truth >= 0)
        right = (truth == answered.predicted)[rows]
        scores = {OURS: answered.scores, **own_orders(answered)}
        return [
            Known(keys_of(scores[name][rows], answered.ties[rows]), answered.clusters[rows], right, np.ones_like(right))
            for name in self.scores
        ]


def judge_by_ranges(
    predictions: Artifact[Predictions],
    intervals: Artifact[Intervals],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    apart: bool,
    significance: float,
    generator: np.random.Generator,
) -> list[Finding]:
    """The findings of `judge` without the subject's name, of tables with the same rows in the same partitions."""
    inputs = [
        Columns(intervals, (OURS, "tie_break", "label", "undecided")),
        Columns(predictions, ("predicted", "probabilities")),
        Columns(samples, ("gold",)),
        Columns(clusters, ("cluster",)),
    ]
    pools, findings = pools_of(clusters), list[Finding]()
    for yardstick in ("weak", "gold"):
        judged = judged_by_ranges(inputs, KnownAnswers(yardstick, (OURS,), apart), pools, yardstick)
        tested = order_test_of(judged)
        rows = trend_findings("subject", tested, significance, CONCLUDED)
        if tested.area is not None:
            rows += [share_finding("subject", judged.sums, name) for name in ("first", "last")]
            rows.append(_risk(judged, tested.n))
        findings += [replace(finding, of=yardstick) for finding in rows]
    if reduce_partitions(lacks_probabilities, inputs[1]):
        return findings
    return findings + _own_scores(inputs, apart, pools, generator)


def _own_scores(inputs: list[Columns], apart: bool, pools: Pools, generator: np.random.Generator) -> list[Finding]:
    findings: list[Finding] = []
    for name in ("confidence", "margin"):
        judged = judged_by_ranges(inputs, KnownAnswers("gold", (name, OURS), apart), pools, name)
        won, lost = judged.sums.sums["right"], judged.sums.sums["wrong"]
        if won and lost:
            tested = order_test_of(judged)
            rows = [replace(one, verdict="") for one in trend_findings("subject", tested, 1.0, "")[:1]]
            gain = difference(judged) if tested.area else None
            rows += [gain_finding("subject.auc_gain", gain, won + lost), _risk(judged, won + lost)]
            findings += [replace(one, of="gold", group=name) for one in rows]
    known = KnownAnswers("gold", ("confidence",), apart)
    counted = calibrated_by_ranges(inputs, known, pools)
    squares = reduce_partitions(squares_in, *inputs, apart=apart, pools=pools)
    there = squares[:, 0] > 0
    if not there.any():
        return findings
    sums = 2 * joined(squares[there, 1], squares[there, 2])
    measured = {
        "subject.ece": error_of(counted, generator),
        "subject.brier": mean_of(sums, squares[there, 0], generator),
    }
    n = int(squares[:, 0].sum())
    return findings + [replace(area_finding(name, one, n), of="gold") for name, one in measured.items()]


def lacks_probabilities(predictions: pa.Table) -> int:
    """How many samples of a partition have no probabilities."""
    return int(predictions["probabilities"].null_count)


def squares_in(*tables: pa.Table, apart: bool, pools: Pools) -> Integers:
    """Of a partition, [pools, 3]: the samples whose class is known, and the sum of Σ_c (p_c − y_c)²/2 in two halves."""
    answered = answered_in(tables, apart)
    rows = np.flatnonzero(answered.gold >= 0)
    counted = np.zeros((pools.count, 3), dtype=np.int64)
    if not len(rows) or answered.probabilities is None:
        return counted
    chances = answered.probabilities[rows]
    there = answered.gold[rows][:, None] == np.arange(chances.shape[1])
    lost = np.clip(((chances - there) ** 2).sum(axis=1) / 2, 0, 1)
    where = pools.of(answered.clusters[rows])
    for at, column in enumerate((np.ones(len(rows), dtype=np.int64), *halves(lost))):
        np.add.at(counted[:, at], where, column)
    return counted


def answered_in(tables: Sequence[pa.Table], apart: bool) -> Answered:
    """The samples of a partition beside what the subject says of each."""
    intervals, predictions, samples, clusters = tables
    kept = ~intervals["undecided"].to_numpy() if apart else np.ones(intervals.num_rows, dtype=np.bool_)
    chances = probabilities_in(predictions)
    return Answered(
        intervals[OURS].to_numpy()[kept],
        intervals["tie_break"].to_numpy()[kept],
        intervals["label"].to_numpy().astype(np.int64)[kept],
        samples["gold"].fill_null(-1).to_numpy().astype(np.int64)[kept],
        clusters["cluster"].to_numpy()[kept],
        predictions["predicted"].to_numpy().astype(np.int64)[kept],
        None if chances is None else chances[kept],
    )


def probabilities_in(predictions: pa.Table) -> npt.NDArray[np.float64] | None:
    """The probability of every class, [n, k]; None where a subject gives none."""
    column = predictions["probabilities"].combine_chunks()
    if not predictions.num_rows or column.null_count:
        return None
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(predictions.num_rows, -1)


def _risk(judged: Judged, n: int) -> Finding:
    return area_finding("subject.aurc", share_interval(judged.risk, judged.risk_without), n)
