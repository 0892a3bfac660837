"""Generative adversarial perturbations (Poursaeed et al. 2018; Xu et al., section 4.2.2, Eq. 3-4).

A U-Net learns on the training split to make the perturbation of an image in one pass. At attack time it is in
eval mode: neither dropout nor the statistics of a batch may move what a sample gets. The paper's budget was in
pixel levels here and in normalised values for PGD; in Assay both are in pixel space, so the two can be
compared.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from assay.infra.engines.devices import placed
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.batch import ball_around, blocks
from assay.tasks.attacks.settings import GAP
from assay.tasks.subjects.images.dataset import LabelledImages
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.trained import CARD, Checkpoints, learning_files, restore, weights_of, written_card

DEPTH = 6
WIDTHS = (1, 2, 4, 8, 8, 8)  # of the first layer's channels: 64-128-256-512-512-512
_SMALLEST = 3.5  # pixels at the bottom: 224 is halved six times, 32 three times


def depth_for(size: int) -> int:
    """How often an image is halved: six times as in the paper from 224 pixels on, less often where it is smaller.

    >>> [depth_for(size) for size in (224, 128, 64, 32, 28, 8)]
    [6, 5, 4, 3, 3, 1]
    """
    return max(1, min(DEPTH, math.floor(math.log2(size / _SMALLEST))))


class PerturbationUNet(nn.Module):  # type: ignore[misc]
    """Images [n, c, h, w] in, perturbations [n, c, h, w] within (−1, 1) out; what scales them comes after."""

    def __init__(self, channels: int, depth: int, width: int = 64) -> None:
        super().__init__()
        wide = [channels, *(width * times for times in WIDTHS[:depth])]
        bottom = depth - 1
        self.down = nn.ModuleList(
            nn.Conv2d(before, after, 3 if at == bottom and depth == DEPTH else 4, stride=2, padding=1)
            for at, (before, after) in enumerate(pairwise(wide))
        )
        # No normalisation on the way into the first layer and at the bottom, as in pix2pix, whose U-Net this is.
        self.down_norms = nn.ModuleList(
            nn.BatchNorm2d(after) if 0 < at < bottom else nn.Identity() for at, after in enumerate(wide[1:])
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(after * (1 if at == bottom else 2), before, self.down[at].kernel_size, 2, 1)
            for at, (before, after) in enumerate(pairwise(wide))
        )
        self.up_norms = nn.ModuleList(
            nn.BatchNorm2d(before) if at > 0 else nn.Identity() for at, before in enumerate(wide[:-1])
        )
        self.dropout = nn.Dropout(0.5)

    def forward(self, images: Tensor) -> Tensor:
        """Perturbations within (−1, 1)."""
        passed, kept = images, [images]
        for at, (layer, norm) in enumerate(zip(self.down, self.down_norms, strict=True)):
            passed = norm(layer(passed if at == 0 else nn.functional.leaky_relu(passed, 0.2)))
            kept.append(passed)
        for at in reversed(range(1, len(self.up))):
            grown = self.up_norms[at](self.up[at](torch.relu(passed), output_size=kept[at].shape[-2:]))
            passed = torch.cat([self.dropout(grown) if at == len(self.up) - 2 else grown, kept[at]], dim=1)
        return torch.tanh(self.up_norms[0](self.up[0](torch.relu(passed), output_size=images.shape[-2:])))


def untrained_generator(channels: int, size: int, width: int) -> PerturbationUNet:
    """A generator for images of `size` pixels (the shorter side), whose weights are still to be filled in."""
    with torch.random.fork_rng(devices=[]):  # Torch draws weights whether they are wanted or not
        return PerturbationUNet(channels, depth_for(size), width)


def seeded_generator(channels: int, size: int, width: int, seed: int) -> PerturbationUNet:
    """A generator for images of `size` pixels (the shorter side), its weights drawn from N(0, .02)."""
    drawn = torch.Generator().manual_seed(seed)
    network = untrained_generator(channels, size, width)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(module.weight, 0.0, 0.02, generator=drawn)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02, generator=drawn)
            nn.init.zeros_(module.bias)
    return network


WEIGHTS = "generator.safetensors"


@dataclass(frozen=True)
class Card:
    """What a generator was made for: it fits images of these channels and this ε only."""

    channels: int
    size: int
    width: int
    eps: float
    loss: str
    epochs: int
    losses: tuple[float, ...]  # per epoch, the mean of what was minimised


@dataclass(frozen=True)
class Generator:
    """A trained generator, in eval mode, on the subject's device."""

    network: PerturbationUNet
    card: Card
    block: int

    def perturb(self, images: Tensor, eps: float) -> Tensor:
        """The adversarial images [n, c, h, w] of clean ones, within ε and the bounds; every block has one size."""
        with torch.inference_mode():
            moved = [scaled(self.network(images[rows]), eps) for rows in blocks(len(images), self.block, images.device)]
            perturbations = torch.cat(moved)[: len(images)]
        return ball_around(images, eps).clip(images + perturbations)


def scaled(perturbations: Tensor, eps: float) -> Tensor:
    """Per image, the perturbation times min(1, ε/‖·‖∞), as after Eq. 3.

    >>> scaled(torch.tensor([[[[0.5, -1.0]]], [[[0.1, 0.05]]]]), 0.2).flatten(1).tolist()[0]
    [0.10000000149011612, -0.20000000298023224]
    """
    largest = perturbations.detach().abs().flatten(1).amax(dim=1).clamp_min(1e-12)
    return perturbations * (eps / largest).clamp_max(1.0).reshape(-1, 1, 1, 1)


def fooling_loss(model: ImageModel, adversarial: Tensor, targets: Tensor, loss: str) -> Tensor:
    """What the generator minimises: Eq. 4, the mean log probability of the true label, or the least-likely loss.

    `targets` come from `training_targets`. Where images bear several labels, both are the binary cross-entropy towards
    flipped labels, as the authors train against CheXNet.
    """
    logits = model.logits(adversarial)
    if model.multilabel:
        if model.softmaxed:
            return torch.nn.functional.binary_cross_entropy(logits, targets)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
    logs = logits.clamp_min(1e-12).log() if model.softmaxed else logits.log_softmax(dim=1)
    picked = logs.gather(1, targets.reshape(-1, 1)).mean()
    return picked if loss == "true-label" else -picked


def training_targets(model: ImageModel, images: Tensor, truth: Tensor, loss: str) -> Tensor:
    """What the loss looks at: the true class, or the least likely; of several labels, the opposite of every one.

    `truth` holds class codes [n] or labels [n, k]; −1, unknown, becomes what the subject says of the clean image.
    """
    with torch.no_grad():
        probabilities = model.probabilities(images)
    if model.multilabel:
        predicted = (probabilities >= 0.5).to(torch.float32)
        known = (truth >= 0) & (loss == "true-label")
        return 1 - torch.where(known, truth.to(torch.float32), predicted)
    if loss == "least-likely":
        return probabilities.argmin(dim=1)
    return torch.where(truth >= 0, truth.long(), probabilities.argmax(dim=1))


def train_generator(
    model: ImageModel,
    lessons: LabelledImages,
    attack: GAP,
    eps: float,
    seeds: Seeds,
    checkpoints: Checkpoints | None = None,
) -> dict[str, bytes]:
    """The files of a generator trained against the subject; goes on after the last checkpoint, with the same result."""
    channels, size = lessons.images.shape[1], min(lessons.images.shape[2:])
    network = seeded_generator(channels, size, attack.width, seeds.integer("weights")).to(model.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=attack.learning_rate)

    def mean_loss(epoch: int) -> float:
        """One pass over the training images in this epoch's own order."""
        order = seeds.generator(f"epoch {epoch}").permutation(len(lessons.ids))
        network.train()
        devices = [torch.cuda.current_device()] if model.device == "cuda" else []
        total = []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seeds.integer(f"epoch {epoch}"))  # dropout: a resumed epoch draws the same
            for start in range(0, len(order), attack.batch_size):
                rows = order[start : start + attack.batch_size]
                clean = placed(lessons.pixels(rows), model.device)
                targets = training_targets(model, clean, placed(lessons.targets[rows], model.device), attack.loss)
                adversarial = ball_around(clean, eps).clip(clean + scaled(network(clean), eps))
                loss = fooling_loss(model, adversarial, targets, attack.loss)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                total.append(loss.detach() * len(rows))
        return float(np.sum([float(loss) for loss in total]) / len(order))

    losses: list[float] = []
    checkpoint = checkpoints.latest() if checkpoints else None
    if checkpoint is not None:
        losses = list(restore(network, optimizer, checkpoint[1]))
    for epoch in range(len(losses), attack.epochs):
        losses.append(mean_loss(epoch))
        if checkpoints is not None:
            checkpoints.save(epoch + 1, attack.epochs, learning_files(network, optimizer, losses))
    return generator_files(network, Card(channels, size, attack.width, eps, attack.loss, attack.epochs, tuple(losses)))


def generator_files(network: PerturbationUNet, card: Card) -> dict[str, bytes]:
    """A generator as safetensors and a card."""
    return written_card(asdict(card)) | {WEIGHTS: weights_of(network)}


def load_generator(files: dict[str, bytes], device: str, block: int) -> Generator:
    """The generator behind the files; it will see `block` images at a time."""
    from safetensors.torch import load

    content = json.loads(files[CARD])
    card = Card(**{**content, "losses": tuple(content["losses"])})
    network = untrained_generator(card.channels, card.size, card.width)
    network.load_state_dict(load(files[WEIGHTS]))
    return Generator(network.eval().requires_grad_(False).to(device), card, block)
