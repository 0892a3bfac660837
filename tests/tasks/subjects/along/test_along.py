"""Subjects of images and texts along the order: who is counted, on which stratum, under which circumstance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.infra.stages.exact import Seeds
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED
from assay.tasks.statistics.order_test import group_trend
from assay.tasks.subjects.along import findings as under
from assay.tasks.subjects.along.findings import along_findings, gain_findings
from assay.tasks.subjects.along.page import along, page

N = 120
SEEDS = Seeds(0, "along")
IDS = [f"s{row:03}" for row in range(N)]
GOLD = np.arange(N) % 2
STRATUM = np.arange(N) // 24 + 1  # five strata of 24


def order(audited: list[str], gold: np.ndarray = GOLD, undecided: np.ndarray | None = None) -> under.OrderedSamples:
    """An order in which the label of the last two strata is wrong; every sample is a cluster of its own."""
    label = np.where(STRATUM > 3, 1 - GOLD, GOLD)
    curated = pa.table(
        {
            "id": IDS,
            "rank": np.arange(N),
            "dataset": STRATUM.astype(np.int32),
            "lower": 1 - np.arange(N) / N,
            "label": label.astype(np.int16),
            "gold": pa.array(gold, pa.int16(), mask=gold < 0),
        }
    )
    doubt = np.zeros(N, bool) if undecided is None else undecided
    shuffled = np.random.default_rng(0).permutation(N)
    return under.ordered_samples(
        curated.take(pa.array(shuffled)),
        pa.table({"id": IDS, "undecided": doubt}),
        pa.table({"id": IDS, "cluster": np.arange(N), "pattern": np.arange(N)}),
        pa.chunked_array([audited]),
    )


def predictions(wrong: np.ndarray, ids: list[str] = IDS) -> pa.Table:
    rows = np.array([IDS.index(one) for one in ids])
    return pa.table({"id": ids, "predicted": np.where(wrong[rows], 1 - GOLD[rows], GOLD[rows]).astype(np.int16)})


def measured(ordered: under.OrderedSamples, found: list[under.Circumstance], **options: bool) -> FindingIndex:
    settings = {"concluded": True, "only_decided": True, **options}
    return FindingIndex(
        along_findings(ordered, found, subject="net", datasets=5, significance=0.01, seeds=SEEDS, **settings)
    )


def test_only_audited_samples_count_on_their_stratum_and_on_every_later_data_set() -> None:
    audited = IDS[::2]
    ordered = order(audited)
    found = measured(ordered, list(under.clean(ordered, predictions(STRATUM == 5, audited[::-1]))))
    strata = along(found, "net", "clean")
    assert [(one.value, one.n) for one in strata] == [(1, 12)] * 4 + [(0, 12)]
    nested = [found.get("along.accuracy", "net", "clean", f"D{i}") for i in range(1, 6)]
    assert [(one.value, one.n) for one in nested if one] == [(1, 12), (1, 24), (1, 36), (1, 48), (0.8, 60)]
    agreement = along(found, "net", "weak")
    assert [one.value for one in agreement] == [1, 1, 1, 0, 1]  # wrong labels on 4; on 5 both are wrong


def test_errors_at_the_hard_end_are_adverse_at_the_easy_end_a_violation_and_spread_out_nothing() -> None:
    ordered = order(IDS)
    spread = np.random.default_rng(1).random(N) < 0.3
    for wrong, said in ((STRATUM >= 4, "adverse"), (STRATUM <= 2, "violation"), (spread, "not shown")):
        tested = measured(ordered, list(under.clean(ordered, predictions(wrong)))).entry(
            "along.trend_p", "net", "clean"
        )
        assert tested is not None
        assert (tested.verdict.partition(":")[0], tested.unit, tested.n) == (said, CONCLUDED, N)
    none = measured(ordered, list(under.clean(ordered, predictions(STRATUM > 9))))
    silent = none.entry("along.trend_p", "net", "clean")
    assert silent is not None
    assert (silent.value, silent.verdict) == (None, "not measured: no answer is wrong")


def test_undecided_samples_stay_out_of_the_trend_but_not_of_their_stratum() -> None:
    ordered = order(IDS, undecided=STRATUM == 5)
    found = list(under.clean(ordered, predictions(STRATUM >= 4)))
    apart, together = measured(ordered, found), measured(ordered, found, only_decided=False)
    assert [index.entry("along.trend_p", "net", "clean").n for index in (apart, together)] == [96, 120]
    assert [one.n for one in along(apart, "net", "clean")] == [24] * 5


def test_attacks_are_followed_at_every_eps_and_only_compared() -> None:
    ordered = order(IDS)
    records = pa.table(
        {
            "id": IDS * 3,
            "eps": np.repeat([0.0, 0.1, 4 / 255], N),
            "attacked": np.concatenate([GOLD, 1 - GOLD, np.where(STRATUM > 2, 1 - GOLD, GOLD)]).astype(np.int16),
        }
    )
    found = measured(ordered, list(under.attacked(ordered, "pgd", records)))
    assert found.distinct("group", "along.trend_p") == ["eps=4/255", "eps=0.1"]
    assert [one.value for one in along(found, "net", "pgd", "eps=4/255")] == [1, 1, 0, 0, 0]
    assert [one.value for one in along(found, "net", "pgd", "eps=0.1")] == [0] * 5
    assert {one.unit for one in found.select("along.trend_p") if one.value is not None} == {COMPARED}


def test_noise_and_corruptions_count_a_sample_as_often_as_it_was_shown() -> None:
    ordered = order(IDS)
    made = pa.table(
        {"id": [f"{one}+{kind}" for one in IDS for kind in "ab"], "whose": np.repeat(IDS, 2), "level": [3] * 2 * N}
    )
    answers = pa.table({"id": made["id"], "predicted": np.stack([GOLD, 1 - GOLD], axis=1).ravel().astype(np.int16)})
    noisy = measured(ordered, list(under.noisy(ordered, "noise", answers, made, ("whose", "level"))))
    assert [(one.value, one.n) for one in along(noisy, "net", "noise", "severity=3")] == [(0.5, 48)] * 5
    judged = [2] * N + [0] * N  # of two frames at severity 1, one is right; at severity 3 nobody knows the truth
    flips = pa.table({"id": IDS * 2, "severity": [1] * N + [3] * N, "correct": [1] * N + [0] * N, "judged": judged})
    found = list(under.corrupted(ordered, flips))
    assert [(one.group, len(one.places)) for one in found] == [("severity=1", 2 * N), ("severity=3", 0)]
    assert {one.value for one in along(measured(ordered, found), "net", "corruptions", "severity=1")} == {0.5}


def test_without_gold_the_labels_are_agreed_with_and_nothing_else_is_measured() -> None:
    ordered = order(IDS, gold=np.full(N, -1))
    found = measured(ordered, list(under.clean(ordered, predictions(STRATUM == 5))))
    assert along(found, "net", "clean") == []
    assert found.entry("along.trend_p", "net", "clean").verdict == "not measured: no true label is known"
    assert len(along(found, "net", "weak")) == 5
    assert "no gold labels" in page(found).sentence


def test_the_page_draws_a_line_per_circumstance_and_says_where_it_falls() -> None:
    ordered = order(IDS)
    records = pa.table(
        {"id": IDS, "eps": [0.1] * N, "attacked": np.where(STRATUM > 1, 1 - GOLD, GOLD).astype(np.int16)}
    )
    shown = [*under.clean(ordered, predictions(STRATUM >= 4)), *under.attacked(ordered, "pgd", records)]
    part = page(measured(ordered, shown))
    assert [one.name for one in part.blocks[0].series] == [
        "as they are, by gold",
        "agreement with the weak label",
        "pgd ε = 0.1",
    ]
    assert part.sentence.startswith("By gold net is right on 100\u202f%")
    assert "of the hardest (n = 24); falls along the order (p < 0.001)" in part.sentence


@pytest.mark.parametrize("copy", [True, False])
def test_what_a_defended_copy_shows_is_only_compared(copy: bool) -> None:
    ordered = order(IDS)
    found = measured(ordered, list(under.clean(ordered, predictions(STRATUM >= 4))), concluded=not copy)
    tested: Finding | None = found.entry("along.trend_p", "net", "clean")
    assert tested is not None
    assert tested.unit == (COMPARED if copy else CONCLUDED)


def attacked_answers(ordered: under.OrderedSamples, wrong: np.ndarray) -> pa.Table:
    """The answers of a model that an attack turns wrong here, and that is right on everything clean."""
    records = pa.table({"id": IDS, "eps": [0.1] * N, "attacked": np.where(wrong, 1 - GOLD, GOLD).astype(np.int16)})
    shown = [*under.clean(ordered, predictions(np.zeros(N, bool))), *under.attacked(ordered, "pgd", records)]
    return under.answered(ordered, shown)


def gains(before: np.ndarray, after: np.ndarray, only_decided: bool = True) -> FindingIndex:
    ordered = order(IDS)
    tables = [attacked_answers(ordered, wrong) for wrong in (before, after)]
    return FindingIndex(gain_findings(*tables, copy="net+d", significance=0.01, only_decided=only_decided, seeds=SEEDS))


def test_a_defence_that_helps_only_where_it_is_easy_is_told_from_one_that_helps_everywhere() -> None:
    draw = np.random.default_rng(3)
    lost = draw.random(N) < 0.8
    easy, hard = (gains(lost, lost & here) for here in (STRATUM > 2, STRATUM <= 3))
    for found, where in ((easy, "more where it is easy"), (hard, "more where it is hard")):
        tested = found.get("along.gain_trend_p", "net+d", "pgd", "eps=0.1")
        assert (tested.verdict, tested.unit, tested.n) == (where, COMPARED, N)
    strata = along(easy, "net+d", "pgd", "eps=0.1", "along.gain")
    assert [one.value > 0.5 for one in strata] == [True, True, False, False, False]
    assert [one.value for one in strata[2:]] == [0, 0, 0]
    everywhere = gains(lost, lost & (draw.random(N) < 0.3)).get("along.gain_trend_p", "net+d", "pgd", "eps=0.1")
    assert everywhere.verdict.startswith("not shown")
    clean = easy.entry("along.gain_trend_p", "net+d", "clean")
    assert (clean.value, clean.verdict) == (None, "not measured: the defence changes every answer alike")


def test_the_overall_gain_is_the_paired_difference_and_the_page_says_where_it_is_larger() -> None:
    lost = np.random.default_rng(3).random(N) < 0.8
    found = gains(lost, lost & (STRATUM > 2))
    overall = found.get("along.gain", "net+d", "pgd", "eps=0.1")
    assert overall.value == pytest.approx((lost & (STRATUM <= 2)).mean())
    assert overall.low < overall.value < overall.high
    assert (
        "Than its original, on the same samples, net+d gains more where it is easy (pgd ε = 0.1, p"
        in page(found).sentence
    )


def test_gains_along_the_order_are_false_alarms_no_oftener_than_they_may() -> None:
    """Where a defence helps everywhere alike, the interaction is shown in about the share of draws that it may be."""
    draw, shown = np.random.default_rng(11), 0
    for _ in range(200):
        scores, clusters = draw.integers(0, 40, 300), np.arange(300) // 2
        gain = draw.choice([-1, 0, 1], 300, p=[0.1, 0.6, 0.3])
        shown += group_trend(scores, gain, clusters).p_value <= 0.05
    assert shown <= 18  # 10 expected; 18 has a chance of .006 beyond


def test_what_is_answered_several_times_is_compared_with_nothing() -> None:
    ordered = order(IDS)
    flips = pa.table({"id": IDS, "severity": [1] * N, "correct": [1] * N, "judged": [2] * N})
    table = under.answered(ordered, list(under.corrupted(ordered, flips)))
    assert (table["times"].to_pylist(), table["right"].to_pylist()) == ([2] * N, [1] * N)
    assert gain_findings(table, table, copy="c", significance=0.01, only_decided=True, seeds=SEEDS) == []
