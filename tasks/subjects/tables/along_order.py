"""How a subject of columns fares on D1…DN, and whether its own scores know better where it is wrong.

A robust model's agreement with the weak labels falls along the order, because the labels themselves get worse: that
is why accuracy by gold is measured beside it wherever gold exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Codes, Floats, Integers
from assay.data.schemas import Clusters, Intervals, Predictions, Samples
from assay.infra.stages.partitions import Columns, reduce_partitions
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.datasets import keys_of
from assay.tasks.ordering.order_test import (
    Counting,
    OrderCounts,
    chance_findings,
    count_orders,
    halves,
    joined,
    order_test_of,
    risk_finding,
    share_finding,
)
from assay.tasks.ordering.ranges import LabelledSamples, Pools, pools_of
from assay.tasks.statistics.clusters import counted_share
from assay.tasks.statistics.correlation import permutation_p
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import CONCLUDED
from assay.tasks.statistics.order_test import area_difference, area_interval, gain_finding, trend_findings
from assay.tasks.subjects.predictions import probabilities_of

Counts = npt.NDArray[np.int64]  # [G, N], one per group and stratum: the samples that D_i adds to D_{i−1}
YARDSTICKS = ("weak", "gold")


def count_agreement(*tables: pa.Table, datasets: int, classes: int, pools: Pools) -> dict[str, Counts | int]:
    """Of predictions, curated samples and, where these stand in groups, their clusters, by group and stratum: the
    curated samples with a label of each yardstick that the other tables have, too, and on how many the subject is
    right; the same of every class by gold, [G, k]; and how many samples are in all tables, `found`."""
    predictions, curated, *clusters = tables
    for beside in (predictions, *clusters):
        curated = curated.filter(pc.is_in(curated["id"], value_set=beside["id"].combine_chunks()))
    at = pc.index_in(curated["id"], value_set=predictions["id"].combine_chunks())
    predicted, stratum = predictions["predicted"].take(at).to_numpy(), curated["dataset"].to_numpy() - 1
    groups, where = 1, np.zeros(curated.num_rows, np.int64)
    for table in clusters:
        of_sample = pc.index_in(curated["id"], value_set=table["id"].combine_chunks())
        groups, where = pools.count, pools.of(table["cluster"].take(of_sample).to_numpy())

    def counted(cells: npt.NDArray[np.integer], chosen: npt.NDArray[np.bool_], kinds: int) -> Counts:
        of_group = where[chosen] * kinds + cells[chosen]
        return np.bincount(of_group, minlength=groups * kinds).astype(np.int64).reshape(groups, kinds)

    counts: dict[str, Counts | int] = {"found": curated.num_rows}
    for yardstick, column in zip(YARDSTICKS, ("label", "gold"), strict=True):
        truth = pc.fill_null(curated[column], -1).to_numpy()
        known = truth >= 0
        right = known & (truth == predicted)
        counts[f"{yardstick}_n"] = counted(stratum, known, datasets)
        counts[f"{yardstick}_hits"] = counted(stratum, right, datasets)
        if yardstick == "gold":
            counts["class_n"], counts["class_hits"] = counted(truth, known, classes), counted(truth, right, classes)
    return counts


def count_predictions(predictions: pa.Table, *, classes: int) -> dict[str, Integers]:
    """How often the subject says each class, as `said` [k]."""
    return {"said": np.bincount(predictions["predicted"].to_numpy(), minlength=classes).astype(np.int64)}


def agreement_findings(
    counts: Mapping[str, Counts], *, subject: str, permutations: int, generator: np.random.Generator, grouped: bool
) -> list[Finding]:
    """Accuracy on every D_i and on every stratum, by both yardsticks, and the trend with its permutation test.

    Without gold labels, what gold would say is there as "not measured".
    """
    findings = []
    for yardstick in YARDSTICKS:
        hits, n = counts[f"{yardstick}_hits"], counts[f"{yardstick}_n"]
        about = Finding("", yardstick, subject=subject)
        findings += _accuracies(hits, n, about, grouped)
        findings += _trend(hits.sum(axis=0), n.sum(axis=0), about, permutations, generator)
    return findings


def degenerate_finding(counts: Integers, classes: Sequence[str], *, subject: str) -> Finding:
    """The share of the class that the subject says most, and a red flag where it says nothing else."""
    total, most = int(counts.sum()), int(counts.argmax())
    constant = total > 0 and int(counts[most]) == total
    verdict = f"degenerate: every sample is called {classes[most]}" if constant else "varied"
    about = Finding("subject.degenerate", subject=subject, n=total, unit="share", verdict="not measured")
    return replace(about, value=int(counts[most]) / total, verdict=verdict) if total else about


def _accuracies(hits: Counts, n: Counts, about: Finding, grouped: bool) -> list[Finding]:
    cuts = {"D": (np.cumsum(hits, axis=1), np.cumsum(n, axis=1)), "stratum ": (hits, n)}
    shares = [
        (f"{cut}{number}", counted_share("subject.accuracy", right, known, grouped))
        for cut, counted in cuts.items()
        for number, (right, known) in enumerate(zip(*(each.T for each in counted), strict=True), start=1)
    ]
    return [replace(share, of=about.of, group=group, subject=about.subject) for group, share in shares]


def _trend(
    hits: Integers, n: Integers, about: Finding, permutations: int, generator: np.random.Generator
) -> list[Finding]:
    """ρ of accuracy along D1…DN, and how rare so low a ρ is among random orders: described, nothing is concluded."""
    total = int(n.sum())
    test = permutation_p(hits, n, permutations, generator) if total else None
    rho, p = (replace(about, metric=f"subject.{name}", n=total) for name in ("spearman", "permutation_p"))
    if test is None:
        return [replace(untested, verdict="not measured") for untested in (rho, p)]
    return [replace(rho, value=test.rho), replace(p, value=test.p_adverse, unit="p")]


@dataclass(frozen=True)
class Answered:
    """Samples of a partition with what a subject says of each: one row per sample everywhere."""

    scores: Floats  # of the order: θ_L
    ties: Codes
    label: Codes
    gold: Codes  # -1 where unknown
    clusters: Codes  # what is independent: groups, else single samples
    patterns: Codes | None  # patterns of votes; none where samples stand in groups
    predicted: Codes
    probabilities: Floats | None  # [n, k]

    def along(self, yardstick: str, score: str) -> LabelledSamples:
        """The samples on which the subject is known to be right or wrong by weak labels or gold, by θ_L, or by how sure
        it is: its largest probability, or how far (`margin`) that is above the next."""
        truth, scores = self.label if yardstick == "weak" else self.gold, self.scores
        if score != OURS and self.probabilities is not None:
            ranked = np.sort(self.probabilities, axis=1)
            scores = ranked[:, -1] - ranked[:, -2] if score == "margin" else ranked[:, -1]
        rows = np.flatnonzero(truth >= 0)
        right = (truth == self.predicted)[rows]
        patterns = np.zeros_like(rows) if self.patterns is None else self.patterns[rows]
        keys = keys_of(scores[rows], self.ties[rows])
        return LabelledSamples(keys, self.clusters[rows], right, np.ones_like(right), patterns)


OURS = "lower"


@dataclass(frozen=True)
class KnownAnswers:
    """The samples on which a subject is known to be right or wrong, in orders by a yardstick and a score each: θ_L, or
    the subject's own. Undecided ones are left out where they stand apart."""

    orders: tuple[tuple[str, str], ...]
    apart: bool

    def __call__(self, *tables: pa.Table) -> list[LabelledSamples]:
        """Those of a partition."""
        answered = answered_in(tables, self.apart)
        return [answered.along(yardstick, score) for yardstick, score in self.orders]


def order_findings(
    predictions: Artifact[Predictions],
    intervals: Artifact[Intervals],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    *,
    apart: bool,
    significance: float,
    generator: np.random.Generator,
) -> list[Finding]:
    """The findings of one subject, `of` the yardstick; with probabilities and gold, its own scores as orders as well.
    The tables have the same rows.

    `subject.auc` with the group `confidence` or `margin` says how well that score tells where the subject is wrong,
    `subject.auc_gain` how much better than our order of the same samples. Of two classes the margin says what the
    confidence does, and is left out.
    """
    inputs = [
        Columns(intervals, (OURS, "tie_break", "label", "undecided")),
        Columns(predictions, ("predicted", "probabilities")),
        Columns(samples, ("gold",)),
        Columns(clusters, ("cluster", "pattern")),
    ]
    pools = pools_of(clusters)
    chances = reduce_partitions(chances_in, *inputs, apart=apart, pools=pools)
    least, most = min(chances["classes"], default=0), max(chances["classes"], default=0)
    own = ["confidence", "margin"][: 0 if not least else 1 if most < 3 else 2]
    orders = (*((yardstick, OURS) for yardstick in YARDSTICKS), *(("gold", name) for name in own))
    counting = Counting(pools, whole=len(orders), confidence=len(YARDSTICKS) if own else None)
    counted = count_orders(inputs, KnownAnswers(orders, apart), counting)
    findings: list[Finding] = []
    for yardstick, counts in zip(YARDSTICKS, counted, strict=False):
        tested = order_test_of(counts, generator)
        rows = trend_findings("subject", tested, significance, CONCLUDED)
        if tested.area is not None:
            rows += [share_finding("subject", counts, name) for name in ("first", "last")]
            rows.append(risk_finding("subject", counts))
        findings += [replace(finding, of=yardstick) for finding in rows]
    gold, *by_own = counted[1:]
    if not own or not gold.area.n:
        return findings
    for name, counts in zip(own, by_own, strict=True):
        findings += [replace(finding, of="gold", group=name) for finding in _own_order(counts, gold)]
    return findings + _as_chances(by_own[0], chances["squares"], generator)


def _own_order(counts: OrderCounts, ours: OrderCounts) -> list[Finding]:
    """How well a score of the subject's own tells where it is wrong, and how much better than our order does."""
    area = counts.area
    if not (area.right.any() and area.wrong.any()):
        return []
    own = Finding("subject.auc", n=area.n).estimated(area_interval(area))
    gain = gain_finding("subject.auc_gain", area_difference(area, ours.area), area.n)
    return [own, gain, risk_finding("subject", counts)]


def _as_chances(confidence: OrderCounts, squares: Integers, generator: np.random.Generator) -> list[Finding]:
    """Whether the subject's probabilities are chances."""
    assert confidence.calibration is not None
    there = squares[squares[:, 0] > 0]
    lost = 2 * joined(there[:, 1], there[:, 2])
    findings = chance_findings("subject", confidence.calibration, lost, there[:, 0], generator)
    return [replace(finding, of="gold") for finding in findings]


def chances_in(*tables: pa.Table, apart: bool, pools: Pools) -> dict[str, object]:
    """Of a partition: of how many `classes` its samples have probabilities, 0 where they have none; and `squares`
    [pools, 3], how many samples have a known class, and the sum of Σ_c (p_c − y_c)²/2 in two halves."""
    lengths = pc.unique(pc.fill_null(pc.list_value_length(tables[1]["probabilities"]), 0)).to_pylist()
    answered, counted = answered_in(tables, apart), np.zeros((pools.count, 3), dtype=np.int64)
    rows = np.flatnonzero(answered.gold >= 0)
    if len(rows) and answered.probabilities is not None:
        chances = answered.probabilities[rows]
        there = answered.gold[rows][:, None] == np.arange(chances.shape[1])
        lost = np.clip(((chances - there) ** 2).sum(axis=1) / 2, 0, 1)
        where = pools.of(answered.clusters[rows])
        for at, column in enumerate((np.ones(len(rows), dtype=np.int64), *halves(lost))):
            np.add.at(counted[:, at], where, column)
    return {"classes": frozenset(lengths), "squares": counted}


def answered_in(tables: Sequence[pa.Table], apart: bool) -> Answered:
    """The samples of a partition beside what the subject says of each."""
    intervals, predictions, samples, clusters = tables
    kept = ~intervals["undecided"].to_numpy() if apart else np.ones(intervals.num_rows, dtype=np.bool_)
    silent = not predictions.num_rows or predictions["probabilities"].null_count > 0
    return Answered(
        intervals[OURS].to_numpy()[kept],
        intervals["tie_break"].to_numpy()[kept],
        intervals["label"].to_numpy().astype(np.int64)[kept],
        samples["gold"].fill_null(-1).to_numpy().astype(np.int64)[kept],
        clusters["cluster"].to_numpy()[kept],
        None if clusters["pattern"].null_count else clusters["pattern"].to_numpy()[kept],
        predictions["predicted"].to_numpy().astype(np.int64)[kept],
        None if silent else probabilities_of(predictions, -1)[kept],
    )
