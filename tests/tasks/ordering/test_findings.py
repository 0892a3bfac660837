"""Findings and the curve when gold is missing, partial, or when there is one approach too many."""

import numpy as np

from assay.data.schemas import Findings, OrderingCurve
from assay.tasks.ordering.datasets import cut_points
from assay.tasks.ordering.settings import APPROACHES
from assay.tasks.ordering.validity import UNKNOWN, Ordered, ordering_curve, ordering_findings, validity
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED, is_test
from tests.tasks.ordering.in_one_place import counted_at_once


def ordered(outcomes) -> Ordered:
    outcomes = np.asarray(outcomes, dtype=np.int8)
    return counted_at_once(np.linspace(1, 0, len(outcomes)), outcomes, cut_points(len(outcomes), 10))


def test_without_gold_every_test_says_not_measured_and_ties_are_counted_all_the_same():
    order = ordered([UNKNOWN] * 40)
    findings = ordering_findings(order, None, 0.01, "ours", "snorkel")
    by_name = {one.metric: one for one in findings}
    for name in ("spearman", "spearman_tie_free", "spearman_disjoint", "permutation_p", "accuracy"):
        assert by_name[f"ordering.{name}"].verdict == "not measured"
        assert by_name[f"ordering.{name}"].value is None
        assert by_name[f"ordering.{name}"].n == 0
    assert by_name["ordering.largest_tie"].value == 1
    assert findings_table(findings).schema.equals(Findings.schema)
    curve = ordering_curve(order, "ours", "snorkel")
    assert curve.schema.equals(OrderingCurve.schema)
    assert curve["accuracy"].null_count == 10
    assert curve["n"].to_pylist() == [0] * 10


def test_with_partial_gold_n_counts_the_labelled_samples():
    outcomes = np.where(np.arange(100) < 30, UNKNOWN, np.arange(100) % 2)
    order = ordered(outcomes)
    tested = validity(order, 2000, np.random.default_rng(0))
    assert {one.n for one in ordering_findings(order, tested, 0.01, "ours", "majority")} == {0, 10, 70, 100}
    curve = ordering_curve(order, "ours", "majority")
    assert curve["n"].to_pylist() == [0, 0, 0, 10, 20, 30, 40, 50, 60, 70]
    assert curve["accuracy"].null_count == curve["stratum_accuracy"].null_count == 3


def test_what_describes_the_order_is_no_test_of_the_run():
    falling = ordered(np.arange(400) % 20 >= np.arange(400) // 20)
    tested = validity(falling, 2000, np.random.default_rng(0))
    found = ordering_findings(falling, tested, 0.01, "ours", "majority")
    assert not any(is_test(one, unit) for one in found for unit in (CONCLUDED, COMPARED))
    by_name = {one.metric: one for one in found}
    assert by_name["ordering.permutation_p"].value <= 0.01
    assert (by_name["ordering.permutation_p"].verdict, by_name["ordering.permutation_p_violation"].value) == ("", 1.0)


def test_there_are_four_approaches_of_two_labelings_and_two_scores():
    assert [each.name for each in APPROACHES] == ["pl_all", "pl_indep", "ci_all", "ours"]
    assert len({(each.functions, each.score) for each in APPROACHES}) == 4
