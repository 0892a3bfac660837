"""The attack inside a training: PGD on a batch, against the network as it would answer, drawn per epoch and sample."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from assay.infra.seeds import Seeds
from assay.tasks.attacks.ball import ball_around
from assay.tasks.attacks.draws import Draws
from assay.tasks.attacks.settings import step_size_for
from assay.tasks.subjects.images.training import Batch


def attacked(batch: Batch, eps: float, steps: int, step_size: float | None, seeds: Seeds) -> Tensor:
    """The batch's images x' after PGD with that ε (Xu et al., Eq. 1-2; Algorithm 1, lines 9-11), [n, c, h, w].

    The start is uniform within ε, and each step follows the sign of the gradient of the loss that is trained with. The
    network answers in eval mode meanwhile, so that the attack is one on the model as it will be used and its batch
    statistics learn nothing from half-made images. `seeds` are the training's: what a sample draws in an epoch depends
    on nothing else. With an ε of 0 there is nothing to attack with, and the images stay as they are.
    """
    if eps == 0:
        return batch.images
    images, ball = batch.images, ball_around(batch.images, eps)
    size = step_size_for(eps, steps, step_size)
    draws = Draws(Seeds(seeds.run_seed, f"{seeds.stage}/epoch {batch.epoch}"), batch.ids)
    unit = torch.from_numpy(draws.uniform("attack inside", tuple(images.shape[1:]))).to(images.device)
    x = ball.clip(images + eps * unit)
    with answering(batch.model.network), torch.enable_grad():
        for _ in range(steps):
            x = x.detach().requires_grad_(True)
            loss = batch.loss(batch.model.logits(x), batch.targets)
            (gradient,) = torch.autograd.grad(loss, x)
            x = ball.clip(x.detach().add(gradient.sign(), alpha=size))
    return x.detach()


@contextmanager
def answering(network: torch.nn.Module) -> Iterator[None]:
    """The network in eval mode, and back in the mode it was in."""
    was = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was)
