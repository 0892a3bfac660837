"""A defence is held against its original sample by sample, and the tests that are concluded from are few and fixed."""

import numpy as np
import pytest

from assay.infra.stages.exact import Seeds
from assay.tasks.defenses.comparison import (
    CLEAN,
    Answers,
    accuracy_findings,
    class_gain_findings,
    comparison_findings,
    deciding_answers,
    paired_gain,
)
from assay.tasks.statistics.multiplicity import family_size
from assay.tasks.statistics.paired import mcnemar

NEEDED = "not shown: p ≤ 0.01 needed"

SEEDS = Seeds(0, "measure_defences")
CLASSES = ("a", "b")


def answers(right: list[int], attack: str = "", group: str = CLEAN) -> Answers:
    """Answers that are right where there is a 1; where there is a −1 nobody knows."""
    truth = np.array([row % 2 if one >= 0 else -1 for row, one in enumerate(right)], np.int64)
    said = np.array([row % 2 if one == 1 else 1 - row % 2 for row, one in enumerate(right)], np.int64)
    return Answers(attack, group, np.array([f"s{row:03}" for row in range(len(right))]), said, truth)


def everything(clean: list[int], attacked: list[int]) -> list[Answers]:
    named = (("pgd", "eps=0.1"), ("pgd", "eps=0.2"), ("worst-case", "eps=0.1"), ("worst-case", "eps=0.2"))
    return [answers(clean), *(answers(attacked, attack, group) for attack, group in named)]


def test_gain_and_p_are_those_of_the_pairs():
    before, after = answers([1, 1, 0, 0, 0, 0, 0, 0, 1, -1]), answers([0, 1, 1, 1, 1, 1, 1, 0, 1, -1])
    gain, p = paired_gain(before, after, np.random.default_rng(0))
    assert (gain.value, gain.n) == (pytest.approx(4 / 9), 9)
    assert gain.low < gain.value < gain.high
    assert p == mcnemar([1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]) == pytest.approx(8 / 64)


def test_with_several_labels_a_sample_counts_for_the_model_that_has_more_of_them_right():
    truth = np.array([[1, 0, 1], [0, 0, -1], [1, 1, 1], [-1, -1, -1]])
    ids = np.array(["s0", "s1", "s2", "s3"])
    first = Answers("", CLEAN, ids, np.array([[1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]], bool), truth)
    second = Answers("", CLEAN, ids, np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]], bool), truth)
    assert first.right()[:3].tolist() == [2, 0, 3]
    assert np.isnan(first.right()[3])
    gain, p = paired_gain(first, second, np.random.default_rng(0))
    assert gain.value == pytest.approx((1 / 3 - 1 / 3 + 0) / 3, abs=1e-12)  # label by label, as the accuracies
    assert p == pytest.approx(5 / 8)  # two samples for the second, one for the first


def test_a_gain_is_the_difference_of_the_accuracies_also_where_few_know_a_label():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (200, 2))
    truth[20:, 1] = -1  # of the second label a tenth is known
    before, after = truth.copy(), truth.copy()
    before[:20, 1] = 1 - truth[:20, 1]  # and the first model is wrong on all of that
    ids = np.array([f"s{at:03}" for at in range(200)])
    first, second = (Answers("", CLEAN, ids, said == 1, truth) for said in (before, after))
    gain, _ = paired_gain(first, second, np.random.default_rng(0))
    assert gain.value == pytest.approx(0.5)  # accuracies of .5 and 1; it was .05
    assert gain.low < 0.5 < gain.high


def test_answers_to_other_samples_are_not_compared():
    with pytest.raises(ValueError, match="same samples"):
        paired_gain(answers([1, 0]), answers([1, 0, 1]), np.random.default_rng(0))


def test_two_tests_per_defence_enter_the_family_whatever_was_attacked():
    before, after = everything([1] * 20, [0] * 20), everything([1] * 19 + [0], [1] * 18 + [0] * 2)
    found = comparison_findings(before, after, "mpadvt", "plain", telling="eps=0.1", significance=0.01, seeds=SEEDS)
    tests = [one for one in found if one.unit == "p"]
    assert family_size(found) == len(tests) == 2
    assert [(one.group, one.verdict) for one in tests] == [("clean", NEEDED), ("eps=0.1, worst-case", "better")]
    assert {one.metric for one in tests} == {"defense.mcnemar_p"}
    gains = {one.group: one for one in found if one.metric == "defense.gain"}
    assert set(gains) == {"clean", *(f"{eps}, {of}" for eps in ("eps=0.1", "eps=0.2") for of in ("pgd", "worst-case"))}
    assert gains["eps=0.2, pgd"].value == pytest.approx(0.9)
    assert gains["eps=0.2, pgd"].p_value == pytest.approx(0.5**18)


def test_a_defence_that_costs_accuracy_is_said_to_be_worse():
    found = comparison_findings(
        everything([1] * 20, [1] * 20),
        everything([0] * 20, [1] * 20),
        "standard",
        "plain",
        telling="eps=0.1",
        significance=0.01,
        seeds=SEEDS,
    )
    assert [one.verdict for one in found if one.unit == "p"] == ["worse", NEEDED]


def test_the_worst_case_decides_where_there_is_one_and_else_the_first_attack():
    assert [one.label for one in deciding_answers(everything([1], [1]))] == [
        "clean",
        "eps=0.1, worst-case",
        "eps=0.2, worst-case",
    ]
    alone = [answers([1]), answers([1], "pgd", "eps=0.1"), answers([1], "fgsm", "eps=0.1")]
    assert [one.label for one in deciding_answers(alone)] == ["clean", "eps=0.1, pgd"]


def test_a_model_that_says_one_thing_is_called_degenerate_however_much_it_withstands():
    truth = np.array([0] * 80 + [1] * 20)
    same = Answers("pgd", "eps=0.1", np.array([f"s{row:03}" for row in range(100)]), np.zeros(100, np.int64), truth)
    found, *beside = accuracy_findings([same], "standard", "plain", ("benign", "malignant"))
    assert (found.value, found.of, found.group, found.subject) == (0.8, "standard", "eps=0.1", "plain")
    assert found.verdict == "degenerate: 100.0% of samples are called benign"
    named = {(one.metric, one.value, one.verdict) for one in beside}
    assert ("defense.worst_recall", 0.0, "malignant") in named
    assert {("defense.balanced_accuracy", 0.5, ""), ("defense.constant_accuracy", 0.8, "")} < named
    honest, *_ = accuracy_findings([answers([1] * 9 + [0])], "standard", "plain", CLASSES)
    assert (honest.verdict, honest.group) == ("", "clean")


def test_a_defence_that_loses_the_rare_class_is_named_with_it_however_much_it_gains():
    rare, common = 36, 144
    truth = np.repeat([1, 0], [rare, common])
    ids = np.array([f"s{at:03}" for at in range(rare + common)])
    before = Answers("", CLEAN, ids, np.where(np.arange(180) < 17, 1, 0), truth)
    after = Answers("", CLEAN, ids, np.where(np.arange(180) < 11, 1, 0), truth)
    names = ("benign", "malignant")
    found = class_gain_findings(
        {CLEAN: before}, {CLEAN: after}, "standard", "net", names, significance=0.01, margin=0.05
    )
    by_name = {(one.metric, one.group): one for one in found}
    lost = by_name["defense.recall_gain", "clean, malignant"]
    assert (lost.value, lost.n) == (pytest.approx(-6 / 36), 36)
    assert lost.p_value == pytest.approx(1 / 64)
    assert lost.high < 0
    assert by_name["defense.worst_recall_gain", CLEAN].verdict == "malignant"
    assert by_name["defense.balanced_gain", CLEAN].value == pytest.approx(-3 / 36)
    assert by_name["defense.kept_p", CLEAN].verdict == NEEDED
    recalls = {
        one.group: one.value
        for one in accuracy_findings([before], "none", "net", names)
        if one.metric == "defense.recall"
    }
    assert recalls == {"clean, benign": 1.0, "clean, malignant": pytest.approx(17 / 36)}
