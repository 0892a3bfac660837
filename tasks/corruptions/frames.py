"""What subjects say of every frame: each frame is made once, shown to all subjects, and forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.data.images import Pixels
from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.corruptions.choice import Corruption
from assay.tasks.corruptions.draws import Draws
from assay.tasks.corruptions.flips import FrameAnswers
from assay.tasks.corruptions.kinds import strongest_frames
from assay.tasks.corruptions.sequences import sequence
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.corruptions.table import CORRUPTIONS
from assay.tasks.subjects.images.model import ImageModel, require_pixels, said

_BYTES = {"cpu": 64 << 20, "cuda": 2 << 30}  # of the frames that are there at a time
_SMALLEST = 8  # pixels: below, there is nothing to blur or to shift


@dataclass(frozen=True)
class Seen:
    """One perturbation at one severity of a few samples, as every subject saw it."""

    corruption: Corruption
    severity: int
    rows: slice
    answers: Mapping[str, FrameAnswers]
    shown: Pixels  # the strongest frame of the samples that are kept for the report, [m, c, h, w]


def look(
    models: Mapping[str, ImageModel],
    pixels: Pixels,
    ids: Sequence[str],
    shown: np.ndarray,
    settings: Corruptions,
    seeds: Seeds,
) -> Iterator[Seen]:
    """Every perturbation and severity of the images [n, c, h, w], a few samples at a time.

    `shown` says which samples are kept for the report, [n]. What is said of a sample does not depend on the others.
    """
    require_pixels(pixels, ids)
    _require_size(pixels, ids)
    device, block = next(iter(models.values())).device, max(model.block for model in models.values())
    for rows in _chunks(pixels, settings.frames, device, block):
        images = torch.from_numpy(pixels[rows]).to(device)
        draws = Draws(seeds, ids[rows], device)
        kept = torch.from_numpy(np.flatnonzero(shown[rows])).to(device)
        for corruption in (CORRUPTIONS.named(word, settings) for word in settings.perturbations):
            for severity in settings.severities:
                frames = sequence(corruption, severity, images, draws, settings.frames)
                answers = {
                    name: answer(model, frames, ids[rows], corruption.word, severity) for name, model in models.items()
                }
                last = strongest_frames(corruption.kind, settings.frames)[-1]
                yield Seen(corruption, severity, rows, answers, frames[last, kept].cpu().numpy())


def answer(model: ImageModel, frames: Tensor, ids: Sequence[str], perturbation: str, severity: int) -> FrameAnswers:
    """What one model says of frames [frames, n, c, h, w]: classes [frames, n], or labels [frames, n, k].

    The frames stay on the model's device, and go through it in blocks of its one fixed size.
    """
    flat = frames.flatten(0, 1)
    outputs = []
    with torch.inference_mode():
        for start in range(0, len(flat), model.block):
            block = flat[start : start + model.block]
            if len(block) < model.block:
                block = torch.cat([block, block[-1:].expand(model.block - len(block), *block.shape[1:])])
            logits = model.logits(block)[: len(flat) - start]
            outputs.append(model.normalized(logits.to(torch.float64)))
    probabilities = torch.cat(outputs)
    wrong = (~torch.isfinite(probabilities)).any(dim=1).nonzero()
    if len(wrong):
        frame, row = divmod(int(wrong[0]), frames.shape[1])
        raise InputError(
            f"The subject {model.name} returned {probabilities[wrong[0, 0]].tolist()} for frame {frame} of "
            f"{perturbation} at severity {severity} of sample {ids[row]!r}, expected finite numbers."
        )
    spoken = said(probabilities.cpu().numpy(), model.multilabel)
    return spoken.reshape(*frames.shape[:2], *spoken.shape[1:])


def _chunks(pixels: Pixels, frames: int, device: str, block: int) -> list[slice]:
    """Runs of samples whose frames fit the memory meant for them, and blocks but for a few; one sample at least."""
    fit = _BYTES[device] // max(1, pixels[:1].nbytes)
    step = max(1, (fit // block * block or fit) // frames)
    return [slice(start, min(start + step, len(pixels))) for start in range(0, len(pixels), step)]


def _require_size(pixels: Pixels, ids: Sequence[str]) -> None:
    if len(pixels) and min(pixels.shape[-2:]) < _SMALLEST:
        raise InputError(
            f"The image of sample {ids[0]!r} has {pixels.shape[-2]}×{pixels.shape[-1]} pixels, and corruptions need at "
            f"least {_SMALLEST} in both directions; leave `corruptions` out, or bring larger images."
        )
