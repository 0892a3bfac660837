"""Misclassification-Aware Adversarial Training: Xu et al. (2020), Algorithm 2 and Eq. 7-10."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from assay.infra.seeds import Seeds
from assay.tasks.defenses.attacking import attacked
from assay.tasks.defenses.settings import MAAdvT
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.images.training import Batch, BatchHook, Descent

_LEAST = 1e-12  # probabilities below it are taken for it, lest their logarithm be infinite


def maadvt(settings: MAAdvT, seeds: Seeds) -> BatchHook:
    """A hook that trains on attacked images, and holds the answers to them near those to the clean ones (Alg. 2)."""

    def hook(batch: Batch) -> Descent:
        images = attacked(
            batch, settings.budget * settings.reach(batch.epoch), settings.steps, settings.step_size, seeds
        )
        clean = log_probabilities(batch.model, batch.model.logits(batch.images))
        logits = batch.model.logits(images)
        adversarial = log_probabilities(batch.model, logits)
        return Descent(misclassification_aware_loss(clean, adversarial, batch.targets, settings.weight), logits)

    return hook


def misclassification_aware_loss(clean: Tensor, adversarial: Tensor, targets: Tensor, weight: float) -> Tensor:
    """The mean over the batch of CE(C(x'), y) + λ·R (Eq. 9 and 10), from log probabilities [n, k] of x and of x'.

    The authors' code adds a margin term, -log(1 - p) of the strongest wrong class, that the paper does not have.
    """
    cross_entropy = functional.nll_loss(adversarial, targets, reduction="none")
    return (cross_entropy + weight * regularisation(clean, adversarial, targets)).mean()


def regularisation(clean: Tensor, adversarial: Tensor, targets: Tensor) -> Tensor:
    """R = KL(C(x) ‖ C(x')) × (1 - C_y(x)), [n] (Eq. 8): large for images that are not known yet.

    Algorithm 2 descends the gradient of all of it: the factor 1 - C_y(x) learns too, and so does C(x) inside the
    divergence; nothing is held constant.
    """
    known = clean.gather(1, targets[:, None]).squeeze(1).exp()
    return divergence(clean, adversarial) * (1 - known)


def divergence(clean: Tensor, adversarial: Tensor) -> Tensor:
    """KL(C(x) ‖ C(x')) = Σ_j C_j(x) log(C_j(x) / C_j(x')), [n] (Eq. 7), from log probabilities [n, k].

    >>> import torch
    >>> round(float(divergence(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]).log())), 4)
    0.1438
    """
    return (clean.exp() * (clean - adversarial)).sum(dim=1)


def log_probabilities(model: ImageModel, logits: Tensor) -> Tensor:
    """The logarithm of what the model holds every class for, [n, k], as float32."""
    if model.softmaxed:
        return logits.float().clamp_min(_LEAST).log()
    return functional.log_softmax(logits.float(), dim=1)
