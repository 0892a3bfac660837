"""Standard adversarial training: Madry et al. (2017), as Xu et al. (2020) write it in Eq. 6."""

from __future__ import annotations

from assay.infra.seeds import Seeds
from assay.tasks.defenses.attacking import attacked
from assay.tasks.defenses.settings import Standard
from assay.tasks.subjects.images.training import Batch, BatchHook, Descent


def standard(settings: Standard, seeds: Seeds) -> BatchHook:
    """A hook that trains on attacked images alone: min over θ of the mean of max ℓ(C(x'), y), |x' - x| ≤ ε (Eq. 6)."""

    def hook(batch: Batch) -> Descent:
        images = attacked(
            batch, settings.budget * settings.reach(batch.epoch), settings.steps, settings.step_size, seeds
        )
        logits = batch.model.logits(images)
        return Descent(batch.loss(logits, batch.targets), logits)

    return hook
