"""How many images a second a subject takes: the measure that attacks and trainings are held against."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from assay.tasks.subjects.images.model import ImageModel

_WARM = 2  # passes before the clock starts: memory is found, kernels are chosen


@dataclass(frozen=True)
class Throughput:
    """Images a second: looked at, and looked at with the gradient in the pixels, which is what a step of PGD needs."""

    forward: float
    forward_and_backward: float
    batch: int
    device: str


def throughput(
    model: ImageModel, channels: int, height: int, width: int, *, batch: int, passes: int = 10
) -> Throughput:
    """The median over `passes` of a batch of random images, at the bare network without anything around it."""
    images = torch.rand(batch, channels, height, width, generator=torch.Generator().manual_seed(0)).to(model.device)
    if model.device == "cuda":
        images = images.contiguous(memory_format=torch.channels_last)

    def look() -> None:
        with torch.inference_mode():
            model.logits(images)

    def differentiate() -> None:
        leaf = images.detach().requires_grad_()
        torch.autograd.grad(model.logits(leaf).sum(), leaf)

    seconds = [_median(step, passes, model.device) for step in (look, differentiate)]
    return Throughput(batch / seconds[0], batch / seconds[1], batch, model.device)


def _median(step: Callable[[], None], passes: int, device: str) -> float:
    taken = []
    for number in range(_WARM + passes):
        began = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= _WARM:
            taken.append(time.perf_counter() - began)
    return sorted(taken)[len(taken) // 2]
