"""What attacks climb and when they have arrived, against numbers worked out by hand."""

import math

import pytest
import torch

from assay.infra.errors import InputError
from assay.tasks.attacks.criteria import criterion_for
from assay.tasks.attacks.pgd import PGD


def one_label(logits, truth, **options):
    values = torch.tensor(logits)
    return criterion_for(PGD(**options), values, torch.tensor(truth), multilabel=False), values


def many_labels(logits, truth, **options):
    values = torch.tensor(logits)
    return criterion_for(PGD(**options), values, torch.tensor(truth), multilabel=True), values


def reached(criterion, logits):
    return criterion.harm(logits) >= criterion.enough


def test_the_untargeted_loss_is_cross_entropy_with_the_truth():
    criterion, logits = one_label([[0.0, math.log(3.0)]], [1])
    assert criterion.losses(logits).tolist() == pytest.approx([-math.log(0.75)])
    assert not reached(criterion, logits).item()
    assert reached(criterion, torch.tensor([[2.0, 1.0]])).item()


def test_a_targeted_attack_climbs_towards_its_class_and_arrives_only_there():
    criterion, logits = one_label([[3.0, 1.0, 2.0]], [0], goal="targeted", target=2)
    assert criterion.losses(logits).item() < criterion.losses(torch.tensor([[2.0, 1.0, 3.0]])).item() < 0
    assert not reached(criterion, torch.tensor([[1.0, 3.0, 2.0]])).item()
    assert reached(criterion, torch.tensor([[1.0, 2.0, 3.0]])).item()


def test_the_least_likely_class_is_that_of_the_clean_image():
    criterion, _ = one_label([[3.0, -1.0, 2.0]], [0], goal="least-likely")
    assert criterion.aim.tolist() == [1]


def test_the_margin_is_above_zero_exactly_where_the_goal_is_reached():
    logits = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
    truth = torch.arange(200) % 5
    for options in ({}, {"goal": "targeted", "target": 3}, {"goal": "least-likely"}):
        criterion = criterion_for(PGD(**options), -logits, truth, multilabel=False)
        away = torch.ones_like(truth).bool() if criterion.aim is None else criterion.aim != truth
        assert torch.equal((criterion.margins(logits) > 0) & away, reached(criterion, logits))


def test_a_sample_of_the_class_aimed_at_is_no_success_and_nothing_is_left_to_be_done_about_it():
    criterion, logits = one_label([[3.0, 1.0], [1.0, 3.0]], [1, 1], goal="targeted", target=1)
    assert not reached(criterion, logits).any()
    assert criterion.most.tolist() == [0, 0]
    several, logits = many_labels([[2.0, -2.0], [2.0, -2.0]], [[0, 1], [0, -1]], goal="targeted", target=1)
    assert reached(several, torch.tensor([[-1.0, 1.0], [-1.0, 1.0]])).tolist() == [False, True]
    assert several.most.tolist() == [0, 2]


def test_the_ratio_is_the_difference_of_logits_ratio():
    criterion, logits = one_label([[5.0, 3.0, 1.0, 0.0]], [0])
    assert criterion.ratios(logits).item() == pytest.approx(-(5 - 3) / (5 - 1))
    aimed, logits = one_label([[5.0, 3.0, 1.0, 0.0]], [0], goal="targeted", target=3)
    assert aimed.ratios(logits).item() == pytest.approx((0 - 5) / (5 - (1 + 0) / 2))


@pytest.mark.parametrize(
    ("values", "truth", "away", "towards"),  # towards the last class
    [
        ([5.0, 3.0], 0, 3 - 5, 3 - 5),
        ([3.0, 5.0], 0, 5 - 3, 5 - 3),
        ([5.0, 3.0, 1.0], 0, (3 - 5) / (5 - 1), (1 - 5) / (5 - 1)),
        ([3.0, 5.0, 1.0], 0, (5 - 3) / (5 - 1), (1 - 3) / (5 - 1)),
        ([1.0, 5.0, 3.0], 1, (3 - 5) / (5 - 1), (3 - 5) / (5 - 1)),
        ([5.0, 3.0, 1.0, 0.0], 0, (3 - 5) / (5 - 1), (0 - 5) / (5 - (1 + 0) / 2)),
        ([0.0, 1.0, 5.0, 4.0], 2, (4 - 5) / (5 - 1), (4 - 5) / (5 - (1 + 0) / 2)),
        ([0.0, 1.0, 4.0, 5.0], 0, (5 - 0) / (5 - 1), (5 - 0) / (5 - (1 + 0) / 2)),
    ],
)
def test_the_ratio_by_hand_for_two_three_and_four_classes(values, truth, away, towards):
    criterion, logits = one_label([values], [truth])
    assert criterion.ratios(logits).item() == pytest.approx(away)
    aimed, logits = one_label([values], [truth], goal="targeted", target=len(values) - 1)
    assert aimed.ratios(logits).item() == pytest.approx(towards)


def test_the_ratio_does_not_move_when_all_logits_are_scaled_and_is_finite_when_all_are_equal():
    criterion, logits = one_label([[5.0, 3.0, 1.0, 0.5]], [1])
    assert criterion.ratios(logits).item() == pytest.approx(criterion.ratios(100 * logits).item(), rel=1e-5)
    assert criterion.ratios(torch.zeros(1, 4)).item() == 0


def test_the_loss_is_over_known_labels_and_every_wrong_one_counts():
    criterion, logits = many_labels([[2.0, -2.0, 0.5]], [[1, 0, -1]])
    assert criterion.losses(logits).item() == pytest.approx(2 * math.log1p(math.exp(-2.0)))
    assert criterion.margins(logits).item() == criterion.losses(logits).item()  # what Square climbs, too
    assert criterion.harm(torch.tensor([[2.0, -2.0, -0.5], [-1.0, -2.0, 0.5], [-1.0, 1.0, 0.5]])).tolist() == [0, 1, 2]
    assert (criterion.enough.item(), criterion.most.item()) == (1, 2)


def test_labels_that_were_wrong_before_make_no_success_and_right_ones_that_turn_wrong_do():
    criterion, logits = many_labels([[2.0, -2.0, 0.5]], [[0, 0, 1]])  # the first is wrong
    assert not reached(criterion, logits).item()
    assert not reached(criterion, torch.tensor([[-1.0, 1.0, 0.5]])).item()  # one righted, one lost
    assert reached(criterion, torch.tensor([[1.0, 1.0, 0.5]])).item()


def test_the_ratio_of_labels_moves_away_from_the_truth_over_known_labels():
    criterion, logits = many_labels([[2.0, -3.0, 9.0]], [[0, 0, -1]])
    assert criterion.ratios(logits).item() == pytest.approx((2 - 3) / 2)
    assert criterion.ratios(torch.tensor([[4.0, 1.0, -9.0]])).item() == pytest.approx((4 + 1) / 2)


def test_least_likely_labels_are_all_of_them_flipped():
    for options in ({"goal": "least-likely"}, {"goal": "targeted"}):
        criterion, logits = many_labels([[2.0, -2.0]], [[1, 1]], **options)
        assert criterion.aim.tolist() == [[False, True]]
        assert not reached(criterion, torch.tensor([[-1.0, -1.0]])).item()
        assert reached(criterion, torch.tensor([[-1.0, 1.0]])).item()
        assert criterion.losses(logits).item() < criterion.losses(-logits).item()


def test_several_labels_aimed_at_one_class_are_that_label_alone():
    criterion, _ = many_labels([[2.0, -2.0, 1.0]], [[1, 0, 1]], goal="targeted", target=1)
    assert criterion.aim.tolist() == [[False, True, False]]


def test_a_sample_without_a_known_label_is_attacked_away_from_what_was_said():
    criterion, logits = many_labels([[2.0, -2.0]], [[-1, -1]])
    assert criterion.losses(logits).item() == pytest.approx(2 * math.log1p(math.exp(-2.0)))


def test_a_target_that_no_class_has_is_refused():
    with pytest.raises(InputError, match="aims at class 7, and the subject has the classes 0 to 2"):
        one_label([[5.0, 3.0, 1.0]], [0], goal="targeted", target=7)
    with pytest.raises(InputError, match="names no class"):
        one_label([[5.0, 3.0, 1.0]], [0], goal="targeted")
