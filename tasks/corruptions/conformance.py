"""Whether a perturbation keeps what every perturbation promises: tried on a few images, said in sentences."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import tried
from assay.tasks.corruptions.camera import Draws
from assay.tasks.corruptions.table import clean_frame, constants, sequence, strengths
from assay.tasks.subjects.images.inference import practice_images

if TYPE_CHECKING:
    from assay.tasks.corruptions.table import Corruption

FRAMES, SAMPLES = 5, 4
SHAPES = ((32, 32, 3), (19, 33, 1))
"""Height, width and channels of the images that a perturbation is tried on."""
CLEAN = 0.02
"""How far a pixel may move at a strength of 0, where the sequence has the image itself in its place."""


def corruption_conformance(corruption: Corruption) -> list[str]:
    """What keeps a perturbation from being one, a sentence each; nothing where all is well.

    Its constants are complete, frames keep the shape and the bounds, at a strength of 0 nothing happens and beyond it
    something does, the same draws give the same frames, and no image's frames depend on the other images.
    """
    levels, names = corruption.levels, len(corruption.levels.names)
    if any([len(row) for row in rows] != [names] * 5 for rows in (levels.small, levels.large)):
        return [f"Its constants are five rows of {', '.join(levels.names)} for each of the two sizes."]
    for severity in (1, 5):
        for shape in SHAPES:
            if faults := tried(partial(_faults, corruption, severity, *shape)):
                where = f"At severity {severity}, on images of {shape[0]}×{shape[1]} with {shape[2]} channels,"
                return [f"{where} {sentence}" for sentence in faults]
    return []


def _faults(corruption: Corruption, severity: int, height: int, width: int, channels: int) -> list[str]:
    images = practice_images(SAMPLES, height, width, channels)
    given, shares = images.clone(), strengths(corruption.kind, FRAMES)
    at = constants(corruption.levels, severity, height, width)
    raw: object = corruption.make(at, images, _draws(range(SAMPLES)), shares)
    expected = [FRAMES, *images.shape]
    if not isinstance(raw, Tensor) or list(raw.shape) != expected or raw.dtype != images.dtype:
        what = f"{raw.dtype} {list(raw.shape)}" if isinstance(raw, Tensor) else type(raw).__name__
        return [f"it makes {what}: a frame per strength, {images.dtype} {expected}."]
    if not torch.equal(images, given):
        return ["it changes the images that it is handed: work on a copy."]
    return _frame_faults(corruption, severity, images, raw)


def _frame_faults(corruption: Corruption, severity: int, images: Tensor, raw: Tensor) -> list[str]:
    clean = clean_frame(corruption.kind, FRAMES)
    perturbed = sequence(corruption, severity, images, _draws(range(SAMPLES)), FRAMES)
    moved = float((raw[clean] - images).abs().max()) if corruption.kind != "noise" else 0.0
    faults = []
    if not torch.isfinite(perturbed).all() or perturbed.min() < 0 or perturbed.max() > 1:
        faults.append("pixels leave [0, 1]: clamp the frames.")
    if not moved <= CLEAN:
        faults.append(f"at a strength of 0 a pixel moves by {moved:.3g}: nothing may happen there.")
    if torch.equal(perturbed, images.expand_as(perturbed)):
        faults.append("no frame differs from the image.")
    if not torch.equal(perturbed, sequence(corruption, severity, images, _draws(range(SAMPLES)), FRAMES)):
        return [*faults, "the same draws give other frames: take random numbers from `draws` alone."]
    alone = sequence(corruption, severity, images[2:3], _draws([2]), FRAMES)
    if not torch.equal(perturbed[:, 2], alone[:, 0]):
        faults.append("the frames of an image depend on the other images: draw per sample, and take no sums over them.")
    return faults


def _draws(rows: range | list[int]) -> Draws:
    return Draws(Seeds(0, "corrupt_subjects"), [f"sample {row}" for row in rows])
