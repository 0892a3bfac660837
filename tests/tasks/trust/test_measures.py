"""The six measures by hand, from the paper's own rows, with intervals that know when they know little."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.published import TOKI_TABLE_3
from assay.tasks.statistics.findings import Finding
from assay.tasks.trust.findings import About, averaged, label_findings, truth_findings
from assay.tasks.trust.measures import (
    cells_of,
    difference_findings,
    f1,
    g_mean,
    g_mean_difference,
    measure_findings,
    sensitivity,
    specificity,
)
from assay.tasks.trust.oracle import BY_NAME, NAIVE, TOKI

T, U = "trustworthy", "untrustworthy"


class Confusion(NamedTuple):
    tp: int
    fp: int
    fn: int
    tn: int


def generator():
    return np.random.default_rng(7)


def measured(found: Confusion) -> dict[str, Finding]:
    cells = {(T, T): found.tp, (T, U): found.fp, (U, T): found.fn, (U, U): found.tn}
    labels, truths = ([pair[at] for pair, count in cells.items() for _ in range(count)] for at in (0, 1))
    listed = measure_findings(labels, truths, Finding("", "toki", "lime", "s"), generator())
    return {one.metric.removeprefix("trust."): one for one in listed}


def test_the_six_measures_by_hand():
    counts = np.array([6.0, 1.0, 2.0, 3.0])  # tp, fp, fn, tn
    found = measured(Confusion(6, 1, 2, 3))
    assert (found["accuracy"].value, found["precision"].value) == (9 / 12, 6 / 7)
    assert sensitivity(counts) == 6 / 8
    assert specificity(counts) == 3 / 4
    assert f1(counts) == 12 / 15
    assert g_mean(counts) == pytest.approx(0.75)


@pytest.mark.parametrize(("trust", "untrust", "data_set"), [(311, 47, "Dong's"), (1206, 739, "CAMS")])
def test_the_papers_accuracy_follows_from_its_sensitivity_and_specificity(trust, untrust, data_set):
    row = next(one for one in TOKI_TABLE_3 if (one.data_set, one.oracle, one.explainer) == (data_set, "toki", "lime"))
    said = dict(zip(("accuracy", "precision", "sensitivity", "f1", "specificity", "g_mean"), row.measures, strict=True))
    tp, tn = round(said["sensitivity"] * trust), round(said["specificity"] * untrust)
    found = measured(Confusion(tp, untrust - tn, trust - tp, tn))
    for name in ("accuracy", "precision", "f1", "g_mean"):
        assert found[name].value == pytest.approx(said[name], abs=2e-3)


def test_undecided_and_unknown_predictions_are_counted_apart():
    labels = [T, T, U, U, "undecided", "undecided", T]
    truths = [T, U, T, U, T, None, None]
    assert cells_of(labels, truths).sum(axis=0).tolist() == [1, 1, 1, 1]


def test_a_perfect_score_from_few_samples_is_not_certain():
    few, many = measured(Confusion(4, 0, 0, 4)), measured(Confusion(400, 0, 0, 400))
    for name in ("g_mean", "f1", "accuracy"):
        assert few[name].value == many[name].value == 1.0
        assert few[name].low < 0.8
        assert many[name].low > 0.98
        assert few[name].high == 1.0


def test_without_untrustworthy_predictions_there_is_no_specificity_and_no_g_mean():
    found = measured(Confusion(5, 0, 2, 0))
    for name in ("specificity", "g_mean"):
        assert (found[name].value, found[name].verdict) == (None, "not measured")
    assert found["sensitivity"].value == 5 / 7


@settings(max_examples=40)
@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_every_interval_holds_its_value_within_zero_and_one(cells):
    for one in measured(Confusion(*cells)).values():
        if one.value is not None:
            assert 0 <= one.low <= one.value <= one.high <= 1


def test_the_interval_of_g_mean_covers_as_often_as_it_says():
    drawn, truth, hits = np.random.default_rng(3), np.sqrt(0.8 * 0.7), 0
    for _ in range(200):
        tp, tn = drawn.binomial(60, 0.8), drawn.binomial(50, 0.7)
        one = measured(Confusion(int(tp), int(50 - tn), int(60 - tp), int(tn)))["g_mean"]
        hits += one.low <= truth <= one.high
    assert hits / 200 >= 0.9


def differences(ours, theirs, truths):
    return difference_findings(ours, theirs, truths, Finding("", "toki - naive", "lime", "s"), generator())


def test_differences_are_paired_and_keep_their_sign():
    truths = [T] * 10 + [U] * 10
    ours, theirs = [T] * 10 + [U] * 10, [T] * 20
    better, g_better = differences(ours, theirs, truths)
    worse, g_worse = differences(theirs, ours, truths)
    assert (better.value, worse.value) == (0.5, -0.5)
    assert (g_better.value, g_worse.value) == (1.0, -1.0)
    assert better.p_value == pytest.approx(1 / 2**10)
    assert better.low > 0 > worse.high


def test_two_that_say_the_same_do_not_differ():
    accuracy_, g = differences([T, U, T, U], [T, U, T, U], [T, U, U, T])
    assert (accuracy_.value, accuracy_.p_value) == (0, 1.0)
    assert accuracy_.low < -0.3 < 0.3 < accuracy_.high  # four ties are no proof that the two are alike
    assert (g.value, g.low, g.high) == (0, None, None)


def test_only_what_both_decide_is_compared():
    found = differences([T, "undecided", U], [T, U, "undecided"], [T, U, U])
    assert [one.n for one in found] == [1, 1]
    assert found[1].verdict == "not measured"  # of one kind only
    assert [one.verdict for one in differences(["undecided"], [T], [T])] == ["not measured"] * 2


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_the_difference_of_g_means_is_the_difference_of_g_means(rows):
    first, second, positive = np.array(rows, dtype=np.bool_).T
    value, low, high = g_mean_difference(first, second, positive, generator())

    def one(right):
        with np.errstate(invalid="ignore"):
            return np.sqrt(
                np.divide(right[positive].sum(), positive.sum()) * np.divide(right[~positive].sum(), (~positive).sum())
            )

    if positive.all() or not positive.any():
        assert np.isnan(value)
    else:
        assert value == pytest.approx(one(first) - one(second))
        assert low <= high


def test_a_difference_of_g_means_by_few_groups_is_as_uncertain_as_their_spread_is():
    """Of 100 samples of 20 predictions in five groups that go together, about 95 % hold the difference, 0 here."""
    draws, groups, held = np.random.default_rng(3), np.repeat(np.arange(5), 20), 0
    for _ in range(100):
        shifts = 0.7 * draws.normal(size=(2, 5))[:, groups]
        first, second = draws.normal(size=(2, 100)) + shifts > -0.6
        positive = draws.random(100) < 0.5
        interval = g_mean_difference(first, second, positive, generator(), groups)
        held += interval.low <= 0 <= interval.high
    assert held >= 89  # 79 where five resampled groups are taken to vary as many do


def test_repeats_become_a_mean_and_a_spread():
    repeats = [
        [
            Finding(
                "trust.g_mean",
                of="toki",
                group="lime",
                value=value,
                low=value - 0.1,
                high=value + 0.1,
                n=n,
                p_value=0.5,
            )
        ]
        for value, n in ((0.6, 10), (0.8, 12), (0.7, 11))
    ]
    mean, spread = averaged(repeats)
    assert (mean.value, mean.low, mean.high, mean.n) == pytest.approx((0.7, 0.6, 0.8, 11))
    assert mean.p_value is None
    assert (spread.metric, spread.of, spread.value, spread.n) == ("trust.g_mean_spread", "toki", pytest.approx(0.1), 3)


def test_what_one_repeat_cannot_measure_is_averaged_over_the_others():
    none, some = Finding("trust.g_mean", n=0, verdict="not measured"), Finding("trust.g_mean", value=0.5, n=4)
    assert averaged([[none], [none]]) == [none]
    assert [one.value for one in averaged([[none], [some]])] == [0.5]


def test_explanations_that_are_all_alike_have_no_interval_of_no_width():
    labels = [
        {"id": str(at), "oracle": oracle, "label": T, "confidence": 0.9}
        for at in range(20)
        for oracle in (TOKI, BY_NAME, NAIVE)
    ]
    truths = {str(at): T for at in range(20)}
    found = {
        one.metric: one
        for one in truth_findings(labels, truths, dict.fromkeys(truths, 1.0), About("s", "lime"), generator())
    }
    share = found["trust.explanation_precision"]
    assert (share.value, share.high, share.n) == (1.0, 1.0, 20)
    assert 0.6 < share.low < 0.9


def test_labels_that_hang_on_next_to_nothing_are_counted():
    def row(label, related, unrelated):
        return {
            "id": label,
            "oracle": TOKI,
            "label": label,
            "predicted": 0,
            "related_mass": related,
            "unrelated_mass": unrelated,
        }

    rows = [row(T, 0.4, 0.1), row("untrustworthy", 1.5e-6, 7.5e-4), row(T, 2e-4, 1.7e-4), row("undecided", 0.0, 0.0)]
    samples = [{"id": str(at), "gold": 0} for at in range(4)]
    found = label_findings(rows, samples, [0] * 4, ["neg"], About("s", "omission"))
    faint = next(one for one in found if (one.metric, one.group) == ("trust.faint", "all"))
    assert (faint.value, faint.n) == (pytest.approx(2 / 3), 3)
    scaled = label_findings(rows, samples, [0] * 4, ["neg"], About("s", "gradient"))
    assert not [one for one in scaled if one.metric == "trust.faint"]


def test_the_share_in_truth_is_corrected_where_the_oracle_is_known_to_tell_and_else_not_stated():
    def measured(right: float) -> Finding:
        rng = np.random.default_rng(0)
        truths = {str(at): "untrustworthy" if at % 10 == 0 else "trustworthy" for at in range(400)}
        other = {"untrustworthy": "trustworthy", "trustworthy": "untrustworthy"}
        said = {key: one if rng.random() < right else other[one] for key, one in truths.items()}
        rows = [
            {"id": key, "oracle": oracle, "label": said[key], "confidence": 0.9}
            for key in truths
            for oracle in ("toki", "toki-ki", "naive")
        ]
        found = truth_findings(rows, truths, {}, About("s", "lime"), generator())
        return next(one for one in found if one.metric == "trust.untrustworthy_corrected")

    good, guess = measured(0.9), measured(0.5)
    assert good.low < 0.1 < good.high
    assert good.value == pytest.approx(0.1, abs=0.02)
    assert (guess.value, guess.verdict) == (None, "not measured: TOKI is not known to be better than guessing")
