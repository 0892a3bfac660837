"""Equations 7 to 10, held to numbers worked out by hand."""

from math import exp, log

import pytest
import torch
from tiny_subjects import tiny_model
from torch.nn import functional

from assay.tasks.defenses.adversarial_training import (
    divergence,
    log_probabilities,
    misclassification_aware_loss,
    regularisation,
)

CLEAN = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]], dtype=torch.float64).log()
ADVERSARIAL = torch.tensor([[0.2, 0.6, 0.2], [0.3, 0.4, 0.3]], dtype=torch.float64).log()
TARGETS = torch.tensor([0, 1])

KL = (
    0.5 * log(0.5 / 0.2) + 0.25 * log(0.25 / 0.6) + 0.25 * log(0.25 / 0.2),
    0.1 * log(0.1 / 0.3) + 0.8 * log(0.8 / 0.4) + 0.1 * log(0.1 / 0.3),
)


def test_the_divergence_is_from_the_clean_answer_to_the_attacked_one():
    assert divergence(CLEAN, ADVERSARIAL).tolist() == pytest.approx(KL)
    assert divergence(ADVERSARIAL, CLEAN).tolist() != pytest.approx(KL, rel=1e-3)
    assert divergence(CLEAN, CLEAN).tolist() == [0, 0]


def test_samples_that_are_not_known_yet_are_held_together_most():
    assert regularisation(CLEAN, ADVERSARIAL, TARGETS).tolist() == pytest.approx([KL[0] * 0.5, KL[1] * 0.2])


@pytest.mark.parametrize("weight", [0.0, 1.0, 6.0])
def test_the_loss_is_the_mean_of_cross_entropy_and_the_weighted_regularisation(weight):
    by_hand = ((-log(0.2) + weight * KL[0] * 0.5) + (-log(0.4) + weight * KL[1] * 0.2)) / 2
    assert float(misclassification_aware_loss(CLEAN, ADVERSARIAL, TARGETS, weight)) == pytest.approx(by_hand)


def test_nothing_in_the_regularisation_is_held_constant():
    """Algorithm 2 descends all of it: held against a finite difference in the logit of the true class."""

    def value(logit: float) -> float:
        total = exp(logit) + 2
        p, q = [exp(logit) / total, 1 / total, 1 / total], [0.2, 0.6, 0.2]
        return sum(one * log(one / other) for one, other in zip(p, q, strict=True)) * (1 - p[0])

    logits = torch.tensor([[0.7, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    regularisation(logits.log_softmax(1), ADVERSARIAL[:1], TARGETS[:1]).sum().backward()
    difference = (value(0.7 + 1e-5) - value(0.7 - 1e-5)) / 2e-5
    assert float(logits.grad[0, 0]) == pytest.approx(difference, rel=1e-6)


def test_a_network_that_answers_with_probabilities_is_taken_at_its_word():
    from dataclasses import replace

    softmaxed = replace(tiny_model(3), softmaxed=True)
    said = torch.tensor([[0.5, 0.5, 0.0]])
    assert log_probabilities(softmaxed, said)[0, :2].exp().tolist() == [0.5, 0.5]
    assert torch.isfinite(log_probabilities(softmaxed, said)).all()
    assert log_probabilities(tiny_model(3), said).exp().sum().item() == pytest.approx(1)


def published_mart(logits, logits_adv, y, beta):
    """The loss of MART as its authors' repository has it (mart.py, after the attack)."""
    adv_probs = functional.softmax(logits_adv, dim=1)
    tmp1 = torch.argsort(adv_probs, dim=1)[:, -2:]
    new_y = torch.where(tmp1[:, -1] == y, tmp1[:, -2], tmp1[:, -1])
    wrong = functional.nll_loss(torch.log(1.0001 - adv_probs + 1e-12), new_y)
    loss_adv = functional.cross_entropy(logits_adv, y) + wrong
    nat_probs = functional.softmax(logits, dim=1)
    true_probs = torch.gather(nat_probs, 1, (y.unsqueeze(1)).long()).squeeze()
    kl = torch.nn.KLDivLoss(reduction="none")
    loss_robust = (1.0 / len(y)) * torch.sum(
        torch.sum(kl(torch.log(adv_probs + 1e-12), nat_probs), dim=1) * (1.0000001 - true_probs)
    )
    return loss_adv + float(beta) * loss_robust


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_mart_is_the_published_loss_and_its_gradient(weight):
    drawn = torch.Generator().manual_seed(0)
    clean, adversarial = (torch.randn(32, 10, generator=drawn, dtype=torch.float64) * 2 for _ in range(2))
    y = torch.randint(10, (32,), generator=drawn)
    values, gradients = [], []
    for loss in (
        lambda a, b: misclassification_aware_loss(a.log_softmax(1), b.log_softmax(1), y, weight, margin=True),
        lambda a, b: published_mart(a, b, y, weight),
    ):
        pair = [logits.clone().requires_grad_(True) for logits in (clean, adversarial)]
        values.append(loss(*pair))
        gradients.append(torch.autograd.grad(values[-1], pair, materialize_grads=True))
    assert values[0].item() == pytest.approx(values[1].item(), abs=2e-3)  # the authors add 0.0001 inside the logarithm
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=2e-2)


def test_mart_punishes_the_strongest_wrong_class_once_more_than_maadvt():
    plain, boosted = (
        float(misclassification_aware_loss(CLEAN, ADVERSARIAL, TARGETS, 6, margin=margin)) for margin in (False, True)
    )
    assert boosted - plain == pytest.approx((-log(1 - 0.6) - log(1 - 0.3)) / 2)
