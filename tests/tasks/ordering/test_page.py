"""The page of the order: one sentence with the verdict, Figure 2, Table 1, two facts, and the hardest samples."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

from assay.data.schemas import CuratedSets, OrderingCurve
from assay.tasks.ordering.page import interval_plot
from assay.tasks.ordering.page import page as page_of
from assay.tasks.reporting.parts import LinePlot, NamedSample, Panels, Paragraph, SampleList, with_looks
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED, corrected
from assay.tasks.statistics.settings import Gate

CLASSES = {0: "benign", 1: "malignant"}


def page(findings, curve, curated, classes):
    return page_of(FindingIndex(findings), curve, curated, classes, curated.num_rows)


def curve(*orders, measured=True):
    rows = []
    for approach, labeler in orders or (("ours", "majority"),):
        for d in (1, 2, 3):
            accuracy = 1 - d / 10 if measured else None
            known = dict.fromkeys(OrderingCurve.schema.names[5:11], accuracy)
            rows.append(
                {
                    "approach": approach,
                    "labeler": labeler,
                    "dataset": d,
                    "size": 10 * d,
                    "n": 10 * d if measured else 0,
                    **known,
                    "stratum_n": 10 if measured else 0,
                    "stratum_accuracy": accuracy,
                }
            )
    return pa.Table.from_pylist(rows, schema=OrderingCurve.schema)


def curated(n=30):
    rows = [
        {
            "id": f"s{i}",
            "rank": i,
            "dataset": i // 10 + 1,
            "label": i % 2,
            "confidence": 0.75,
            "lower": 0.9 - i // 10 / 5,
            "upper": 1.0,
            "votes_cast": 4,
            "gold": None if i == n - 1 else 1,
        }
        for i in range(n)
    ]
    return pa.Table.from_pylist(rows, schema=CuratedSets.schema)


def outcome_of(approach="ours", labeler="majority", outcome="adverse", p=0.0005):
    about = {"of": approach, "group": labeler, "n": 30}
    gain = [Finding("ordering.auc_gain", value=0.05, low=0.02, high=0.08, **about)] if approach != "ours" else []
    return [
        Finding("ordering.spearman", value=-1.0, p_value=0.0001, verdict="adverse", **about),
        Finding("ordering.spearman_tie_free", value=-0.95, low=-1.0, high=-0.5, **about),
        Finding("ordering.spearman_disjoint", value=-0.9, p_value=0.002, **about),
        Finding("ordering.permutation_p", value=0.03, unit="p", **about),
        Finding("ordering.largest_tie", value=10, **about),
        Finding("ordering.trend_p", value=p, p_value=p, verdict=outcome, unit="p", **about),
        Finding("ordering.auc", value=0.66, low=0.61, high=0.70, **about),
        Finding("ordering.first_tenth", value=0.88, low=0.8, high=0.9, **about),
        Finding("ordering.last_tenth", value=0.44, low=0.3, high=0.5, **about),
        *gain,
    ]


NEEDED = "not shown: p ≤ 0.01 needed"


def blocks(part, kind):
    return [block for block in part.blocks if isinstance(block, kind)]


def test_sentence_says_whether_labels_get_worse_how_much_and_how_sure():
    part = page(outcome_of(), curve(), curated(), CLASSES)
    assert part.sentence == (
        "The rules' labels get worse along the order: 88\u202f% right in the first tenth, 44\u202f% in the last; a "
        "right label outranks a wrong one 66\u202f% [61, 70] of the time (p < 0.001) by true labels (majority, n = 30)."
    )
    assert (part.verdict, part.judged) == ("good", "adverse")


def test_samples_on_which_no_class_wins_are_counted_beside_the_test():
    apart = Finding(
        "ordering.accuracy_undecided", of="ours", group="majority", value=0.32, low=0.2, high=0.5, n=57, unit="share"
    )
    assert page([*outcome_of(), apart], curve(), curated(), CLASSES).sentence.endswith(
        "57 samples on which no class wins have the default label and stand apart from this test: "
        "32\u202f% [20, 50] of them are right."
    )


def test_labels_that_get_better_are_bad():
    found = outcome_of(outcome="violation", p=0.0005)
    part = page(found, curve(), curated(), CLASSES)
    assert part.verdict == "bad"
    assert part.sentence.startswith("The rules' labels get better along the order, not worse: ")


def test_what_the_correction_takes_is_not_shown_and_says_what_was_needed():
    tests = [*outcome_of(p=0.009), *(Finding("a.b", of=str(at), p_value=0.5, unit="p") for at in range(3))]
    lost = corrected(tests, 0.01)
    part = page(lost, curve(), curated(), CLASSES)
    assert part.sentence.startswith("That the rules' labels get worse along the order is not shown: 88")
    assert "(p = 0.036 after Holm, level 0.01) by true labels" in part.sentence
    assert (part.verdict, part.judged) == ("neutral", "not shown")


def test_what_is_not_shown_says_what_could_have_been_seen_and_which_of_test_and_interval_failed():
    seen = Finding("ordering.auc_seen_from", of="ours", group="majority", value=0.74, n=30)
    line = page([*outcome_of(p=0.3, outcome=NEEDED), seen], curve(), curated(), CLASSES).sentence
    assert "(p = 0.300, level 0.01; of 30 samples, an AUC of 74\u202f% would have been seen) by true labels" in line
    interval = outcome_of(p=0.0005, outcome="not shown: the interval holds one half")
    line = page([*interval, seen], curve(), curated(), CLASSES).sentence
    assert "p <" not in line
    assert "of the time (the interval holds one half; of 30 samples, an AUC of 74\u202f% would have been seen)" in line


def test_the_gate_judges_what_the_verdict_judges():
    gate = Gate(finding="ordering.trend_p", of="ours", group="majority", at_most=0.01)
    others = [Finding("a.b", of=str(at), p_value=0.5, unit="p") for at in range(3)]
    for p, passed in ((0.002, True), (0.009, False), (0.4, False)):
        outcome = "adverse" if p <= 0.01 else NEEDED
        found = corrected([*outcome_of(outcome=outcome, p=p), *others], 0.01)
        (result,) = judge([gate], found)
        assert result.passed is passed is (page(found, curve(), curated(), CLASSES).verdict == "good")


def test_what_is_not_shown_is_neutral():
    found = outcome_of(outcome=NEEDED, p=0.4)
    assert page(found, curve(), curated(), CLASSES).verdict == "neutral"


def test_without_gold_the_order_is_shown_and_its_validity_not_measured():
    silent = [
        Finding("ordering.trend_p", of="ours", group="majority", n=0, verdict="not measured: no true label is known")
    ]
    part = page(silent, curve(measured=False), curated(), CLASSES)
    assert part.verdict == "not measured"
    assert part.sentence == (
        "30 samples are ordered; whether the rules' labels get worse along the order was not measured: "
        "no true label is known."
    )
    assert len(blocks(part, LinePlot)) == 1


def test_figure_2_has_the_band_the_tie_free_curve_and_the_disjoint_strata():
    plot = blocks(page(outcome_of(), curve(), curated(), CLASSES), LinePlot)[0]
    assert [series.style for series in plot.series] == ["line", "dashed", "points"]
    assert plot.series[0].y == pytest.approx([0.9, 0.8, 0.7])
    assert plot.series[2].y == pytest.approx([0.9, 0.8, 0.7])
    assert plot.series[2].low[0] == pytest.approx(proportion_confint(9, 10, method="wilson")[0])


def test_both_facts_the_paper_misses_are_there_with_their_numbers():
    (facts,) = blocks(page(outcome_of(), curve(), curated(), CLASSES), Paragraph)
    assert "calls even a random order valid" in facts.text
    assert "(ρ = −0.900, p = 0.002)" in facts.text
    assert "the largest group of ties holds 10 of 30" in facts.text
    assert "moves ρ within [−1.000, −0.500]" in facts.text


def test_comparison_is_small_multiples_of_the_other_approaches_beside_ours():
    orders = [(approach, labeler) for approach in ("pl_all", "ours") for labeler in ("majority", "snorkel")]
    found = [*outcome_of(), *outcome_of(labeler="snorkel"), *outcome_of("pl_all", outcome="violation")]
    part = page(found, curve(*orders), curated(), CLASSES)
    (panels,) = blocks(part, Panels)
    assert [[series.name for series in plot.series] for plot in panels.plots] == [["majority", "snorkel"]]
    assert panels.note.endswith(
        "A right label of majority outranks a wrong one, by PL confidence, all LFs, 66\u202f% [61, 70] of the time, "
        "+5 points [2, 8] against ours (p < 0.001)."
    )
    assert not blocks(page(outcome_of(), curve(), curated(), CLASSES), Panels)


def test_an_approach_is_said_with_its_corrected_p():
    orders = [(approach, "majority") for approach in ("pl_all", "pl_indep", "ci_all", "ours")]
    units = {"ours": CONCLUDED}
    tests = [
        replace(one, unit=units.get(approach, COMPARED)) if one.metric == "ordering.trend_p" else one
        for approach, p in (("pl_all", 0.006), ("pl_indep", 0.0005), ("ci_all", 0.4), ("ours", 0.009))
        for one in outcome_of(approach, outcome="adverse" if p < 0.01 else NEEDED, p=p)
    ]
    found = corrected(tests, 0.01)
    (panels,) = blocks(page(found, curve(*orders), curated(), CLASSES), Panels)
    assert "(p = 0.012 after Holm); by PL confidence, panel" in panels.note


def test_how_far_the_confidence_is_from_a_chance_is_said():
    error = Finding("weak_labels.ece", group="majority", value=0.21, low=0.13, high=0.26, n=30)
    texts = [block.text for block in blocks(page([*outcome_of(), error], curve(), curated(), CLASSES), Paragraph)]
    assert "On average it is 21\u202f% [13, 26] away from the share that is right" in texts[1]


def test_the_hardest_come_first_with_what_rules_say_and_unvoted_samples_stand_apart():
    order = curated()
    votes = pa.array(
        [
            0 if sample == "s28" else cast
            for sample, cast in zip(order["id"].to_pylist(), order["votes_cast"].to_pylist(), strict=True)
        ],
        pa.int32(),
    )
    order = order.set_column(order.column_names.index("votes_cast"), "votes_cast", votes)
    part = page(outcome_of(), curve(), order, CLASSES)
    part = with_looks(part, {"s29": NamedSample("s29", votes="border says benign")})
    hardest, unvoted = [each.shown for each in blocks(part, SampleList)]
    name, why, votes = hardest.rows[0]
    assert (name, votes) == ("s29", "border says benign")
    assert why.startswith("labelled malignant; confidence 75\u202f% · 50\u202f% to 100\u202f% of votes won")
    assert [row[0] for row in unvoted.rows] == ["s28"]
    assert "in truth malignant" in unvoted.rows[0][1]
    assert (part.samples[0].note, part.samples[0].votes) == ("labelled malignant", "border says benign")


def test_where_all_have_one_score_no_sample_is_called_the_most_adversarial():
    order = curated()
    tied = order.set_column(order.column_names.index("lower"), "lower", pa.array([0.5] * order.num_rows))
    part = page(outcome_of(), curve(), tied, CLASSES)
    assert blocks(part, SampleList) == []
    assert part.samples == []


def test_plateaus_are_groups_of_ties():
    plot = interval_plot(curated(), curated().num_rows)
    assert "3 plateaus for 30 samples" in plot.note
    assert plot.series[0].x == [1, 11, 21, 30]
    assert plot.series[0].y == pytest.approx([0.9, 0.7, 0.5, 0.5])


def test_many_plateaus_are_thinned():
    table = curated(500).set_column(5, CuratedSets.schema.field("lower"), pa.array(np.linspace(0.9, 0.1, 500)))
    series = interval_plot(table, table.num_rows).series[0]
    assert len(series.x) <= 61
    assert (series.x[0], series.x[-1]) == (1, 500)


def test_rows_in_any_order_make_the_same_page():
    shuffled = np.random.default_rng(0).permutation(30)
    same = page(outcome_of(), curve(), curated().take(shuffled), CLASSES)
    assert same == page(outcome_of(), curve(), curated(), CLASSES)
