"""Multi-Perturbations Adversarial Training: Xu et al. (2020), Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

from assay.infra.seeds import Seeds
from assay.tasks.defenses.attacking import attacked
from assay.tasks.defenses.settings import MPAdvT
from assay.tasks.subjects.images.training import Batch, BatchHook, Descent


@dataclass(frozen=True)
class Perturbation:
    """What a batch drew: whether it is attacked, within which ε, in how many steps."""

    attacked: bool
    eps: float
    steps: int


def draw_perturbation(settings: MPAdvT, seeds: Seeds) -> Perturbation:
    """What a batch with these seeds draws: p ~ U(0, 1), ε ~ U(a, b), T ~ {1 … 5} (Algorithm 1, lines 4-6 and 8).

    The paper writes T ~ U(1, 5); the authors' code takes whole numbers, from 1 to 9. Here the largest may be drawn too.
    """
    generator = seeds.generator()
    p = generator.random()
    eps = generator.uniform(*settings.bounds())
    steps = generator.integers(settings.steps[0], settings.steps[1], endpoint=True)
    return Perturbation(bool(p >= 1 - settings.attacked), float(eps), int(steps))


def mpadvt(settings: MPAdvT, seeds: Seeds) -> BatchHook:
    """A hook that trains on a batch attacked with a strength of its own where p ≥ .5, else on the batch as it is."""

    def hook(batch: Batch) -> Descent:
        drawn = draw_perturbation(settings, batch.seeds)
        images = batch.images
        if drawn.attacked:
            eps = drawn.eps * settings.reach(batch.epoch)
            images = attacked(batch, eps, drawn.steps, settings.step_size, seeds)
        logits = batch.model.logits(images)
        return Descent(batch.loss(logits, batch.targets), logits)

    return hook
