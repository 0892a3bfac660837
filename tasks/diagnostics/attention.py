"""Where AttnMel's two gates look (Yan et al. 2019; Xu et al., figure 6 d and e)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from assay.tasks.diagnostics.features import Maps, recorded
from assay.tasks.subjects.images.model import ImageModel

GATES = ("fine", "coarse")


def attention_maps(model: ImageModel, images: Tensor) -> dict[str, Maps]:
    """The attention of every gate [n, h, w], as coarse as it is; nothing for networks that have no gates.

    A sigmoid gate gives every place its own weight within [0, 1]; a softmax gate shares one unit out over the image.
    """
    from assay.tasks.subjects.networks.attnmel import AttnMel

    if not isinstance(model.network, AttnMel):
        return {}
    with torch.inference_mode(), recorded(model.network, GATES) as outputs:
        model.logits(images)
    return {gate: np.asarray(outputs[gate][0].float()[:, 0].cpu().numpy()) for gate in GATES}


def upsampled(maps: Maps, height: int, width: int) -> Maps:
    """The maps at the size of the image, values between places interpolated.

    >>> upsampled(np.array([[[0.0, 1.0]]], np.float32), 1, 4).tolist()
    [[[0.0, 0.25, 0.75, 1.0]]]
    """
    grown = torch.nn.functional.interpolate(
        torch.from_numpy(maps.copy())[:, None], size=(height, width), mode="bilinear", align_corners=False
    )
    return np.asarray(grown[:, 0].numpy())
