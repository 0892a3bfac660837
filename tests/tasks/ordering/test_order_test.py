"""The order's test on 569 real patients: every figure that was measured when the test was chosen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.data.samples.breast_cancer import breast_cancer
from assay.tasks.ordering.datasets import scores_of
from assay.tasks.ordering.intervals import interval_table
from assay.tasks.ordering.order_test import area_gain, calibration_findings, order_test_findings, order_test_of
from assay.tasks.ordering.ranges import LabelledSamples, Pools, cluster_table, labelled_samples
from assay.tasks.pruning.panel import panel
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.auc import binary_auc
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_test import area_difference, area_sums, gain_finding, order_test
from assay.tasks.statistics.vote_counts import count_partition, vote_counts
from assay.tasks.subjects.holding_out import fold_of
from assay.tasks.subjects.tables.along_order import Answered
from assay.tasks.subjects.tables.logistic import cross_fit
from assay.tasks.weak_labels.labelers import majority, weak_labels
from assay.tasks.weak_labels.snorkel import snorkel
from assay.tasks.weak_labels.table import WeakLabelling
from tests.tasks.ordering.in_one_place import order_counts_at_once

MALIGNANT, BENIGN, ABSTAIN = 0, 1, -1
PATIENTS = breast_cancer()
GOLD = PATIENTS["gold"].to_numpy().astype(np.int64)
FEATURES = PATIENTS.column_names[2:]
MATRIX = np.column_stack([PATIENTS[name].to_numpy() for name in FEATURES])


@pytest.fixture(scope="module")
def votes() -> pa.Table:
    low, high = np.quantile(MATRIX, [0.33, 0.67], axis=0)
    cast = np.select([low > MATRIX, high < MATRIX], [BENIGN, MALIGNANT], ABSTAIN).astype(np.int8)
    return pa.table({"id": PATIENTS["id"], **{name: cast[:, at].copy() for at, name in enumerate(FEATURES)}})


@pytest.fixture(scope="module")
def kept(votes) -> list[str]:
    counts = vote_counts(count_partition(votes, 2), 2)
    return [row["function"] for row in panel(counts, Pruning(correlation=0.5)).to_pylist() if row["kept"]]


@pytest.fixture(scope="module")
def intervals(votes, kept) -> dict[str, pa.Table]:
    labelers = {
        "majority": majority(kept),
        "snorkel": snorkel(vote_counts(count_partition(votes.select(["id", *kept]), 2), 2), WeakLabelling()),
    }
    return {
        name: interval_table(weak_labels(votes, labeler, 2, default=MALIGNANT), alpha=0.05)
        for name, labeler in labelers.items()
    }


@pytest.fixture(scope="module")
def clusters(votes, kept) -> pa.Table:
    return cluster_table(votes, PATIENTS, functions=kept)


@pytest.fixture(scope="module")
def pools(clusters) -> Pools:
    return Pools(tuple(np.unique(clusters["cluster"].to_numpy()).tolist()))


@pytest.fixture(scope="module")
def order(intervals, clusters):
    """The patients in the order of a labeler's score."""

    def known(labeler: str, score: str = "lower", apart: bool = True, gold: pa.Table = PATIENTS) -> LabelledSamples:
        return labelled_samples(intervals[labeler], gold.select(["gold"]), clusters, score, apart)

    return known


@pytest.mark.parametrize(
    ("labeler", "apart", "n", "patterns", "auc", "t", "most"),
    [
        ("majority", False, 569, 419, ".6586", "4.76", 0.0002),
        ("snorkel", False, 569, 419, ".6301", "4.00", 0.0005),
        ("majority", True, 512, 375, ".6177", "3.39", 0.003),
    ],
)
def test_the_table_to_its_printed_digits(order, pools, labeler, apart, n, patterns, auc, t, most):
    test = order_test_of(order_counts_at_once(order(labeler, apart=apart), pools), np.random.default_rng(0))
    assert (test.n, test.clusters) == (n, patterns)
    assert (f"{test.area.value:.4f}"[1:], f"{test.t:.2f}") == (auc, t)
    assert 0.0001 <= test.p_value <= most
    assert test.verdict(0.01) == "adverse"


@pytest.fixture(scope="module")
def answered(intervals, clusters) -> Answered:
    """What the logistic regression says of each patient, by a model that has not seen them."""
    folds = fold_of(PATIENTS["id"].to_pylist(), 5)
    models = cross_fit(MATRIX, GOLD, folds, count=5, features=FEATURES, classes=2)
    chances, table = models.probabilities(MATRIX, folds), intervals["majority"]
    return Answered(
        table["lower"].to_numpy(),
        table["tie_break"].to_numpy(),
        table["label"].to_numpy().astype(np.int64),
        GOLD,
        clusters["cluster"].to_numpy(),
        clusters["pattern"].to_numpy(),
        chances.argmax(axis=1),
        chances,
    )


@pytest.mark.parametrize(
    ("yardstick", "auc", "t", "p", "verdict"),
    [("weak", ".646", "4.50", 0.0002, "adverse"), ("gold", ".418", "-1.01", 0.32, "not shown: p ≤ 0.01 needed")],
)
def test_the_subject_along_the_order_to_the_printed_digits(answered, pools, yardstick, auc, t, p, verdict):
    truth = {"weak": answered.label, "gold": answered.gold}[yardstick]
    test = order_test(
        answered.scores, answered.predicted == truth, answered.patterns, answered.clusters, np.random.default_rng(0)
    )
    assert (f"{test.area.value:.3f}"[1:], test.t) == (auc, pytest.approx(float(t), abs=0.0051))
    assert test.p_value == pytest.approx(p, abs=0.02)
    counts = order_counts_at_once(answered.along(yardstick, "lower"), pools)
    found = order_test_of(counts, np.random.default_rng(0))
    assert found.p_value == pytest.approx(test.p_value, abs=0.02)
    assert found.verdict(0.01) == verdict


def test_the_subject_knows_better_than_our_order_where_it_is_wrong(answered, pools):
    own, ours = (order_counts_at_once(answered.along("gold", score), pools) for score in ("confidence", "lower"))
    assert gain_finding("subject.auc_gain", area_difference(own.area, ours.area), 569).verdict == "better"


def test_plain_confidence_orders_better_than_our_bound(order, pools):
    """.050 [.026, .073] by DeLong: every patient counts alone."""
    plain, ours = (order("majority", score, apart=False) for score in ("confidence", "lower"))
    scores = [scores_of(each.keys.scores) for each in (plain, ours)]
    alone = area_difference(*(area_sums(each, ours.right, np.arange(569)) for each in scores))
    assert (alone.value, alone.low, alone.high) == pytest.approx((0.0497, 0.0262, 0.0732), abs=2e-4)
    gain = area_gain(*(order_counts_at_once(each, pools) for each in (plain, ours)))
    assert (gain.value, gain.low, gain.high) == pytest.approx((alone.value, alone.low, alone.high), abs=1e-9)
    area = binary_auc(scores[1], ours.right)
    assert (round(area.low, 2), round(area.high, 2)) == (0.61, 0.70)


def test_confidence_is_a_score_and_not_a_chance(order, pools):
    found = {
        labeler: {
            finding.metric: finding
            for finding in calibration_findings(
                order_counts_at_once(order(labeler, "confidence", apart=False), pools).calibration,
                labeler,
                np.random.default_rng(0),
            )
        }
        for labeler in ("majority", "snorkel")
    }
    confidence = scores_of(order("majority", "confidence", apart=False).keys.scores)
    assert confidence.mean() == pytest.approx(0.853, abs=5e-4)
    assert round(found["majority"]["weak_labels.ece"].value, 2) == 0.21
    assert round(found["snorkel"]["weak_labels.ece"].value, 2) == 0.26  # .27 before what chance adds is taken away
    for one in found.values():
        assert one["weak_labels.ece"].low > 0.1


def test_findings_of_ours_are_concluded_and_others_compared(order, pools):
    ours, other = (
        {
            one.metric: one
            for one in order_test_findings(
                *(order_counts_at_once(each, pools) for each in orders),
                0.01,
                name,
                "majority",
                np.random.default_rng(0),
            )
        }
        for orders, name in (
            ([order("majority"), order("majority", "confidence", apart=False)], "ours"),
            ([order("majority", "confidence"), order("majority")], "pl_indep"),
        )
    )
    assert (ours["ordering.trend_p"].unit, other["ordering.trend_p"].unit) == (CONCLUDED, COMPARED)
    assert ours["ordering.trend_p"].verdict == "adverse"
    assert other["ordering.auc_gain"].verdict == "better"
    assert "ordering.auc_gain" not in ours
    assert ours["ordering.accuracy_undecided"].n == 57
    assert ours["ordering.first_tenth"].n == ours["ordering.last_tenth"].n == 51


def test_without_gold_nothing_is_measured_and_nothing_fails(order, pools):
    blind = order("majority", gold=pa.table({"gold": pa.nulls(569, pa.int16())}))
    found = order_test_findings(
        *[order_counts_at_once(blind, pools)] * 2, 0.01, "ours", "majority", np.random.default_rng(0)
    )
    counted = order_counts_at_once(blind, pools).calibration
    found += calibration_findings(counted, "majority", np.random.default_rng(0))
    assert {one.metric: one for one in found}["ordering.trend_p"].verdict == "not measured: no true label is known"
    assert {one.value for one in found} == {None}


def test_200_samples_whose_strata_fall_are_shown_to_fall():
    """A set on which the page said "no trend": strata fall from nearly all right to nearly none."""
    rng = np.random.default_rng(0)
    scores = np.repeat(np.linspace(1, 0, 10), 20)
    right = rng.random(200) < np.repeat(np.linspace(0.9, 0.1, 10), 20)
    test = order_test(scores, right, np.arange(200), np.arange(200), rng)
    assert test.area.value > 0.75
    assert test.p_value == 0.0001
