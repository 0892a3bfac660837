"""PGD, FGSM and momentum PGD against plainly written loops, image by image and in double precision where it matters."""

import numpy as np
import pytest
import torch
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.tasks.attacks.pgd import FGSM, PGD, MomentumPGD
from assay.tasks.attacks.running import run_attack

torch.set_num_threads(1)


def slope(model, x, truth):
    x = x.clone().requires_grad_(True)
    torch.nn.functional.cross_entropy(model.logits(x), truth, reduction="sum").backward()
    return x.grad


def plain_pgd(model, images, truth, eps, start, steps, size):
    """Eq. 1 and 2 as foolbox and torchattacks write them: step, clip the difference to ±ε, clip to [0, 1]."""
    x = (images + eps * start).clamp(0, 1)
    for _ in range(steps):
        x = x + size * slope(model, x, truth).sign()
        x = (images + (x - images).clamp(-eps, eps)).clamp(0, 1)
    return x


@pytest.mark.parametrize("eps", [2 / 255, 0.05, 0.2])
@pytest.mark.parametrize("size", [None, 1 / 255])
def test_pgd_from_the_same_start_with_the_same_steps_makes_the_same_images(eps, size):
    model, images = tiny_model(block=16), tiny_images(16)
    truth, draws = answers(model, images), draws_for(16)
    ours = run_attack(PGD(steps=20, step_size=size, last=True), model, images, truth, eps, draws)
    start = torch.from_numpy(draws.uniform("pgd 0", (1, 16, 16)))
    alpha = size or max(1 / 255, 2.5 * eps / 20)
    theirs = plain_pgd(model, images, truth, eps, start, 20, alpha)
    assert (ours.images - theirs).abs().max().item() < 1e-6
    assert torch.equal(ours.success, answers(model, theirs) != truth)


def test_where_the_last_image_fools_it_is_the_one_that_counts():
    model, images = tiny_model(), tiny_images(32)
    truth = answers(model, images)
    last = run_attack(PGD(steps=6, last=True, step_size=0.03), model, images, truth, 0.03, draws_for(32))
    best = run_attack(PGD(steps=6, step_size=0.03), model, images, truth, 0.03, draws_for(32))
    assert torch.equal(best.images[last.success], last.images[last.success])
    assert bool((best.success | ~last.success).all())


def test_a_success_on_the_way_counts_where_the_last_image_fails():
    class Valley(torch.nn.Module):
        """Wrong only while the mean is between 0.55 and 0.6; the slope leads on and out of it."""

        def forward(self, images):
            mean = images.flatten(1).mean(dim=1)
            wrong = ((mean > 0.55) & (mean < 0.6)).float()
            return torch.stack([2 - mean - 4 * wrong, mean], dim=1)

    model = type(tiny_model())(Valley(), 2, False, (0.0,), (1.0,), block=4)
    images, truth = torch.full((4, 1, 16, 16), 0.5), torch.zeros(4, dtype=torch.int64)
    one = PGD(steps=6, step_size=0.035, random_start=False)
    result = run_attack(one, model, images, truth, 0.2, draws_for(4))
    assert result.success.all()
    assert result.steps.tolist() == [2] * 4
    assert result.images.mean().item() == pytest.approx(0.57, abs=1e-3)
    assert not run_attack(one.model_copy(update={"last": True}), model, images, truth, 0.2, draws_for(4)).success.any()


def test_fgsm_is_one_step_of_eps_from_the_image_itself():
    model, images = tiny_model(), tiny_images(16)
    truth = answers(model, images)
    ours = run_attack(FGSM(), model, images, truth, 0.05, draws_for(16)).images
    theirs = (images + 0.05 * slope(model, images, truth).sign()).clamp(0, 1)
    fell = answers(model, theirs) != truth
    assert fell.any()
    assert (ours - theirs).abs().max().item() < 1e-6


def test_momentum_adds_up_gradients_of_length_one():
    model, images = tiny_model(), tiny_images(16)
    truth = answers(model, images)
    x, running = images.clone(), torch.zeros_like(images)
    for _ in range(5):
        gradient = slope(model, x, truth)
        running = 0.9 * running + gradient / gradient.abs().sum(dim=(1, 2, 3), keepdim=True)
        x = x + 0.02 * running.sign()
        x = (images + (x - images).clamp(-0.06, 0.06)).clamp(0, 1)
    one = MomentumPGD(steps=5, step_size=0.02, decay=0.9)
    ours = run_attack(one, model, images, truth, 0.06, draws_for(16))
    final = answers(model, x) != truth
    assert (ours.images - x)[final | ~ours.success].abs().max().item() < 1e-6
    assert final.any()


def test_a_further_start_is_only_for_those_that_withstood():
    model, images = tiny_model(), tiny_images(60)
    truth = answers(model, images)
    once = run_attack(PGD(steps=3), model, images, truth, 0.015, draws_for(60))
    often = run_attack(PGD(steps=3, restarts=5), model, images, truth, 0.015, draws_for(60))
    assert 0 < once.success.sum() < 60
    assert torch.equal(often.images[once.success], once.images[once.success])
    assert torch.equal(often.queries[once.success], once.queries[once.success])
    assert (often.queries[~often.success] == 1 + 5 * 4).all()


def test_the_uniform_start_fills_the_whole_ball():
    unit = draws_for(50).uniform("pgd 0", (1, 16, 16))
    assert unit.min() < -0.99
    assert unit.max() > 0.99
    assert abs(float(unit.mean())) < 0.02
    assert np.isclose(unit.var(), 1 / 3, atol=0.01)


def test_a_targeted_attack_reaches_its_class_where_the_ball_is_the_whole_space():
    model, images = tiny_model(), tiny_images(20)
    truth = answers(model, images)
    result = run_attack(PGD(steps=60, goal="targeted", target=2), model, images, truth, 1.0, draws_for(20))
    assert (answers(model, result.images) == 2).all()
    assert torch.equal(result.success, truth != 2)  # what is of the class already, no attack makes so
    assert 0 < result.success.sum() < 20


def test_several_labels_are_all_flipped_where_that_is_the_goal():
    model, images = tiny_model(3, multilabel=True), tiny_images(20)
    truth = answers(model, images)
    result = run_attack(PGD(steps=60, goal="least-likely"), model, images, truth, 0.5, draws_for(20))
    assert torch.equal(result.success, (answers(model, result.images) == 1 - truth).all(dim=1))
    assert result.success.float().mean() > 0.5
