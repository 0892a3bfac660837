"""What an image model says of shifted images: the window that it sees moves in the margin, and nothing is padded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.data.images import Pixels
from assay.infra.errors import InputError
from assay.tasks.overfitting.lattice import Look
from assay.tasks.overfitting.translations import Whole
from assay.tasks.subjects.images.model import ImageModel

SMALLEST = 4  # the least `crop` of a subject


def require_margin(height: int, width: int, crop: int | None, eps: int, name: str) -> int:
    """The side of the window; raises where the subject sees whole images, or the margin is smaller than 3ε.

    Whole images could only be shifted by padding them, and padded images are none of those that the density counts.
    """
    if crop is None:
        raise InputError(
            f"The overfitting test shifts the window that a subject sees, and {name} sees whole images, which could "
            "only be shifted by padding them: give the subject a `crop`, smaller than its images by 6 × eps at least, "
            "and train it on such crops."
        )
    margin = min(height - crop, width - crop) // 2
    if margin < 3 * eps:
        needed, fits = crop + 6 * eps, max(0, margin // 3)
        smaller = [f"eps: {fits}"] if fits else []
        smaller += [f"a `crop` of at most {most}"] if (most := min(height, width) - 6 * eps) >= SMALLEST else []
        otherwise = f"use {', '.join(smaller)}, or let" if smaller else "let"
        raise InputError(
            f"Shifts of up to {eps} pixels need images of {needed}×{needed} pixels around the {crop}×{crop} that "
            f"{name} sees (3 × eps on each side), and these have {height}×{width}: {otherwise} the source "
            "keep a `margin`."
        )
    return crop


def looking(model: ImageModel, pixels: Pixels, truth: npt.NDArray[np.int64], crop: int) -> Look:
    """What the model says of these images [n, c, h, w] at any shift, in blocks of its one size.

    Moving an image down moves the window up: the pixels that come into view are the image's own.
    """
    import torch

    height, width = pixels.shape[2:]
    top, left = (height - crop) // 2, (width - crop) // 2
    views = np.lib.stride_tricks.sliding_window_view(pixels, (crop, crop), axis=(2, 3))  # [n, c, y, x, crop, crop]

    def look(rows: Whole, down: Whole, right: Whole) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        logits = np.empty((len(rows), model.classes))
        with torch.inference_mode():
            for start in range(0, len(rows), model.block):
                some = np.minimum(np.arange(start, start + model.block), len(rows) - 1)
                windows = views[rows[some], :, top - down[some], left - right[some]]
                block = model.logits(torch.from_numpy(np.ascontiguousarray(windows)).to(model.device))
                logits[start : start + model.block] = block[: len(rows) - start].double().cpu().numpy()
        if not np.isfinite(logits).all():
            raise InputError(
                f"The subject {model.name} returned something that is no finite number for a shifted image."
            )
        return exceeding(logits, truth[rows])

    return look


def exceeding(
    logits: npt.NDArray[np.float64], truth: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """l_exc, by how much the highest logit of another class exceeds that of the true one, and who is wrong [n] each.

    Of equal logits the first class is said, as everywhere.

    >>> exceeding(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([0, 1]))[1].tolist()
    [False, True]
    """
    others = logits.copy()
    others[np.arange(len(truth)), truth] = -np.inf
    return others.max(axis=1) - logits[np.arange(len(truth)), truth], logits.argmax(axis=1) != truth
