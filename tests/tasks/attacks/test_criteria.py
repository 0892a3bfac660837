"""What attacks climb and when they have arrived, against numbers worked out by hand."""

import math

import pytest
import torch

from assay.infra.errors import InputError
from assay.tasks.attacks.criteria import criterion_for
from assay.tasks.attacks.settings import PGD


def one_label(logits, truth, **options):
    values = torch.tensor(logits)
    return criterion_for(PGD(**options), values, torch.tensor(truth), multilabel=False), values


def many_labels(logits, truth, **options):
    values = torch.tensor(logits)
    return criterion_for(PGD(**options), values, torch.tensor(truth), multilabel=True), values


def test_the_untargeted_loss_is_cross_entropy_with_the_truth():
    criterion, logits = one_label([[0.0, math.log(3.0)]], [1])
    assert criterion.losses(logits).tolist() == pytest.approx([-math.log(0.75)])
    assert criterion.reached(logits).tolist() == [False]
    assert criterion.reached(torch.tensor([[2.0, 1.0]])).tolist() == [True]


def test_a_targeted_attack_climbs_towards_its_class_and_arrives_only_there():
    criterion, logits = one_label([[3.0, 1.0, 2.0]], [0], goal="targeted", target=2)
    assert criterion.losses(logits).item() < criterion.losses(torch.tensor([[2.0, 1.0, 3.0]])).item() < 0
    assert not criterion.reached(torch.tensor([[1.0, 3.0, 2.0]])).item()
    assert criterion.reached(torch.tensor([[1.0, 2.0, 3.0]])).item()


def test_the_least_likely_class_is_that_of_the_clean_image():
    criterion, _ = one_label([[3.0, -1.0, 2.0]], [0], goal="least-likely")
    assert criterion.aim.tolist() == [1]


def test_the_margin_is_above_zero_exactly_where_the_goal_is_reached():
    logits = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
    truth = torch.arange(200) % 5
    for options in ({}, {"goal": "targeted", "target": 3}, {"goal": "least-likely"}):
        criterion = criterion_for(PGD(**options), -logits, truth, multilabel=False)
        assert torch.equal(criterion.margins(logits) > 0, criterion.reached(logits))


def test_the_ratio_is_the_difference_of_logits_ratio():
    criterion, logits = one_label([[5.0, 3.0, 1.0, 0.0]], [0])
    assert criterion.ratios(logits).item() == pytest.approx(-(5 - 3) / (5 - 1))
    aimed, logits = one_label([[5.0, 3.0, 1.0, 0.0]], [0], goal="targeted", target=3)
    assert aimed.ratios(logits).item() == pytest.approx((0 - 5) / (5 - (1 + 0) / 2))


@pytest.mark.parametrize(("classes", "expected"), [(2, -2.0), (3, -2 / 4)])
def test_the_ratio_is_there_for_two_and_three_classes(classes, expected):
    criterion, logits = one_label([[5.0, 3.0, 1.0][:classes]], [0])
    assert criterion.ratios(logits).item() == pytest.approx(expected)
    aimed, logits = one_label([[5.0, 3.0, 1.0][:classes]], [0], goal="targeted", target=classes - 1)
    assert math.isfinite(aimed.ratios(logits).item())


def test_the_ratio_does_not_move_when_all_logits_are_scaled_and_is_finite_when_all_are_equal():
    criterion, logits = one_label([[5.0, 3.0, 1.0, 0.5]], [1])
    assert criterion.ratios(logits).item() == pytest.approx(criterion.ratios(100 * logits).item(), rel=1e-5)
    assert criterion.ratios(torch.zeros(1, 4)).item() == 0


def test_one_flipped_label_is_a_success_and_the_loss_is_over_known_labels():
    criterion, logits = many_labels([[2.0, -2.0, 0.5]], [[1, 0, -1]])
    assert criterion.losses(logits).item() == pytest.approx(2 * math.log1p(math.exp(-2.0)))
    assert criterion.reached(logits).tolist() == [False]
    assert criterion.reached(torch.tensor([[2.0, -2.0, -0.5]])).tolist() == [True]


def test_least_likely_labels_are_all_of_them_flipped():
    for options in ({"goal": "least-likely"}, {"goal": "targeted"}):
        criterion, logits = many_labels([[2.0, -2.0]], [[1, 1]], **options)
        assert criterion.aim.tolist() == [[False, True]]
        assert not criterion.reached(torch.tensor([[-1.0, -1.0]])).item()
        assert criterion.reached(torch.tensor([[-1.0, 1.0]])).item()
        assert criterion.losses(logits).item() < criterion.losses(-logits).item()


def test_several_labels_aimed_at_one_class_are_that_label_alone():
    criterion, _ = many_labels([[2.0, -2.0, 1.0]], [[1, 0, 1]], goal="targeted", target=1)
    assert criterion.aim.tolist() == [[False, True, False]]


def test_margins_of_labels_are_above_zero_where_the_goal_is_reached():
    logits = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    for options in ({}, {"goal": "least-likely"}):
        criterion = criterion_for(PGD(**options), logits.roll(1, 0), torch.ones(100, 3), multilabel=True)
        assert torch.equal(criterion.margins(logits) > 0, criterion.reached(logits))


def test_a_sample_without_a_known_label_is_attacked_away_from_what_was_said():
    criterion, logits = many_labels([[2.0, -2.0]], [[-1, -1]])
    assert criterion.losses(logits).item() == pytest.approx(2 * math.log1p(math.exp(-2.0)))


def test_a_target_that_no_class_has_is_refused():
    with pytest.raises(InputError, match="aims at class 7, and the subject has the classes 0 to 2"):
        one_label([[5.0, 3.0, 1.0]], [0], goal="targeted", target=7)
    with pytest.raises(InputError, match="names no class"):
        one_label([[5.0, 3.0, 1.0]], [0], goal="targeted")
