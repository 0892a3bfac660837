"""Ordering as stages: intervals where the labels lie, one order over all samples, and what it is worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data import expectations
from assay.data.schemas import (
    Classes,
    Clusters,
    ContractResults,
    CuratedSets,
    Findings,
    Intervals,
    OrderingCurve,
    Panel,
    Samples,
    Votes,
    WeakLabels,
)
from assay.infra.errors import InputError
from assay.infra.stages.partitions import Columns, Reuse, collect, columns_in, map_partitions, reduce_partitions
from assay.infra.stages.shuffle import Received
from assay.infra.stages.stage import say, stage, stage_seeds, waiting, write_table
from assay.infra.stages.steps import on_workers
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering import sorting
from assay.tasks.ordering.datasets import dataset_of_rank
from assay.tasks.ordering.intervals import interval_table
from assay.tasks.ordering.order_test import Counting, calibration_findings, count_orders, order_test_findings
from assay.tasks.ordering.ranges import Order, cluster_table, labelled_by_scores, pools_of
from assay.tasks.ordering.scores import known_rows, learned_lines, rival_findings, scored_rows
from assay.tasks.ordering.settings import OURS, SCORES, Ordering, approach_named
from assay.tasks.ordering.sorting import By
from assay.tasks.ordering.validity import Validity, ordering_curve, ordering_findings, validity
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.multiplicity import verdict_in_words
from assay.tasks.statistics.proportions import share

_SKETCHED, _HARDEST = 20_000, 15  # samples of a long order that the report draws, and those it lists


class Measured(NamedTuple):
    """What is known of one order: its accuracy curve, and the findings."""

    curve: Artifact[OrderingCurve]
    findings: Artifact[Findings]


@stage(version=1, title="intervals")
def bound_confidence(labels: Artifact[WeakLabels], settings: Ordering) -> Artifact[Intervals]:
    """The weak labels with the Clopper-Pearson interval of the confidence in each."""
    intervals = map_partitions(interval_table, labels, into=Intervals, reuse=Reuse(), alpha=settings.alpha)
    say(f"{intervals.rows} Clopper-Pearson intervals (α = {settings.alpha:g})")
    return intervals


@stage(version=1, title="order")
def order_adversarially(
    intervals: Artifact[Intervals], samples: Artifact[Samples], settings: Ordering, labeler: str
) -> Artifact[CuratedSets]:
    """The curated sets D1 ⊂ … ⊂ DN: samples by the lower bound of their interval, most certain first."""
    expectations.warm_up()  # for `check_order`
    keys = sorting.deal_keys(intervals, samples, settings, OURS.score)
    ranks, tie = sorting.ranks_sent(keys)
    curated = map_partitions(
        curated_rows, intervals, Columns(samples, ("gold",)), into=CuratedSets, sent=ranks, cuts=keys.cuts, by=keys.by
    )
    say(f"{labeler} · {settings.datasets} data sets · largest tie {tie} of {keys.cuts[-1]}")
    return curated


@stage(version=1, title="contract")
def check_order(
    curated: Artifact[CuratedSets], classes: Artifact[Classes], settings: Ordering
) -> Artifact[ContractResults]:
    """What the contract of curated sets finds before they are handed out: in all of them, or in every so manieth."""
    stride = -(-curated.rows // expectations.WHOLE_UP_TO)
    table = collect(_every(curated, stride, last=0), CuratedSets.schema.names)
    with waiting():
        expectations.warm_up().join()
    found = expectations.check_curated_sets(table, classes.rows, settings.datasets, curated.rows)
    say(f"{found.num_rows} expectations of {table.num_rows} curated samples met")
    return write_table(expectations.require_contract(found, "The curated order"), into=ContractResults)


@stage(version=1, title="sketch")
def sketch_order(curated: Artifact[CuratedSets]) -> Artifact[CuratedSets]:
    """The order as the report draws it: all of a short one, about so many of a long one, and the hardest samples."""
    sketch = _every(curated, -(-curated.rows // _SKETCHED), last=_HARDEST)
    say(f"{sketch.rows} of {curated.rows} samples for the report")
    return sketch


@stage(version=2, title="clusters")
def find_clusters(
    votes: Artifact[Votes], samples: Artifact[Samples], panel: Artifact[Panel] | None
) -> Artifact[Clusters]:
    """What is independent: the groups of `source.group`, else single samples; these with the pattern of the panel's
    votes, over which scores are permuted."""
    functions = None if panel is None else _functions(votes, panel)
    clusters = map_partitions(cluster_table, votes, samples, into=Clusters, reuse=Reuse(), functions=functions)
    say(f"of {clusters.rows} samples {pools_of(clusters).words}")
    return clusters


class Scored(NamedTuple):
    """The intervals that make the order, and how other scores would do."""

    intervals: Artifact[Intervals]
    findings: Artifact[Findings]


@stage(version=4, title="scores")
def score_samples(
    intervals: Artifact[Intervals],
    votes: Artifact[Votes],
    panel: Artifact[Panel] | None,
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    classes: Artifact[Classes],
    settings: Ordering,
    labeler: str,
) -> Scored:
    """The intervals with the score to order by at both ends, and which others would tell right labels better."""
    tables = (intervals, votes, clusters)
    heard: dict[str, Any] = {"functions": _functions(votes, panel), "classes": classes.rows}
    lines = learned_lines(reduce_partitions(known_rows, *tables, Columns(samples, ("gold",)), **heard).values)
    if settings.by == "learned" and lines is None:
        raise InputError(
            "ordering.by is learned, and too few samples have gold to learn from: ten right labels and ten wrong ones "
            "in any four fifths of them. Label more, or take bound, confidence or entropy."
        )
    names = [settings.by, *(by for by in SCORES if by != settings.by and (by != "learned" or lines is not None))]
    scored = [
        map_partitions(scored_rows, *tables, into=Intervals, name=by, by=by, lines=lines, **heard) for by in names
    ]
    orders = [Order(each, OURS.score, settings.undecided == "apart") for each in scored]
    inputs = labelled_by_scores(orders, samples, clusters)
    ours, *others = count_orders(*inputs, Counting(pools_of(clusters), whole=0))
    findings = rival_findings(ours, dict(zip(names[1:], others, strict=True)), labeler)
    better = [f"{finding.of} by {finding.value:.3f}" for finding in findings if finding.verdict == "better"]
    say(f"{labeler} · by {settings.by} · {', '.join(better) or 'no other score'} shown to be better")
    return Scored(scored[0], write_table(findings_table(findings), into=Findings))


@stage(version=12, title="trend", draws=True)
def judge_order(
    intervals: Artifact[Intervals],
    ours: Artifact[Intervals],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    settings: Ordering,
    approach: str,
    labeler: str,
) -> Artifact[Findings]:
    """Whether labels get worse along the order of one approach, and how it compares with ours; of ours, whether its
    confidence is a chance."""
    is_ours, apart = approach == OURS.name, settings.undecided == "apart"
    judged = Order(intervals, approach_named(approach).score, apart)
    beside = Order(intervals, "confidence", False) if is_ours else Order(ours, OURS.score, apart)
    counting = Counting(pools_of(clusters), whole=1, confidence=1 if is_ours else None)
    counts, other = count_orders(*labelled_by_scores([judged, beside], samples, clusters), counting)
    (findings,) = on_workers(
        order_test_findings,
        [counts],
        [other],
        significance=settings.significance,
        approach=approach,
        labeler=labeler,
        generator=stage_seeds().generator("permutations"),
    )
    if other.calibration is not None:
        findings += calibration_findings(other.calibration, labeler, stage_seeds().generator())
    area, p = (next(each for each in findings if each.metric == f"ordering.{name}") for name in ("auc", "trend_p"))
    measured = "" if area.value is None or p.value is None else f"{verdict_in_words(p)}, AUC {area.value:.3f}"
    say(f"{approach}, {labeler} · {measured or area.verdict}")
    return write_table(findings_table(findings), into=Findings)


@stage(version=3, title="validity", draws=True)
def measure_ordering(
    intervals: Artifact[Intervals], samples: Artifact[Samples], settings: Ordering, approach: str, labeler: str
) -> Measured:
    """How accuracy moves along the order of one approach, and whether that is more than chance would do."""
    keys = sorting.deal_keys(intervals, samples, settings, approach_named(approach).score)
    ordered = sorting.counted_along(keys, intervals, samples)
    tested = validity(ordered, settings.permutations, stage_seeds().generator())
    findings = ordering_findings(ordered, tested, settings.significance, approach, labeler)
    if approach == OURS.name:
        undecided = pc.sum(collect(intervals, columns=["undecided"])["undecided"], min_count=0).as_py()  # a bit each
        findings.append(share("weak_labels.undecided", undecided, intervals.rows, group=labeler))
    say(_in_words(tested, approach, labeler))
    return Measured(
        curve=write_table(ordering_curve(ordered, approach, labeler), into=OrderingCurve),
        findings=write_table(findings_table(findings), into=Findings),
    )


def _functions(votes: Artifact[Votes], panel: Artifact[Panel] | None) -> list[str]:
    """The functions of the panel; all that vote, where there is none."""
    if panel is None:
        return [name for name in columns_in(votes) if name != "id"]
    kept = collect(panel, ["function", "kept"])
    return list(kept.filter(kept["kept"])["function"].to_pylist())


def rows_of_ranks(curated: pa.Table, stride: int, first_of_last: int) -> pa.Table:
    """The samples of every `stride`-th rank, and all from a rank on."""
    ranks = curated.column("rank").to_numpy()
    return curated.filter(pa.array((ranks % stride == 0) | (ranks >= first_of_last)))


def curated_rows(intervals: pa.Table, samples: pa.Table, received: Received, cuts: list[int], by: By) -> pa.Table:
    """One partition of the curated sets: the ordered samples of it, each with its rank and first data set."""
    ranks = sorting.ranks_received(intervals, samples, received, by)
    made = {
        "rank": pa.array(ranks),
        "dataset": pa.array(dataset_of_rank(ranks, np.asarray(cuts))),
        "gold": samples.column("gold"),
    }
    columns = {name: made[name] if name in made else intervals.column(name) for name in CuratedSets.schema.names}
    return pa.table(columns, schema=CuratedSets.schema).filter(pa.array(ranks >= 0))


def _every(curated: Artifact[CuratedSets], stride: int, last: int) -> Artifact[CuratedSets]:
    return map_partitions(rows_of_ranks, curated, into=CuratedSets, stride=stride, first_of_last=curated.rows - last)


def _in_words(tested: Validity | None, approach: str, labeler: str) -> str:
    if tested is None:
        return f"{approach}, {labeler} · not measured: too few samples have a gold label"
    permutation = tested.permutation
    return (
        f"{approach}, {labeler} · tie-free ρ = {tested.tie_free.rho:.2f}, "
        f"a random order falls as clearly with p = {permutation.p_adverse:.2g}"
    )
