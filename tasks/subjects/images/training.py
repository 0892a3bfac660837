"""How an image network learns: epochs over images, the same to the last bit after any number of interruptions.

What happens in an epoch depends on the seed and the epoch's number alone, so a training goes on from the weights and
the optimizer's state of the last finished epoch as if it had never stopped. A defence takes part through a hook, which
sees every batch and says what loss to descend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.subjects.curves import Epoch
from assay.tasks.subjects.folds import drawn
from assay.tasks.subjects.images.augmentation import augment
from assay.tasks.subjects.images.lessons import Lessons
from assay.tasks.subjects.images.losses import Loss, loss_for
from assay.tasks.subjects.images.model import THRESHOLD, ImageModel
from assay.tasks.subjects.learning_state import Checkpoints, learning_files, restore
from assay.tasks.subjects.schedules import learning_rate
from assay.tasks.subjects.settings import Training

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
    lessons: Lessons,
    options: Training,
    *,
    seeds: Seeds,
    checkpoints: Checkpoints,
    hook: BatchHook = plainly,
) -> list[Epoch]:
    """Trains the model's network in place, from the weights it has, and says how every epoch went."""
    aside = (
        drawn(lessons.contents(), options.validation, "validation")
        if options.validation
        else np.zeros(len(lessons.ids), bool)
    )
    learners, judges = np.flatnonzero(~aside), np.flatnonzero(aside)
    if len(learners) == 0:
        raise InputError("Every training sample was set aside for validation: lower `train.validation`.")
    # The last batch of an epoch may be smaller, but not a single image: batch normalisation has nothing to go by then.
    steps = max(1, len(learners) // options.batch_size + (len(learners) % options.batch_size > 1))
    course = _Course(model, lessons, options, seeds, hook, steps)
    optimizer = _optimizer(model.network, options)
    saved = checkpoints.latest()
    curve = [] if saved is None else [Epoch(*one) for one in restore(model.network, optimizer, saved[1])]
    for epoch in range(len(curve), options.epochs):
        with _drawing_from(seeds, epoch, model.device):
            loss, accuracy = course.epoch(epoch, learners, optimizer)
        if not np.isfinite(loss):
            raise InputError(
                f"The training of {model.name} came apart in epoch {epoch + 1}: its loss is {loss}. Lower "
                f"`train.learning_rate` (it is {options.learning_rate:g})."
            )
        curve.append(Epoch(epoch + 1, loss, accuracy, course.accuracy(judges)))
        rows = [[one.epoch, one.loss, one.train_accuracy, one.validation_accuracy] for one in curve]
        checkpoints.save(epoch + 1, options.epochs, learning_files(model.network, optimizer, rows))
    model.network.eval()
    return curve


@dataclass(frozen=True)
class _Course:
    """A training with everything that stays the same from epoch to epoch."""

    model: ImageModel
    lessons: Lessons
    options: Training
    seeds: Seeds
    hook: BatchHook
    steps: int

    def epoch(self, epoch: int, learners: Rows, optimizer: torch.optim.Optimizer) -> tuple[float, float | None]:
        """One epoch: the mean loss, and the share of samples that were known when they were seen."""
        own = Seeds(self.seeds.run_seed, f"{self.seeds.stage}/epoch {epoch}")
        generator = own.generator()
        order = generator.permutation(learners)
        loss_of = loss_for(self.options.loss, multilabel=self.lessons.multilabel, softmaxed=self.model.softmaxed)
        tally = _Tally(self.lessons.multilabel, self.model)
        for step in range(self.steps):
            rows = order[step * self.options.batch_size : (step + 1) * self.options.batch_size]
            self.model.network.train()
            images = augment(self._images(rows), self.options.augment, generator, self.model.crop)
            seeds = Seeds(own.run_seed, f"{own.stage}/batch {step}")
            names = tuple(self.lessons.ids[row] for row in rows)
            batch = Batch(self.model, images, self._targets(rows), names, seeds, loss_of, epoch)
            rate = learning_rate(self.options, epoch * self.steps + step, self.steps * self.options.epochs, epoch)
            descent = self._descend(batch, optimizer, rate)
            tally.add(descent, batch.targets)
        return tally.loss, tally.accuracy

    def accuracy(self, rows: Rows) -> float | None:
        """The share of these samples that the network knows; None where there are none."""
        if len(rows) == 0:
            return None
        self.model.network.eval()
        tally = _Tally(self.lessons.multilabel, self.model)
        with torch.inference_mode():
            for start in range(0, len(rows), self.model.block):
                some = rows[start : start + self.model.block]
                logits = self.model.logits(self._images(some))
                tally.add(Descent(torch.zeros((), device=logits.device), logits), self._targets(some))
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

    def _images(self, rows: Rows) -> Tensor:
        images = torch.from_numpy(self.lessons.pixels(rows))
        if self.model.device != "cuda":
            return images
        pinned = images.contiguous(memory_format=torch.channels_last).pin_memory()
        return pinned.to("cuda", non_blocking=True)

    def _targets(self, rows: Rows) -> Tensor:
        return torch.from_numpy(self.lessons.targets[rows]).to(self.model.device)


class _Tally:
    """Losses and hits added up where they are, so that a GPU need not be waited for at every step."""

    def __init__(self, multilabel: bool, model: ImageModel) -> None:
        self._multilabel, self._model = multilabel, model
        self._sums = torch.zeros(3, dtype=torch.float64, device=model.device)  # loss × samples, hits, judged
        self._samples = 0

    def add(self, descent: Descent, targets: Tensor) -> None:
        """Count a batch."""
        logits = descent.logits.detach().float()
        if self._multilabel:
            known = targets >= 0
            hits = ((self._model.normalized(logits) >= THRESHOLD) == (targets == 1)) & known
            judged = known.sum()
        else:
            hits, judged = logits.argmax(dim=1) == targets, torch.tensor(len(targets), device=self._sums.device)
        counted = [descent.loss.detach().double() * len(targets), hits.sum().double(), judged.double()]
        self._sums += torch.stack(counted)
        self._samples += len(targets)

    @property
    def loss(self) -> float:
        """The mean loss of a sample."""
        return float(self._sums[0]) / max(1, self._samples)

    @property
    def accuracy(self) -> float | None:
        """The share of hits; None where nothing could be judged."""
        hits, judged = float(self._sums[1]), float(self._sums[2])
        return hits / judged if judged else None


def _optimizer(network: torch.nn.Module, options: Training) -> torch.optim.Optimizer:
    learnt = [weights for weights in network.parameters() if weights.requires_grad]
    if options.optimizer == "adam":
        return torch.optim.Adam(learnt, lr=options.learning_rate, weight_decay=options.weight_decay)
    return torch.optim.SGD(
        learnt,
        lr=options.learning_rate,
        momentum=options.momentum,
        weight_decay=options.weight_decay,
        nesterov=options.momentum > 0,
    )


@contextmanager
def _drawing_from(seeds: Seeds, epoch: int, device: str) -> Iterator[None]:
    """Torch's own draws (dropout) from this epoch's seed."""
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device == "cuda" else []):
        torch.manual_seed(Seeds(seeds.run_seed, f"{seeds.stage}/torch {epoch}").integer(bits=62))
        yield
