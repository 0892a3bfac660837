"""The attacks that go from class to class: targeted DLR by its equation, FAB to the distance where that is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.flows.configuration.loading import load_project
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import InputError
from assay.tasks.attacks.apgd import APGD, APGDT
from assay.tasks.attacks.criteria import Rival
from assay.tasks.attacks.minimum_norm import FABT, to_hyperplane
from assay.tasks.attacks.random_search import Square
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.table import BUNDLES
from assay.tasks.subjects.images.model import ImageModel

torch.set_num_threads(1)


def test_the_targeted_ratio_is_equation_6():
    logits = torch.tensor([[3.0, 1.0, 0.5, -1.0, 2.0]])
    ratio = Rival(torch.tensor([0]), torch.tensor([1])).ratios(logits)
    assert ratio.item() == pytest.approx((1.0 - 3.0) / (3.0 - (1.0 + 0.5) / 2))
    scaled = Rival(torch.tensor([0]), torch.tensor([1])).ratios(7 * logits + 3)
    assert scaled.item() == pytest.approx(ratio.item())  # neither scaling nor shifting the logits changes it


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-2, 2)), min_size=1, max_size=8), st.floats(-3, 3))
@settings(max_examples=200, deadline=None)
def test_the_projection_is_the_least_move_that_bisection_finds(pairs, missing):
    points, slope = (np.array(column) for column in zip(*pairs, strict=True))
    ways = np.sign(slope) * (1 if missing >= 0 else -1)
    room = np.where(slope == 0, 0, np.where(ways > 0, 1 - points, points))

    def given_by(size: float) -> float:
        return float((np.abs(slope) * np.minimum(size, room)).sum())

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if given_by(middle) < abs(missing) else (low, middle)
    expected = ways * np.minimum(high, room)
    moved = to_hyperplane(torch.tensor(points)[None], torch.tensor(slope)[None], torch.tensor([missing]))[0].numpy()
    assert np.abs(moved).max() <= np.abs(expected).max() + 1e-6
    reached = min(abs(missing), given_by(1.0))
    assert abs(float(slope @ moved)) == pytest.approx(reached, abs=1e-5)
    assert ((points + moved >= -1e-9) & (points + moved <= 1 + 1e-9)).all()


def linear(weights: torch.Tensor, bias: torch.Tensor) -> ImageModel:
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(weights.shape[1], len(weights)))
    network[1].weight.data, network[1].bias.data = weights, bias
    return ImageModel(network.eval().requires_grad_(False), len(weights), False, (0.0,), (1.0,), block=8)


def test_fab_finds_the_exact_distance_of_a_linear_network():
    generator = torch.Generator().manual_seed(0)
    weights, bias = torch.randn(4, 36, generator=generator), torch.randn(4, generator=generator)
    model, images = linear(weights, bias), 0.4 + 0.2 * torch.rand(12, 1, 6, 6, generator=generator)
    truth = answers(model, images)
    logits = model.logits(images)
    distances = []
    for row, label in enumerate(truth.tolist()):
        others = [one for one in range(4) if one != label]
        distances.append(
            min(
                ((logits[row, label] - logits[row, one]) / (weights[label] - weights[one]).abs().sum()).item()
                for one in others
            )
        )
    for eps in np.quantile(distances, [0.2, 0.5, 0.8]):
        inside = torch.tensor([distance < eps for distance in distances])
        near = torch.tensor([abs(distance - eps) < 1e-4 for distance in distances])
        for attack in (FABT(steps=20, classes=3), APGDT(steps=30, classes=3)):
            fell = run_attack(attack, model, images, truth, float(eps), draws_for(12)).success
            assert torch.equal(fell[~near], inside[~near]), attack.attack


@pytest.mark.parametrize("attack", [APGDT(steps=6, classes=2), FABT(steps=6, classes=2)], ids=["apgd-t", "fab-t"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_success_is_what_the_model_says_and_only_accuracy_is_the_same_accuracy(attack, classes):
    model, images = tiny_model(classes), tiny_images(17)
    truth = answers(model, images)
    result = run_attack(attack, model, images, truth, 4 / 255, draws_for(17))
    assert torch.equal(result.success, answers(model, result.images) != truth)
    assert (result.images - images).abs().max().item() <= 4 / 255
    early = run_attack(attack.model_copy(update={"only_accuracy": True}), model, images, truth, 4 / 255, draws_for(17))
    assert torch.equal(early.success, result.success)


@pytest.mark.parametrize("attack", [APGDT(), FABT()], ids=["apgd-t", "fab-t"])
def test_several_labels_have_no_rival_class(attack):
    model, images = tiny_model(3, multilabel=True), tiny_images(2)
    with pytest.raises(InputError, match=r"is for one class per image.*take apgd and square"):
        run_attack(attack, model, images, answers(model, images), 0.1, draws_for(2))


def test_a_goal_is_refused():
    with pytest.raises(ValueError, match="leave `goal` out"):
        FABT(goal="targeted", target=1)


PIPELINE = """
pipelines:
  night:
    source: {dataset: sample/digits}
    subject: {network: small-cnn, train: {epochs: 1}}
    attacks:
      - fgsm
      - autoattack-apart: {eps: 0.1, keep: 0}
      - pgd: {%s: 3}
"""


def test_autoattack_apart_is_four_attacks_by_one_name(tmp_path):
    (tmp_path / "pipelines.yaml").write_text(PIPELINE % "steps")
    attacks = load_project(tmp_path / "pipelines.yaml", pipeline="night").pipelines["night"].attacks
    assert [one.called for one in attacks] == ["fgsm", "apgd-ce", "apgd-t", "fab-t", "square", "pgd"]
    four = attacks[1:5]
    assert (
        [type(one) for one in four] == [APGD, APGDT, FABT, Square] == [type(one) for one in BUNDLES["autoattack-apart"]]
    )
    assert all(one.eps == (0.1,) and one.keep == 0 and one.only_accuracy for one in four)


def test_what_comes_after_it_keeps_its_line(tmp_path):
    (tmp_path / "pipelines.yaml").write_text(PIPELINE % "stepps")
    with pytest.raises(ConfigurationError, match=r"pipelines.yaml:9: .*did you mean steps"):
        load_project(tmp_path / "pipelines.yaml", pipeline="night")
