"""From records of attacked samples to findings, by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Attacked
from assay.tasks.attacks.measures import attack_findings, mean_of, trials
from assay.tasks.statistics.findings import Finding

GOLD = [0, 0, 0, 1, 1, None]
CLEAN = [0, 0, 1, 1, 1, 0]  # the third is wrong already
MOVED = [1, 0, 0, 0, 1, 1]  # four change their prediction, the third to the right one


def records(attack: str = "pgd", eps: float = 4 / 255, winner: list[str] | None = None) -> pa.Table:
    probabilities = [[1.0 - 0.8 * code - 0.1, 0.8 * code + 0.1] for code in MOVED]
    columns = [
        [f"s{i}" for i in range(6)],
        ["plain"] * 6,
        [attack] * 6,
        [eps] * 6,
        GOLD,
        [None] * 6,
        CLEAN,
        MOVED,
        [[0.5, 0.5]] * 6,
        probabilities,
        [True, False, False, True, False, True],
        [0.01] * 5 + [0.02],
        [0.1] * 6,
        [1, 2, 3, 4, 5, 6],
        [7] * 6,
        winner or [None] * 6,
    ]
    return pa.table(columns, schema=Attacked.schema)


def by_name(findings: list[Finding]) -> dict[tuple[str, str], Finding]:
    return {(one.metric.removeprefix("attack."), one.group): one for one in findings}


def test_each_number_is_what_counting_by_hand_gives() -> None:
    (trial,) = trials([records()])
    found = by_name(attack_findings(trial, ["benign", "malignant"]))
    at = "eps=4/255"
    # The unknown one is not judged, and the third, wrong before the attack, is not right for having been moved there.
    assert (found["accuracy", at].value, found["accuracy", at].n) == (2 / 5, 5)
    assert (found["fooling_rate", at].value, found["fooling_rate", at].n) == (4 / 6, 6)
    assert (found["success_rate", at].value, found["success_rate", at].n) == (3 / 5, 5)  # the third was wrong before
    assert (found["recall", f"{at}, benign"].value, found["recall", f"{at}, malignant"].value) == (1 / 3, 1 / 2)
    assert found["majority_rate", at].value == 3 / 5
    assert found["auc", at].value == pytest.approx(3.5 / 6)
    assert (found["steps", at].value, found["steps", at].unit) == (3.5, "steps")
    assert found["distance", at].value == pytest.approx(0.07 / 6)
    assert found["degenerate", at].verdict == "varied"
    assert {(one.of, one.subject) for one in found.values()} == {("pgd", "plain")}
    assert all(one.n for one in found.values())
    assert all(one.low is None or one.low <= one.value <= one.high for one in found.values())


def test_findings_do_not_depend_on_the_order_of_the_records() -> None:
    shuffled = records().take(pa.array([4, 2, 0, 5, 1, 3]))
    (one,), (other,) = trials([records()]), trials([shuffled])
    assert attack_findings(one, ["a", "b"]) == attack_findings(other, ["a", "b"])


def test_several_eps_and_attacks_of_one_table_are_told_apart() -> None:
    table = pa.concat_tables([records(eps=0.1), records(eps=0.0), records("fgsm", 0.1)])
    assert [(one.attack, one.group) for one in trials([table])] == [
        ("fgsm", "eps=0.1"),
        ("pgd", "eps=0"),
        ("pgd", "eps=0.1"),
    ]


def test_samples_of_the_class_that_is_aimed_at_have_no_part_in_the_success_rate() -> None:
    (trial,) = trials([records()])
    # GOLD is 0, 0, 0, 1, 1 and unknown, which the subject calls 0; success is that of the first, fourth and sixth.
    for target, expected in ((0, (1 / 2, 2)), (1, (2 / 3, 3))):
        rate = by_name(attack_findings(trial, ["benign", "malignant"], target=target))["success_rate", "eps=4/255"]
        assert (rate.value, rate.n) == expected


def test_nothing_succeeds_on_clean_images() -> None:
    clean = records(eps=0.0)
    wrong = [known is not None and known != said for known, said in zip(GOLD, CLEAN, strict=True)]
    for name, values in (("attacked", CLEAN), ("success", wrong)):  # of what is wrong anyway the goal is reached
        field = Attacked.schema.field(name)
        clean = clean.set_column(clean.column_names.index(name), field, pa.array(values, field.type))
    (trial,) = trials([clean])
    assert by_name(attack_findings(trial, ["benign", "malignant"]))["success_rate", "eps=0"].value == 0.0


def test_a_split_that_is_not_audited_stands_in_the_group() -> None:
    (trial,) = trials([records("gap", 7 / 255)])
    groups = {one.group for one in attack_findings(trial, ["benign", "malignant"], "training")}
    assert groups == {"eps=7/255, training", "eps=7/255, training, benign", "eps=7/255, training, malignant"}


def test_the_worst_case_says_whose_images_won() -> None:
    (trial,) = trials([records("worst-case", winner=["pgd", "pgd", "pgd", "fgsm", "pgd", "pgd"])])
    found = by_name(attack_findings(trial, ["benign", "malignant"]))
    assert found["winner", "eps=4/255, pgd"].value == pytest.approx(2 / 3)  # of the three that fell
    assert found["winner", "eps=4/255, fgsm"].value == pytest.approx(1 / 3)


def test_of_several_labels_rates_are_means_over_labels() -> None:
    labels, clean = [[1, 0], [0, 1], [-1, 1]], [[0.9, 0.1], [0.1, 0.9], [0.2, 0.6]]
    moved = [[0.4, 0.1], [0.1, 0.3], [0.7, 0.6]]
    columns = [
        ["a", "b", "c"],
        ["plain"] * 3,
        ["pgd"] * 3,
        [0.1] * 3,
        [None] * 3,
        labels,
        [-1] * 3,
        [-1] * 3,
        clean,
        moved,
        [True] * 3,
        [0.1] * 3,
        [0.2] * 3,
        [1] * 3,
        [1] * 3,
        [None] * 3,
    ]
    (trial,) = trials([pa.table(columns, schema=Attacked.schema)])
    found = by_name(attack_findings(trial, ["mass", "nodule"]))
    assert found["accuracy", "eps=0.1"].value == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["fooling_rate", "eps=0.1"].value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found["recall", "eps=0.1, mass"].n == 1


def test_a_mean_has_students_interval_and_one_value_has_none() -> None:
    found = mean_of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (found.value, found.low, found.high) == pytest.approx((2.5, 0.4457, 4.5543), abs=1e-4)
    assert (mean_of(np.array([2.0])).value, mean_of(np.array([2.0])).low) == (2.0, None)
    assert mean_of(np.array([])).value is None


def test_a_mean_of_twins_is_that_of_their_groups() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    once, twins = mean_of(values), mean_of(np.repeat(values, 2), np.repeat([7, 3, 9, 1], 2))
    assert (twins.value, twins.low, twins.high, twins.n) == pytest.approx((once.value, once.low, once.high, 8))
    assert (mean_of(values, np.zeros(4, int)).value, mean_of(values, np.zeros(4, int)).low) == (2.5, None)


def test_confidences_under_attack_are_held_against_the_attacked_answers() -> None:
    (trial,) = trials([records()])
    found = by_name(attack_findings(trial, ["benign", "malignant"]))
    at = "eps=4/255"
    # By hand: all are 90 % sure; of the five that are known the second, the third and the fifth are right.
    assert 0.2 < found["ece", at].value < 0.9 - 3 / 5  # without what chance adds
    assert found["ece_by_chance", at].value > 0
    assert found["brier", at].value == pytest.approx((3 * 2 * 0.1**2 + 2 * 2 * 0.9**2) / 5)
    assert {found[name, at].n for name in ("ece", "brier", "aurc")} == {5}
    assert not [group for metric, group in found if metric == "class_auc"]  # of two classes there is one area only


def test_clean_images_and_other_splits_leave_confidences_to_the_subjects_own_findings() -> None:
    (clean,), (learned,) = trials([records(eps=0.0)]), trials([records("gap")])
    worth = {"ece", "brier", "aurc", "class_auc"}
    for found in (attack_findings(clean, ["a", "b"]), attack_findings(learned, ["a", "b"], "training")):
        assert not worth & {metric for metric, _ in by_name(found)}


def test_every_class_has_an_area_of_its_own_under_attack() -> None:
    three = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.3, 0.3, 0.4], [1, 0, 0]])
    table = records()
    for name, values in (
        ("gold", [0, 1, 2, 2, 1, None]),
        ("attacked", three.argmax(1)),
        ("attacked_probabilities", three.tolist()),
    ):
        field = Attacked.schema.field(name)
        table = table.set_column(table.column_names.index(name), field, pa.array(values, field.type))
    (trial,) = trials([table])
    found = by_name(attack_findings(trial, ["a", "b", "c"]))
    areas = [found["class_auc", f"eps=4/255, {name}"].value for name in "abc"]
    assert areas == pytest.approx([4 / 4, 4.5 / 6, 5 / 6])
    assert np.mean(areas) == pytest.approx(found["auc", "eps=4/255"].value)
