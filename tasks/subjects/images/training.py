"""How an image network learns: losses, augmentation, and epochs that give the same bits after any interruption.

What happens in an epoch depends on the seed and the epoch's number alone, so a training goes on from the weights and
the optimizer's state of the last finished epoch as if it had never stopped. A defence takes part through a hook, which
sees every batch and says what loss to descend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from assay.infra.engines.devices import placed
from assay.infra.stages.exact import Seeds
from assay.tasks.subjects.holding_out import drawn
from assay.tasks.subjects.images.dataset import LabelledImages
from assay.tasks.subjects.images.model import THRESHOLD, ImageModel
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.trained import (
    Checkpoints,
    Epoch,
    learners_and_judges,
    learning_rate,
    optimizer_of,
    training_curve,
)

Loss = Callable[[Tensor, Tensor], Tensor]  # logits [n, k], targets [n] or [n, k] → a number

GAMMA = 2.0  # of the focal loss (Lin et al., 2017)
_LEAST = 1e-12  # probabilities below it are taken for it, lest their logarithm be infinite


def loss_for(name: Literal["cross-entropy", "focal"], *, multilabel: bool, softmaxed: bool) -> Loss:
    """The loss by its name; with several labels, binary cross-entropy in either case.

    A network that is `softmaxed` gives probabilities, so that their logarithm takes the place of logits.
    """
    if multilabel:
        return _labels_of_probabilities if softmaxed else _labels
    loss = _focussed if name == "focal" else functional.nll_loss
    if softmaxed:
        return lambda probabilities, targets: loss(_log(probabilities), targets)
    return lambda logits, targets: loss(functional.log_softmax(logits.float(), dim=1), targets)


def _focussed(logarithms: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy, each sample weighted by (1 − p)^γ: what is right and sure already counts little."""
    logarithm = logarithms.gather(1, targets[:, None]).squeeze(1)
    return -((1 - logarithm.exp()) ** GAMMA * logarithm).mean()


def _labels(logits: Tensor, targets: Tensor) -> Tensor:
    losses = functional.binary_cross_entropy_with_logits(logits.float(), targets.clamp_min(0).float(), reduction="none")
    return _mean_of_known(losses, targets)


def _labels_of_probabilities(probabilities: Tensor, targets: Tensor) -> Tensor:
    losses = -torch.where(targets == 1, _log(probabilities), _log(1 - probabilities))
    return _mean_of_known(losses, targets)


def _mean_of_known(losses: Tensor, targets: Tensor) -> Tensor:
    """The mean over the labels that are known; 0 where none of the batch is."""
    known = targets >= 0
    return (losses * known).sum() / known.sum().clamp_min(1)


def _log(probabilities: Tensor) -> Tensor:
    return probabilities.float().clamp_min(_LEAST).log()


SHIFT = 0.1  # of the extent, in either direction
DEGREES = 15.0
CROP = 0.8  # the shortest side that a crop leaves, as a share of the extent


def augment(images: Tensor, how: Collection[str], generator: np.random.Generator, window: int | None = None) -> Tensor:
    """The images [n, c, h, w], each varied by its own draws; what falls outside repeats the border.

    Shift, turn and crop are one bilinear resampling. Asked for a window, images come back cut to so many pixels, none
    of them resampled. The same generator gives the same images, on any device.
    """
    n = len(images)
    if "window" in how and window is not None:
        images = _windows(images, window, generator)
    for name, axis in (("flip-horizontal", 3), ("flip-vertical", 2)):
        if name in how:
            flipped = placed(generator.random(n) < 0.5, images.device)
            images = torch.where(flipped[:, None, None, None], images.flip(axis), images)
    if not {"shift", "rotate", "crop"} & set(how):
        return images
    grid = torch.nn.functional.affine_grid(_maps(n, images, how, generator), list(images.shape), align_corners=False)
    sampled = torch.nn.functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return sampled.clamp(0, 1)


def _windows(images: Tensor, side: int, generator: np.random.Generator) -> Tensor:
    """A square of each image [n, c, side, side], every place in it as likely as any other."""
    corners = (generator.integers(0, extent - side + 1, len(images)) for extent in images.shape[2:])
    tops, lefts = (placed(corner, images.device)[:, None] for corner in corners)
    places = torch.arange(side, device=images.device)
    rows, columns = (tops + places)[:, :, None], (lefts + places)[:, None, :]
    which = torch.arange(len(images), device=images.device)[:, None, None]
    return images.movedim(1, -1)[which, rows, columns].movedim(-1, 1).contiguous()


def _maps(n: int, images: Tensor, how: Collection[str], generator: np.random.Generator) -> Tensor:
    """Per image the affine map [2, 3] from places in the new image to places in the old one, in units of ±1."""
    height, width = images.shape[-2:]
    angle, scale, offset = np.zeros(n), np.ones(n), np.zeros((n, 2))
    if "rotate" in how:
        angle = np.deg2rad(generator.uniform(-DEGREES, DEGREES, n))
    if "crop" in how:
        scale = generator.uniform(CROP, 1.0, n)
        offset += generator.uniform(-1.0, 1.0, (n, 2)) * (1 - scale)[:, None]
    if "shift" in how:
        offset += generator.uniform(-2 * SHIFT, 2 * SHIFT, (n, 2))
    maps = np.empty((n, 2, 3), np.float32)
    maps[:, 0, 0] = maps[:, 1, 1] = scale * np.cos(angle)
    maps[:, 0, 1] = -scale * np.sin(angle) * height / width
    maps[:, 1, 0] = scale * np.sin(angle) * width / height
    maps[:, :, 2] = offset
    return placed(maps, images.device)


Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """What a hook sees: the model in training, varied images [n, c, h, w] in [0, 1], and what they show.

    `seeds` are this batch's own draws (`seeds.generator()`, or per sample by `ids`); `loss` is the configured one.
    """

    model: ImageModel
    images: Tensor
    targets: Tensor
    ids: tuple[str, ...]
    seeds: Seeds
    loss: Loss
    epoch: int


@dataclass(frozen=True)
class Descent:
    """The loss to descend, and the logits that say how well the batch was known."""

    loss: Tensor
    logits: Tensor


BatchHook = Callable[[Batch], Descent]


def plainly(batch: Batch) -> Descent:
    """The loss of the batch as it is: training without a defence."""
    logits = batch.model.logits(batch.images)
    return Descent(batch.loss(logits, batch.targets), logits)


def train(
    model: ImageModel,
    lessons: LabelledImages,
    options: Training,
    *,
    seeds: Seeds,
    checkpoints: Checkpoints,
    hook: BatchHook = plainly,
    attack: Callable[[Batch], Tensor] | None = None,
) -> list[Epoch]:
    """Trains the model's network in place, from the weights it has, and says how every epoch went; with an `attack`,
    validation images are attacked."""
    learners, judges = learners_and_judges(drawn(lessons.contents(), options.validation, "validation"))
    # The last batch of an epoch may be smaller, but not a single image: batch normalisation has nothing to go by then.
    steps = max(1, len(learners) // options.batch_size + (len(learners) % options.batch_size > 1))
    course = _Course(model, lessons, options, seeds, hook, steps)
    optimizer = optimizer_of((weights for weights in model.network.parameters() if weights.requires_grad), options)

    def learn(epoch: int) -> Epoch:
        with torch.random.fork_rng(devices=[torch.cuda.current_device()] if model.device == "cuda" else []):
            torch.manual_seed(Seeds(seeds.run_seed, f"{seeds.stage}/torch {epoch}").integer(bits=62))  # dropout's draws
            loss, accuracy = course.epoch(epoch, learners, optimizer)
        return Epoch(epoch + 1, loss, accuracy, course.accuracy(judges, attack))

    model.network.eval()
    return training_curve(model.network, optimizer, options, checkpoints, learn, f" of {model.name}")


_RESIDENT_BYTES = 4 << 30  # of images: so many stay on a GPU for as long as a training lasts


@dataclass(frozen=True)
class _Course:
    """A training with everything that stays the same from epoch to epoch."""

    model: ImageModel
    lessons: LabelledImages
    options: Training
    seeds: Seeds
    hook: BatchHook
    steps: int

    def epoch(self, epoch: int, learners: Rows, optimizer: torch.optim.Optimizer) -> tuple[float, float | None]:
        """One epoch: the mean loss, and the share of samples that were known when they were seen."""
        own = Seeds(self.seeds.run_seed, f"{self.seeds.stage}/epoch {epoch}")
        generator = own.generator()
        order = generator.permutation(learners)
        places = placed(order, self.model.device)
        loss_of = loss_for(self.options.loss, multilabel=self.lessons.multilabel, softmaxed=self.model.softmaxed)
        tally = _Tally(self.lessons.multilabel, self.model)
        for step in range(self.steps):
            cut = slice(step * self.options.batch_size, (step + 1) * self.options.batch_size)
            self.model.network.train()
            given, targets = self._samples(order[cut], places[cut])
            images = augment(given, self.options.augment, generator, self.model.crop)
            seeds = Seeds(own.run_seed, f"{own.stage}/batch {step}")
            names = tuple(self.lessons.ids[row] for row in order[cut])
            batch = Batch(self.model, images, targets, names, seeds, loss_of, epoch)
            rate = learning_rate(self.options, epoch * self.steps + step, self.steps * self.options.epochs, epoch)
            tally.add(self._descend(batch, optimizer, rate), batch.targets)
        return tally.loss, tally.accuracy

    def accuracy(self, rows: Rows, attack: Callable[[Batch], Tensor] | None = None) -> float | None:
        """The share of these samples that the network knows (attacked or clean); None where there are none."""
        if len(rows) == 0:
            return None
        self.model.network.eval()
        tally, places = _Tally(self.lessons.multilabel, self.model), placed(rows, self.model.device)
        loss = loss_for("cross-entropy", multilabel=self.lessons.multilabel, softmaxed=self.model.softmaxed)
        for start in range(0, len(rows), self.model.block):
            cut = slice(start, start + self.model.block)
            images, targets = self._samples(rows[cut], places[cut])
            if attack is not None:
                names = tuple(self.lessons.ids[row] for row in rows[cut])
                images = attack(Batch(self.model, images, targets, names, self.seeds, loss, epoch=0))
            with torch.inference_mode():
                logits = self.model.logits(images)
                tally.add(Descent(logits.new_zeros(()), logits), targets)
        return tally.accuracy

    def _descend(self, batch: Batch, optimizer: torch.optim.Optimizer, rate: float) -> Descent:
        optimizer.zero_grad()
        # Half the memory traffic on a GPU; bf16 has float32's range, so that losses need no scaling. Never on a CPU.
        with torch.autocast("cuda", torch.bfloat16, enabled=self.model.device == "cuda"):
            descent = self.hook(batch)
        descent.loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        return descent

    def _samples(self, rows: Rows, places: Tensor) -> tuple[Tensor, Tensor]:
        """The images and targets of these rows, of which `places` are the numbers on the device."""
        if self._resident is not None:
            chosen, unit = self._resident
            return (chosen[places].float() / unit).movedim(-1, 1), self._targets[places]
        images = placed(self.lessons.pixels(rows), self.model.device)
        if self.model.device == "cuda":
            images = images.contiguous(memory_format=torch.channels_last)
        return images, self._targets[places]

    @cached_property
    def _resident(self) -> tuple[Tensor, Tensor] | None:
        """All images [n, h, w, c] on the GPU and what divides them, so that no step waits for any; None on a processor,
        or for too many."""
        images = self.lessons.images
        if self.model.device != "cuda" or images.nbytes > _RESIDENT_BYTES:
            return None
        unit = torch.full((), 255.0 if images.dtype == np.uint8 else 1.0, device="cuda")  # divides as NumPy does
        return torch.from_numpy(images).to("cuda").movedim(1, -1).contiguous(), unit

    @cached_property
    def _targets(self) -> Tensor:
        return placed(self.lessons.targets.copy(), self.model.device)


class _Tally:
    """Losses and hits, kept where they are until the end, so that a GPU need not be waited for at every step."""

    def __init__(self, multilabel: bool, model: ImageModel) -> None:
        self._multilabel, self._model = multilabel, model
        self._losses: list[Tensor] = []
        self._counts: list[Tensor] = []  # of hits, and with several labels of what was judged
        self._samples: list[int] = []

    def add(self, descent: Descent, targets: Tensor) -> None:
        """Count a batch."""
        logits = descent.logits.detach().float()
        if self._multilabel:
            known = targets >= 0
            hits = ((self._model.normalized(logits) >= THRESHOLD) == (targets == 1)) & known
            self._counts.append(torch.stack([hits.sum(), known.sum()]))
        else:
            self._counts.append((logits.argmax(dim=1) == targets).sum())
        self._losses.append(descent.loss.detach())
        self._samples.append(len(targets))

    @property
    def loss(self) -> float:
        """The mean loss of a sample."""
        weighted = torch.stack(self._losses).double().cpu().numpy() * self._samples
        return float(np.cumsum(weighted)[-1]) / max(1, sum(self._samples))  # added up in the order of the batches

    @property
    def accuracy(self) -> float | None:
        """The share of hits; None where nothing could be judged."""
        counts = torch.stack(self._counts).sum(dim=0).tolist()
        hits, judged = counts if self._multilabel else (counts, sum(self._samples))
        return hits / judged if judged else None
