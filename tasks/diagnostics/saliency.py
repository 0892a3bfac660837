"""Saliency maps (Simonyan et al. 2013): which pixels the loss would follow first."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from assay.tasks.diagnostics.features import Maps
from assay.tasks.subjects.images.losses import loss_for
from assay.tasks.subjects.images.model import ImageModel


def saliency_maps(model: ImageModel, images: Tensor, targets: Tensor) -> Maps:
    """|∂loss/∂x| of every image at its truth, the largest over the channels [n, h, w]; image by image.

    `targets` are class codes [n], or labels [n, k] of 1, 0 and −1 (unknown).
    """
    loss_of = loss_for("cross-entropy", multilabel=model.multilabel, softmaxed=model.softmaxed)
    maps = []
    for at in range(len(images)):
        image = images[at : at + 1].clone().requires_grad_(True)
        loss = loss_of(model.logits(image), targets[at : at + 1])
        (gradient,) = torch.autograd.grad(loss, image)
        maps.append(gradient[0].abs().amax(dim=0).cpu().numpy())
    return np.stack(maps) if maps else np.zeros((0, *images.shape[2:]), np.float32)
