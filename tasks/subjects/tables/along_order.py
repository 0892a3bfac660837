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

from assay.data.schemas import Clusters, Intervals, Predictions, Samples
from assay.infra.errors import RunError
from assay.infra.stages.partitions import Columns, reduce_partitions
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.clusters import Pools, pools_of
from assay.tasks.ordering.datasets import Integers, keys_of
from assay.tasks.ordering.order_test import (
    OrderCounts,
    count_calibration,
    count_order,
    halves,
    joined,
    mean_over_pools,
    order_calibration_error,
    order_test_of,
    share_finding,
)
from assay.tasks.ordering.ranges import LabelledSamples
from assay.tasks.statistics.calibration import (
    CalibrationError,
    brier,
    calibration_error,
    error_findings,
    risk_area_interval,
    share_interval,
)
from assay.tasks.statistics.correlation import permutation_p
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import CONCLUDED
from assay.tasks.statistics.order_test import (
    AreaSums,
    area_difference,
    area_finding,
    area_interval,
    area_sums,
    gain_finding,
    order_test,
    tenth_findings,
    trend_findings,
)
from assay.tasks.statistics.proportions import share
from assay.tasks.statistics.resampling import Interval

Counts = npt.NDArray[np.int64]  # [N], one per stratum: the samples that D_i adds to D_{i−1}
YARDSTICKS = ("weak", "gold")


def count_agreement(predictions: pa.Table, curated: pa.Table, *, datasets: int, classes: int) -> dict[str, Counts]:
    """Per stratum: the curated samples with a label of each yardstick, and on how many of them the subject is right;
    the same of every class by gold, [k]."""
    at = pc.index_in(curated["id"], value_set=predictions["id"].combine_chunks())
    if at.null_count:
        sample = curated["id"].filter(pc.is_null(at))[0].as_py()
        raise RunError(f"The sample {sample!r} is in the curated data sets, but the subject has not predicted it.")
    predicted = predictions["predicted"].take(at).to_numpy()
    stratum = curated["dataset"].to_numpy() - 1
    counts = {}
    for yardstick, column in zip(YARDSTICKS, ("label", "gold"), strict=True):
        truth = pc.fill_null(curated[column], -1).to_numpy()
        known = truth >= 0
        counts[f"{yardstick}_n"] = _per_stratum(stratum[known], datasets)
        counts[f"{yardstick}_hits"] = _per_stratum(stratum[known & (truth == predicted)], datasets)
        if yardstick == "gold":
            counts["class_n"] = np.bincount(truth[known], minlength=classes).astype(np.int64)
            counts["class_hits"] = np.bincount(truth[known & (truth == predicted)], minlength=classes).astype(np.int64)
    return counts


def count_beside(predictions: pa.Table, curated: pa.Table, *, datasets: int, classes: int) -> dict[str, Counts | int]:
    """As `count_agreement`, of the curated samples that are among these predictions; and how many they are, `found`."""
    there = curated.filter(pc.is_in(curated["id"], value_set=predictions["id"].combine_chunks()))
    return {**count_agreement(predictions, there, datasets=datasets, classes=classes), "found": there.num_rows}


def count_predictions(predictions: pa.Table, *, classes: int) -> dict[str, Counts]:
    """How often the subject says each class, as `said` [k]."""
    return {"said": np.bincount(predictions["predicted"].to_numpy(), minlength=classes).astype(np.int64)}


def agreement_findings(
    counts: Mapping[str, Counts], *, subject: str, permutations: int, generator: np.random.Generator
) -> list[Finding]:
    """Accuracy on every D_i and on every stratum, by both yardsticks, and the trend with its permutation test.

    Without gold labels, what gold would say is there as "not measured".
    """
    findings = []
    for yardstick in YARDSTICKS:
        hits, n = counts[f"{yardstick}_hits"], counts[f"{yardstick}_n"]
        findings += _accuracies(hits, n, yardstick, subject)
        findings += _trend(hits, n, yardstick, subject, permutations, generator)
    return findings


def degenerate_finding(counts: Counts, classes: Sequence[str], *, subject: str) -> Finding:
    """The share of the class that the subject says most, and a red flag where it says nothing else."""
    total, most = int(counts.sum()), int(counts.argmax())
    constant = total > 0 and int(counts[most]) == total
    verdict = f"degenerate: every sample is called {classes[most]}" if constant else "varied"
    return Finding(
        "subject.degenerate",
        subject=subject,
        value=int(counts[most]) / total if total else None,
        n=total,
        verdict=verdict if total else "not measured",
        unit="share",
    )


def _accuracies(hits: Counts, n: Counts, yardstick: str, subject: str) -> list[Finding]:
    cuts = {"D": (np.cumsum(hits), np.cumsum(n)), "stratum ": (hits, n)}
    return [
        share("subject.accuracy", int(right), int(known), of=yardstick, group=f"{cut}{number}", subject=subject)
        for cut, counted in cuts.items()
        for number, (right, known) in enumerate(zip(*counted, strict=True), start=1)
    ]


def _trend(
    hits: Counts, n: Counts, yardstick: str, subject: str, permutations: int, generator: np.random.Generator
) -> list[Finding]:
    """ρ of accuracy along D1…DN, and how rare so low a ρ is among random orders: described, nothing is concluded."""
    total = int(n.sum())
    test = permutation_p(hits, n, permutations, generator) if total else None
    return [
        Finding(
            f"subject.{metric}",
            yardstick,
            subject=subject,
            value=getattr(test, value, None),
            n=total,
            verdict="" if test else "not measured",
            unit=unit if test else "",
        )
        for metric, value, unit in (("spearman", "rho", ""), ("permutation_p", "p_adverse", "p"))
    ]


def _per_stratum(stratum: npt.NDArray[np.int32], datasets: int) -> Counts:
    return np.bincount(stratum, minlength=datasets).astype(np.int64)


Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answered:
    """Samples of the order's test with what a subject says of each: one row per sample everywhere."""

    scores: Floats  # of the order: θ_L
    ties: Codes
    label: Codes
    gold: Codes  # -1 where unknown
    clusters: Codes  # what is independent: groups, else single samples
    patterns: Codes | None  # patterns of votes; none where samples stand in groups
    predicted: Codes
    probabilities: Floats | None  # [n, k]

    def truth(self, yardstick: str) -> Codes:
        """The class that the yardstick says is right: the weak label's, or the true one."""
        return self.label if yardstick == "weak" else self.gold


def order_findings(
    answered: Answered, subject: str, significance: float, generator: np.random.Generator
) -> list[Finding]:
    """The findings of one subject, `of` the yardstick; with probabilities and gold, its own scores as orders as well.

    `subject.auc` with the group `confidence` or `margin` says how well that score tells where the subject is wrong,
    `subject.auc_gain` how much better than our order of the same samples.
    """
    findings: list[Finding] = []
    for yardstick in ("weak", "gold"):
        known = answered.truth(yardstick) >= 0
        right = (answered.truth(yardstick) == answered.predicted)[known].astype(np.int64)
        scores, clusters = answered.scores[known], answered.clusters[known]
        patterns = None if answered.patterns is None else answered.patterns[known]
        tested = order_test(scores, right, patterns, clusters, generator)
        rows = trend_findings("subject", tested, significance, CONCLUDED)
        if tested.area is not None:
            rows += tenth_findings("subject", scores, answered.ties[known], right, clusters)
            rows.append(area_finding("subject.aurc", risk_area_interval(scores, right, clusters), tested.n))
        findings += [replace(finding, of=yardstick) for finding in rows]
    findings += _own_scores(answered, generator)
    return [replace(finding, subject=subject) for finding in findings]


def _own_scores(answered: Answered, generator: np.random.Generator) -> list[Finding]:
    """How well the subject's confidence and margin tell where it is wrong by gold, and whether they are chances."""
    known = answered.gold >= 0
    if answered.probabilities is None or not known.any():
        return []
    chances, clusters = answered.probabilities[known], answered.clusters[known]
    right = (answered.gold == answered.predicted)[known].astype(np.int64)
    orders = {name: scores[known] for name, scores in own_orders(answered).items()}
    findings = []
    if 0 < right.sum() < len(right):
        groups = int(clusters.max()) + 1
        ours = area_sums(answered.scores[known], right, clusters, groups)
        for name, scores in orders.items():
            sums = area_sums(scores, right, clusters, groups)
            risk = area_finding("subject.aurc", risk_area_interval(scores, right, clusters), len(right))
            findings += [replace(finding, of="gold", group=name) for finding in [*_own_areas(sums, ours), risk]]
    error = calibration_error(np.clip(orders["confidence"], 0, 1), right, clusters, generator)
    score = brier(chances, answered.gold[known], clusters, generator)
    return findings + _as_chances(error, score, len(right))


def _as_chances(error: CalibrationError, score: Interval, n: int) -> list[Finding]:
    """Whether the subject's probabilities are chances."""
    findings = [*error_findings(Finding("subject.ece", n=n), error), area_finding("subject.brier", score, n)]
    return [replace(finding, of="gold") for finding in findings]


def _own_areas(sums: AreaSums, ours: AreaSums) -> list[Finding]:
    """How well a score of the subject's own tells where it is wrong, and how much better than our order does."""
    area = Finding("subject.auc", n=sums.n).estimated(area_interval(sums))
    return [area, gain_finding("subject.auc_gain", area_difference(sums, ours), sums.n)]


def own_orders(answered: Answered) -> dict[str, Floats]:
    """How sure the subject is of each sample: its largest probability, and how far that is above the next. Of two
    classes the second says what the first does, and is left out."""
    if answered.probabilities is None:
        return {}
    ranked = np.sort(answered.probabilities, axis=1)
    margin = {"margin": ranked[:, -1] - ranked[:, -2]} if ranked.shape[1] > 2 else {}
    return {"confidence": ranked[:, -1], **margin}


OURS = "lower"


@dataclass(frozen=True)
class KnownAnswers:
    """The samples on which a subject is known to be right or wrong by a yardstick, along these scores: θ_L, or the
    subject's own. Undecided ones are left out where they stand apart."""

    yardstick: str
    scores: tuple[str, ...]
    apart: bool

    def __call__(self, *tables: pa.Table) -> list[LabelledSamples]:
        """Those of a partition."""
        answered = answered_in(tables, self.apart)
        truth = answered.truth(self.yardstick)
        rows = np.flatnonzero(truth >= 0)
        right = (truth == answered.predicted)[rows]
        scores = {OURS: answered.scores, **own_orders(answered)}
        return [
            LabelledSamples(
                keys_of(scores[name][rows], answered.ties[rows]),
                answered.clusters[rows],
                right,
                np.ones_like(right),
                np.zeros(len(rows), np.int64) if answered.patterns is None else answered.patterns[rows],
            )
            for name in self.scores
        ]


def order_findings_by_ranges(
    predictions: Artifact[Predictions],
    intervals: Artifact[Intervals],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    apart: bool,
    significance: float,
    generator: np.random.Generator,
) -> list[Finding]:
    """As `order_findings`, without the subject's name, of tables with the same rows in the same partitions."""
    inputs = [
        Columns(intervals, (OURS, "tie_break", "label", "undecided")),
        Columns(predictions, ("predicted", "probabilities")),
        Columns(samples, ("gold",)),
        Columns(clusters, ("cluster", "pattern")),
    ]
    pools, findings = pools_of(clusters), list[Finding]()
    for yardstick in ("weak", "gold"):
        judged = count_order(inputs, KnownAnswers(yardstick, (OURS,), apart), pools, yardstick)
        tested = order_test_of(judged, generator)
        rows = trend_findings("subject", tested, significance, CONCLUDED)
        if tested.area is not None:
            rows += [share_finding("subject", judged, name) for name in ("first", "last")]
            rows.append(_risk(judged, tested.n))
        findings += [replace(finding, of=yardstick) for finding in rows]
    classes = reduce_partitions(probabilities_given, inputs[1])["lengths"]
    if 0 in classes:
        return findings
    names = ("confidence",) if max(classes) < 3 else ("confidence", "margin")
    return findings + _own_scores_by_ranges(inputs, names, apart, pools, generator)


def _own_scores_by_ranges(
    inputs: list[Columns], names: Sequence[str], apart: bool, pools: Pools, generator: np.random.Generator
) -> list[Finding]:
    findings: list[Finding] = []
    for name in names:
        judged = count_order(inputs, KnownAnswers("gold", (name, OURS), apart), pools, name)
        own, ours = judged.areas
        if own.right.any() and own.wrong.any():
            rows = [*_own_areas(own, ours), _risk(judged, own.n)]
            findings += [replace(finding, of="gold", group=name) for finding in rows]
    known = KnownAnswers("gold", ("confidence",), apart)
    counted = count_calibration(inputs, known, pools)
    squares = reduce_partitions(squares_in, *inputs, apart=apart, pools=pools)
    there = squares[:, 0] > 0
    if not there.any():
        return findings
    sums = 2 * joined(squares[there, 1], squares[there, 2])
    error = order_calibration_error(counted, generator)
    score = mean_over_pools(sums, squares[there, 0], generator)
    return findings + _as_chances(error, score, int(squares[:, 0].sum()))


def probabilities_given(predictions: pa.Table) -> dict[str, frozenset[int]]:
    """Of how many classes the samples of a partition have probabilities: 0 where they have none."""
    return {
        "lengths": frozenset(pc.unique(pc.fill_null(pc.list_value_length(predictions["probabilities"]), 0)).to_pylist())
    }


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
        None if clusters["pattern"].null_count else clusters["pattern"].to_numpy()[kept],
        predictions["predicted"].to_numpy().astype(np.int64)[kept],
        None if chances is None else chances[kept],
    )


def probabilities_in(predictions: pa.Table) -> npt.NDArray[np.float64] | None:
    """The probability of every class, [n, k]; None where a subject gives none."""
    column = predictions["probabilities"].combine_chunks()
    if not predictions.num_rows or column.null_count:
        return None
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(predictions.num_rows, -1)


def _risk(judged: OrderCounts, n: int) -> Finding:
    return area_finding("subject.aurc", share_interval(judged.risk, judged.risk_without), n)
