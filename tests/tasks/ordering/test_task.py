"""Ordering as stages: one order for any partitioning, gold or no gold, and sentences where it cannot be."""

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Classes, CuratedSets, Samples, Votes, WeakLabels
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.settings import Ordering
from assay.tasks.ordering.task import (
    bound_confidence,
    check_order,
    find_clusters,
    judge_order,
    measure_ordering,
    order_adversarially,
    sketch_order,
)
from assay.tasks.statistics.findings import findings_from

N = 400
RNG = np.random.default_rng(0)
CAST = RNG.integers(0, 8, N).astype(np.int32)
SHARE = np.where(CAST > 0, RNG.choice([0.5, 0.6, 0.75, 0.9], N), 0.5)
LABEL = RNG.integers(0, 2, N).astype(np.int16)
GOLD = np.where(RNG.random(N) < 0.3 + 0.1 * CAST * SHARE, LABEL, 1 - LABEL)


@dataclass(frozen=True)
class Rows:
    start: int
    stop: int
    known: int = 1  # every how-manieth sample has gold; 0 for none

    @property
    def cut(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def ids(self) -> list[str]:
        return [f"sample {i}" for i in range(self.start, self.stop)]


def labels_table(rows: Rows) -> pa.Table:
    columns = {
        "id": rows.ids,
        "label": LABEL[rows.cut],
        "confidence": SHARE[rows.cut],
        "votes_cast": CAST[rows.cut],
        "share": SHARE[rows.cut],
        "undecided": CAST[rows.cut] == 0,
    }
    return pa.table(columns, schema=WeakLabels.schema)


def samples_table(rows: Rows) -> pa.Table:
    unknown = np.array([not rows.known or i % rows.known != 0 for i in range(rows.start, rows.stop)])
    gold = pa.array(GOLD[rows.cut].astype(np.int16), mask=unknown)
    return pa.table({"id": rows.ids, "gold": gold}, schema=Samples.schema)


def rows_of(cuts: list[int], known: int = 1) -> list[Rows]:
    return [Rows(start, stop, known) for start, stop in itertools.pairwise(cuts)]


@stage(version=1)
def given_labels(cuts: list[int]) -> Artifact[WeakLabels]:
    return map_pieces(labels_table, rows_of(cuts), into=WeakLabels)


@stage(version=1)
def given_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": [0, 1], "name": ["a", "b"]}, schema=Classes.schema), into=Classes)


@stage(version=1)
def given_samples(cuts: list[int], known: int) -> Artifact[Samples]:
    return map_pieces(samples_table, rows_of(cuts, known), into=Samples)


def ordered(cuts=(0, N), known=1, **options):
    settings = Ordering(**options)
    samples = given_samples(list(cuts), known)
    intervals = bound_confidence(given_labels(list(cuts)), settings)
    return intervals, samples, settings


def votes_table(rows: Rows) -> pa.Table:
    votes = {f"f{at}": np.where(at < CAST, LABEL, -1)[rows.cut].astype(np.int8) for at in range(3)}
    return pa.table({"id": rows.ids, **votes, "noise": RNG_VOTES[rows.cut]})


RNG_VOTES = np.random.default_rng(1).integers(-1, 2, N).astype(np.int8)


@stage(version=1)
def given_votes(cuts: list[int]) -> Artifact[Votes]:
    return map_pieces(votes_table, rows_of(cuts), into=Votes)


def judged(approach="ours", cuts=(0, N), known=1, **options):
    intervals, samples, settings = ordered(cuts, known, **options)
    clusters = find_clusters(given_votes(list(cuts)), samples, None)
    return clusters, judge_order(intervals, intervals, samples, clusters, settings, approach, "majority")


def by_name(artifact):
    return {one.metric: one for one in findings_from(collect(artifact, None))}


def test_the_curated_sets_nest_and_follow_the_lower_bound(run):
    table = collect(order_adversarially(*ordered(), "majority"), CuratedSets.schema.names).sort_by("rank")
    assert table["rank"].to_pylist() == list(range(N))
    lower = table["lower"].to_numpy()
    assert (np.diff(lower) <= 0).all()
    sizes = [(table["dataset"].to_numpy() <= d).sum() for d in range(1, 11)]
    assert sizes == [40 * d for d in range(1, 11)]


def test_the_partitioning_changes_neither_the_order_nor_what_it_is_worth(run):
    names = CuratedSets.schema.names
    whole = order_adversarially(*ordered(), "majority")
    cut = order_adversarially(*ordered(cuts=(0, 3, 100, 399, N)), "majority")
    assert collect(cut, names).equals(collect(whole, names))
    assert cut.digest == whole.digest
    measured = [measure_ordering(*ordered(cuts=c), "ours", "majority") for c in ((0, N), (0, 3, 100, 399, N))]
    assert measured[0].curve.digest == measured[1].curve.digest
    assert measured[0].findings.digest == measured[1].findings.digest


def test_a_real_trend_is_adverse_and_every_approach_can_be_measured(run):
    inputs = ordered()
    for approach in ("pl_all", "pl_indep", "ci_all", "ours"):
        measured = measure_ordering(*inputs, approach, "majority")
        findings = by_name(measured.findings)
        assert findings["ordering.permutation_p"].of == approach
        assert len(collect(measured.curve, ["dataset"])) == 10
    assert findings["ordering.permutation_p"].value <= 0.01
    assert findings["weak_labels.undecided"].value == pytest.approx((CAST == 0).mean())


def test_the_judgement_is_the_same_for_1_7_and_40_partitions(run):
    digests = {
        tuple(one.digest for one in judged(approach, np.linspace(0, N, parts + 1).astype(int).tolist()))
        for parts in (1, 7, 40)
        for approach in ("ours",)
    }
    assert len(digests) == 1


def test_undecided_samples_stand_apart_unless_they_are_asked_for(run):
    apart, default = (by_name(judged(undecided=choice)[1]) for choice in ("apart", "default"))
    assert apart["ordering.trend_p"].n == int((CAST > 0).sum())
    assert default["ordering.trend_p"].n == N
    assert apart["ordering.accuracy_undecided"].n == int((CAST == 0).sum())
    assert apart["ordering.trend_p"].verdict == "adverse"
    blind = by_name(judged(known=0)[1])
    assert blind["ordering.trend_p"].verdict == "not measured: no true label is known"


def test_without_gold_everything_works_and_validity_is_not_measured(run):
    inputs = ordered(known=0)
    assert collect(order_adversarially(*inputs, "majority"), ["gold"])["gold"].null_count == N
    findings = by_name(measure_ordering(*inputs, "ours", "snorkel").findings)
    assert findings["ordering.permutation_p"].verdict == "not measured"
    assert findings["ordering.permutation_p"].n == 0
    with pytest.raises(InputError, match=r"no sample has a gold label; .* or set ordering\.curate: all"):
        order_adversarially(*ordered(known=0, curate="labelled"), "majority")


def test_with_gold_for_some_either_all_or_the_labelled_are_curated_and_the_labelled_measured(run):
    everyone = ordered(known=3)
    assert collect(order_adversarially(*everyone, "majority"), ["id"]).num_rows == N
    assert by_name(measure_ordering(*everyone, "ours", "majority").findings)["ordering.permutation_p"].n == 134
    labelled = ordered(known=3, curate="labelled")
    table = collect(order_adversarially(*labelled, "majority"), ["rank", "gold", "dataset"])
    assert sorted(table["rank"].to_pylist()) == list(range(134))
    assert table["gold"].null_count == 0
    assert by_name(measure_ordering(*labelled, "ours", "majority").findings)["ordering.permutation_p"].n == 134


def test_fewer_samples_than_data_sets_are_refused_with_a_way_out(run):
    with pytest.raises(InputError, match=r"8 samples cannot be cut into 10 data sets; lower ordering\.datasets to 8"):
        order_adversarially(*ordered(cuts=(0, 8)), "majority")


def test_a_partition_that_was_quarantined_does_not_stop_the_others(run):
    settings = Ordering()
    samples = given_samples([0, 100, N], 1)
    intervals = bound_confidence(given_labels([0, 100]), settings)
    findings = by_name(measure_ordering(intervals, samples, settings, "ours", "majority").findings)
    assert findings["ordering.permutation_p"].n == 100


def test_a_curated_order_keeps_its_contract(run):
    intervals, samples, settings = ordered()
    classes = given_classes()
    results = collect(
        check_order(order_adversarially(intervals, samples, settings, "majority"), classes, settings), None
    )
    assert results["success"].to_pylist() == [True] * results.num_rows
    assert set(results["contract"].to_pylist()) == {"curated_sets"}


def test_a_sketch_holds_every_so_manieth_sample_and_the_hardest(run, monkeypatch):
    monkeypatch.setattr("assay.tasks.ordering.task._SKETCHED", 40)
    sketch = collect(sketch_order(order_adversarially(*ordered(cuts=(0, 150, N)), "majority")), ["rank"])[
        "rank"
    ].to_pylist()
    assert sorted(sketch) == sorted({*range(0, N, 10), *range(N - 15, N)})
