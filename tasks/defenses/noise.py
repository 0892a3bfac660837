"""Training under Gaussian noise, so that a subject keeps its mind in the noise that smoothing adds."""

from __future__ import annotations

import numpy as np
import torch

from assay.tasks.subjects.images.training import Batch, BatchHook, Descent


def under_noise(sigma: float) -> BatchHook:
    """A hook of the training: every batch gets fresh N(0, σ²) noise, not clipped to [0, 1] as smoothing does not."""

    def noisily(batch: Batch) -> Descent:
        noise = batch.seeds.generator().standard_normal(tuple(batch.images.shape), dtype=np.float32)
        images = batch.images + sigma * torch.from_numpy(noise).to(batch.images.device)
        logits = batch.model.logits(images)
        return Descent(batch.loss(logits, batch.targets), logits)

    return noisily
