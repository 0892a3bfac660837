"""Accuracy, fooling rate and the verdict on predictors that know one answer, by hand and on the paper's counts.

And: the named worst, or best, of several keeps the promise of its interval.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from assay.tasks.attacks.chance.flips import mean_share
from assay.tasks.statistics.class_scores import class_counts
from assay.tasks.statistics.classification import (
    Proportion,
    accuracy,
    extreme_share,
    fooling_rate,
    joint_level,
    majority_rate,
    one_answer,
    prediction_entropy,
    proportion,
    proportion_of,
)
from assay.tasks.statistics.classification_findings import About, prediction_findings
from assay.tasks.statistics.clusters import clustered_wilson
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import wilson

MELANOMA = np.repeat([0, 1], [304, 75])  # the paper's test set: benign, malignant


def test_single_label_intervals_are_wilsons() -> None:
    found = accuracy(np.array([0, 1, 1, 1, 0]), np.array([0, 1, 0, 1, -1]))
    low, high = wilson([3], [4])
    assert (found.value, found.low, found.high, found.n) == (0.75, low[0], high[0], 4)


def test_accuracy_of_labels_is_the_mean_of_each_labels_own() -> None:
    said = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], bool)
    truth = np.array([[1, 0], [0, 1], [0, -1], [0, -1]])
    assert accuracy(said, truth).value == (3 / 4 + 2 / 2) / 2


def test_interval_of_labels_covers_the_truth_where_labels_fail_together() -> None:
    rng, covered, nights = np.random.default_rng(2), 0, 400
    for _ in range(nights):
        blurred = rng.random((80, 1)) < 0.4  # on such a sample every label is likelier to be missed
        found = proportion(rng.random((80, 14)) < np.where(blurred, 0.4, 0.95))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.4 * 0.4 + 0.6 * 0.95 <= found.high
    assert 0.92 <= covered / nights <= 0.98


def test_recall_of_a_class_that_is_not_there_is_not_measured() -> None:
    counts = class_counts(np.array([0, 0, 1]), np.array([0, 0, 0]), 2)
    assert [counts.recall(code).value for code in range(2)] == [2 / 3, None]


def test_recall_of_a_label_looks_at_its_own_samples_only() -> None:
    counts = class_counts(np.array([[1, 1], [0, 1]], bool), np.array([[1, 0], [1, -1]]), 2)
    assert [(one.value, one.n) for one in map(counts.recall, range(2))] == [(0.5, 2), (None, 0)]


@pytest.mark.parametrize("sizes", [[60] + [1] * 40, [50] * 3 + [3] * 17])
def test_groups_of_unequal_size_count_by_their_sizes(sizes: list[int]) -> None:
    """One patient of 60 images beside 40 of one: as 41 groups, 95 % intervals held the truth in 60 to 79 of 100."""
    codes, rng, shares, means = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(5), 0, 0
    for _ in range(200):
        right = rng.random(len(codes)) < rng.beta(1.4, 0.6, len(sizes))[codes]
        found, floor = proportion(right, groups=codes), mean_share(Finding("a.b"), right.astype(float), codes)
        shares += found.low <= 0.7 <= found.high
        means += floor.low <= 0.7 <= floor.high
    assert min(shares, means) >= 172


def test_a_share_by_group_is_the_same_of_samples_and_of_their_numbers() -> None:
    rng, codes = np.random.default_rng(0), np.repeat(np.arange(9), np.arange(1, 10))
    right = rng.random(45) < 0.7
    counted = proportion_of(np.bincount(codes, right).astype(int), np.bincount(codes), groups=np.arange(9))
    low, high = clustered_wilson(right, codes)
    for found in (counted, proportion(right, groups=codes)):
        assert (found.value, found.low, found.high) == pytest.approx((right.mean(), low, high), abs=1e-12)


def test_fooling_rate_counts_samples_that_were_wrong_already() -> None:
    gold, before, after = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 0, 0])
    assert fooling_rate(before, after).value == pytest.approx(2 / 3)
    assert accuracy(after, gold).value == pytest.approx(1 / 3)


def test_fooling_rate_of_labels_is_per_label_then_the_mean() -> None:
    before = np.array([[1, 0, 0], [1, 1, 0]], bool)
    after = np.array([[0, 0, 0], [1, 0, 0]], bool)
    assert fooling_rate(before, after).value == pytest.approx((0.5 + 0.5 + 0.0) / 3)


def test_majority_rate_is_the_papers_standard_defence() -> None:
    assert majority_rate(MELANOMA, 2).value == 304 / 379
    assert round(100 * 304 / 379, 1) == 80.2


@pytest.mark.parametrize(("missed", "rightly"), [(0, 0), (2, 1), (6, 3)])
def test_a_predictor_that_knows_one_answer_is_degenerate(missed: int, rightly: int) -> None:
    """Calling two or six samples malignant, half of them rightly, is no knowledge either."""
    said = np.zeros(379, int)
    said[: missed - rightly] = 1
    said[379 - rightly :] = 1
    assert one_answer(said, MELANOMA, 2).verdict == "degenerate"


def test_an_honest_model_of_rare_cases_is_not_degenerate() -> None:
    truth = np.repeat([0, 1], [990, 10])
    said = truth.copy()
    said[990:996] = 0
    found = one_answer(said, truth, 2)
    assert found.share.value == 0.996
    assert found.verdict == "varied"


def test_a_model_that_is_wrong_in_many_ways_is_not_degenerate() -> None:
    assert one_answer((MELANOMA + 1) % 2, MELANOMA, 2).verdict == "varied"


def test_where_one_class_is_all_there_is_nobody_can_tell() -> None:
    assert one_answer(np.zeros(50, int), np.zeros(50, int), 2).verdict == "not measured"
    assert one_answer(np.zeros(50, int), np.full(50, -1), 2).verdict == "degenerate"


@pytest.mark.parametrize("wrong", [3, 6])
def test_other_answers_that_are_never_right_do_not_make_knowledge(wrong: int) -> None:
    """With six of 100 called malignant, all of them wrongly, no answer is given to 95 %, and nothing is known."""
    truth = np.repeat([0, 1], [80, 20])
    said = np.r_[np.ones(wrong, int), np.zeros(100 - wrong, int)]
    assert one_answer(said, truth, 2).verdict == "degenerate"
    some = said.copy()
    some[-4:] = 1  # a fifth of the malignant ones are found
    assert one_answer(some, truth, 2).verdict == "varied"


def test_an_attack_that_leaves_a_little_of_every_class_makes_no_constant_answer() -> None:
    truth = np.tile(np.arange(10), 100)
    said = np.where(np.arange(1000) % 25 == 0, truth, (truth + 1 + np.arange(1000) // 10 % 3) % 10)
    assert accuracy(said, truth).value == pytest.approx(0.04)
    assert one_answer(said, truth, 10).verdict == "varied"


def rare_labels(n: int = 500, k: int = 14) -> np.ndarray:
    return (np.random.default_rng(3).random((n, k)) < 0.1).astype(np.int8)


def test_labels_that_are_always_the_same_are_degenerate() -> None:
    truth = (np.random.default_rng(3).random((200, 4)) < [0.1, 0.2, 0.7, 0.3]).astype(int)
    constant = np.tile(np.array([False, False, True, False]), (200, 1))
    found = one_answer(constant, truth, 4)
    assert (found.answer, found.verdict, found.constant, found.judged) == ((2,), "degenerate", 4, 4)
    assert one_answer(truth == 1, truth, 4).verdict == "varied"


def test_one_label_that_tosses_a_coin_does_not_hide_that_all_others_are_constant() -> None:
    truth, said = rare_labels(), np.zeros((500, 14), bool)
    said[:, 0] = np.random.default_rng(5).random(500) < 0.3
    found = one_answer(said, truth, 14)
    assert (found.verdict, found.constant, found.judged) == ("varied", 13, 14)
    twenty = one_answer(
        np.tile(said[:, :1] & False, (1, 20)) | (np.arange(20) == 0) & said[:, :1], rare_labels(k=20), 20
    )
    assert (twenty.verdict, twenty.constant) == ("degenerate", 19)


def test_different_patterns_of_labels_do_not_hide_that_each_label_is_almost_constant() -> None:
    """Every tenth sample differs in one label or another, so that no pattern is frequent, and none of it is right."""
    truth, said = rare_labels(), np.zeros((500, 14), bool)
    rows = np.arange(0, 500, 3)
    said[rows, rows // 3 % 14] = truth[rows, rows // 3 % 14] == 0
    assert one_answer(said, truth, 14).verdict == "degenerate"


def test_labels_that_cannot_be_judged_do_not_count() -> None:
    truth, said = rare_labels(), np.zeros((500, 14), bool)
    truth[:, 3:] = 0
    found = one_answer(said, truth, 14)
    assert (found.verdict, found.constant, found.judged) == ("degenerate", 3, 3)


def test_the_verdict_on_labels_says_how_many_are_constant() -> None:
    truth, said = rare_labels(k=3), np.zeros((500, 3), bool)
    said[:, 0] = truth[:, 0] == 1
    for answers, expected in (
        (said, "varied: 2 of 3 labels are constant"),
        (truth == 1, "varied"),
        (said & False, "degenerate: 3 of 3 labels are constant"),
    ):
        found = prediction_findings(About("subject", "clean"), answers, answers * 0.9, truth, ["a", "b", "c"])
        assert found[-1].verdict == expected


def test_entropy_of_one_answer_is_zero_with_an_interval() -> None:
    few, many = prediction_entropy(np.zeros(10, int), 4), prediction_entropy(np.zeros(10_000, int), 4)
    assert few.value == many.value == 0.0
    assert few.high is not None
    assert many.high is not None
    assert few.high > 1.0
    assert 0 < many.high < 0.02


def test_entropy_is_log2_of_the_classes_said_equally_often() -> None:
    assert prediction_entropy(np.tile(np.arange(8), 5), 8).value == pytest.approx(3.0)
    even = prediction_entropy(np.tile(np.arange(2), 5), 2)
    assert (even.value, even.high) == (1.0, 1.0)
    assert even.low == pytest.approx(0.723, abs=1e-3)  # of ten answers, not certainly even of all
    assert prediction_entropy(np.array([[1, 0], [0, 0]], bool), 2).value == pytest.approx(0.5)


def test_findings_name_stage_attack_and_class() -> None:
    probabilities = np.eye(2)[MELANOMA] * 0.8 + 0.1
    about = About("attack", "pgd", "eps=4/255", "plain")
    found = prediction_findings(about, np.zeros(379, int), probabilities, MELANOMA, ["benign", "malignant"])
    by_name = {(one.metric, one.group): one for one in found}
    assert by_name["attack.accuracy", "eps=4/255"].value == by_name["attack.majority_rate", "eps=4/255"].value
    assert by_name["attack.auc", "eps=4/255"].value == 1.0
    assert by_name["attack.recall", "eps=4/255, malignant"].value == 0.0
    assert by_name["attack.degenerate", "eps=4/255"].verdict == "degenerate: every sample is called benign"
    assert {(one.of, one.subject) for one in found} == {("pgd", "plain")}
    assert all(one.n and one.low is not None and one.high is not None for one in found)


def test_without_a_known_class_only_the_answers_are_measured() -> None:
    found = prediction_findings(
        About("subject", "clean"), np.array([0, 1]), np.full((2, 2), 0.5), np.array([-1, -1]), ["a", "b"]
    )
    measured = {one.metric for one in found if one.value is not None}
    assert measured == {"subject.prediction_entropy", "subject.degenerate"}
    assert {one.verdict for one in found if one.value is None} == {"not measured"}


def coverage(
    draws: int,
    cells: int,
    n: int,
    share: float,
    *,
    seed: int,
    likeness: float = 0.36,
    group: int = 0,
    which: str = "lowest",
) -> tuple[float, float]:
    """How often the interval of the named cell holds its truth: ours, and the plain one."""
    rng, ours, plain = np.random.default_rng(seed), 0, 0
    groups = np.repeat(np.arange(n // group), group) if group else None
    known = np.ones(n, dtype=np.bool_)
    for _ in range(draws):
        hard = rng.normal(size=(n if groups is None else n // group, 1))
        hard = hard if groups is None else hard[groups]
        noise = rng.normal(size=(n, cells))
        right = likeness**0.5 * hard + (1 - likeness) ** 0.5 * noise < norm.ppf(share)
        at, named = extreme_share([(cell, known) for cell in right.T], which, groups)
        alone = proportion(right[:, at], known, groups=groups)
        ours += holds(named, share)
        plain += holds(alone, share)
    return ours / draws, plain / draws


def holds(interval: Proportion, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def test_the_named_worst_of_42_cells_is_covered():
    ours, plain = coverage(60, 42, 200, 0.8, seed=5)
    assert ours >= 0.93
    assert plain <= 0.75


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "n", "share", "more"),
    [
        (42, 200, 0.8, {}),
        (42, 450, 0.6, {"likeness": 0.6}),
        (42, 300, 0.8, {"group": 4, "likeness": 0.3}),
        (8, 200, 0.5, {"which": "highest"}),
    ],
)
def test_coverage_over_600_draws(cells: int, n: int, share: float, more: dict[str, object]):
    """At least .93 (600 draws: ± .01), where the plain interval holds .55 to .83."""
    ours, plain = coverage(600, cells, n, share, seed=7, **more)
    assert ours >= 0.93
    assert plain <= 0.85


def test_independent_cells_have_sidaks_level_and_cells_that_go_together_the_plain_one():
    assert joint_level(np.eye(42)) == pytest.approx(0.95 ** (1 / 42), abs=2e-4)
    assert joint_level(np.full((42, 42), 0.25)) == pytest.approx(0.95, abs=2e-3)
    assert joint_level(np.diag([0.25, 0.0, 0.0])) == 0.95  # what does not vary takes no part


@given(st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=6), st.permutations(range(12)))
@settings(max_examples=60, deadline=None)
def test_the_order_of_samples_does_not_matter_and_nothing_is_narrower_than_alone(cells, order):
    known = np.ones(12, dtype=np.bool_)
    at, worst = extreme_share([(np.array(cell), known) for cell in cells], "lowest")
    assert worst.value == min(np.mean(cell) for cell in cells)
    alone = proportion(cells[at], known)
    assert worst.low <= alone.low
    assert worst.high >= alone.high
    other, turned = extreme_share([(np.array(cell)[order], known) for cell in cells], "lowest")
    assert (other, turned.value) == (at, worst.value)
    assert (turned.low, turned.high) == pytest.approx((worst.low, worst.high), abs=1e-6)


def test_cells_of_which_nothing_is_known_are_left_out():
    known, unknown = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
    right = np.array([True, True, False, True])
    assert extreme_share([(right, unknown)], "lowest") is None
    at, worst = extreme_share([(right, unknown), (right, known)], "lowest")
    assert (at, worst.value, worst.n) == (1, 0.75, 4)


def test_twenty_samples_of_each_of_six_patients_say_less_of_the_answers_than_a_hundred_and_twenty_patients():
    answers, patients = np.repeat([0, 0, 0, 1, 1, 0], 20), np.repeat(np.arange(6), 20)
    about = About("subject", "clean")
    alone, grouped = (
        {one.metric: one for one in prediction_findings(about, answers, None, answers, ["a", "b"], groups=groups)}
        for groups in (None, patients)
    )
    for metric in ("subject.prediction_entropy", "subject.degenerate"):
        assert grouped[metric].value == alone[metric].value
        assert grouped[metric].low < alone[metric].low - 0.2, metric
    one_patient = prediction_entropy(answers, 2, 0 * patients)  # who says nothing of others
    assert (one_patient.low, one_patient.high) == (0, 1)
    assert prediction_entropy(np.zeros(1, np.int64), 2).high == 1  # half of the answers may be others


@pytest.mark.parametrize(("chances", "n"), [([0.1] * 10, 20), ([0.6, 0.4], 50), ([0.91, *[0.01] * 9], 50)])
def test_the_entropy_of_few_answers_is_held_as_often_as_said(chances: list[float], n: int) -> None:
    """It was held in 20, 91 and 78 of 100 draws."""
    rng, shares = np.random.default_rng(6), np.array(chances)
    truth, held = -(shares * np.log2(shares)).sum(), 0
    for _ in range(200):
        found = prediction_entropy(rng.choice(len(shares), n, p=shares), len(shares))
        held += found.low <= truth <= found.high + 1e-12
    assert held >= 184
