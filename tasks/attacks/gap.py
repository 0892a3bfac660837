"""Generative adversarial perturbations as an attack: its options, and a generator that is trained before it attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from assay.tasks.attacks.choice import GeneratorTraining, ImageAttackChoice
from assay.tasks.attacks.settings import ImageAttack

if TYPE_CHECKING:
    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.batch import Perturb
    from assay.tasks.subjects.checkpoints import Checkpoints
    from assay.tasks.subjects.images.dataset import LabelledImages
    from assay.tasks.subjects.images.model import ImageModel


class GAP(ImageAttack):
    """Generative adversarial perturbations (Xu et al., Eq. 4): a U-Net trained on the training split makes them."""

    attack: Literal["gap"] = "gap"
    """Which attack it is."""
    epochs: int = Field(default=10, ge=1, le=10_000)
    """How often the generator sees every training sample."""
    batch_size: int = Field(default=64, ge=1, le=4096)
    """Samples per step of the generator's training."""
    learning_rate: float = Field(default=2e-4, gt=0, le=1)
    """The step size of Adam."""
    loss: Literal["true-label", "least-likely"] = "true-label"
    """What the generator minimises: the mean log probability of the true label (Eq. 4), or the least-likely loss."""
    width: int = Field(default=64, ge=4, le=256)
    """The channels of the generator's first layer."""


def _train(
    model: ImageModel, lessons: LabelledImages, settings: GAP, eps: float, seeds: Seeds, checkpoints: Checkpoints
) -> dict[str, bytes]:
    from assay.tasks.attacks.generator import train_generator

    return train_generator(model, lessons, settings, eps, seeds, checkpoints)


def _load(files: dict[str, bytes], device: str, block: int) -> Perturb:
    from assay.tasks.attacks.generator import load_generator

    return load_generator(files, device, block).perturb


GAP_ATTACK = ImageAttackChoice(GAP, generator=GeneratorTraining(_train, _load))
