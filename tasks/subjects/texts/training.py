"""How a text classifier learns: epochs over labelled texts, the same to the last bit after any number of interruptions.

What happens in an epoch depends on the seed and the epoch's number alone, so a training goes on from the weights and
the optimizer's state of the last finished epoch as if it had never stopped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.infra.trainings import Checkpoints
from assay.tasks.subjects.folds import drawn
from assay.tasks.subjects.learning_state import learning_files, restore
from assay.tasks.subjects.schedules import learning_rate
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.token_networks.blocks import IntArray

Codes = npt.NDArray[np.int64]

_POOL = 16  # batches among which texts are sorted by length, so that little of a batch is padding


@dataclass(frozen=True)
class Lesson:
    """The texts to learn from as token ids, their classes, and which of them only validate."""

    ids: Sequence[IntArray]
    target: Codes
    validates: npt.NDArray[np.bool_]
    pad: int


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to; shares are None where there is nothing to measure them on."""

    epoch: int
    loss: float
    train_accuracy: float | None
    validation_accuracy: float | None


def validating(texts: Sequence[str], share: float) -> npt.NDArray[np.bool_]:
    """Which samples are set aside for validation: those whose text's hash says so, copies together."""
    return drawn(texts, share, "validation") if share > 0 else np.zeros(len(texts), dtype=np.bool_)


def train(
    network: Any, lesson: Lesson, options: Training, *, seeds: Seeds, device: str, checkpoints: Checkpoints
) -> list[Epoch]:
    """Trains the network in place and says how every epoch went."""
    torch.set_num_threads(1)
    network.to(device)
    learners = np.flatnonzero(~lesson.validates)
    if not len(learners):
        raise InputError("Every training text was set aside for validation: lower `train.validation`.")
    steps = -(-len(learners) // options.batch_size)
    optimizer = optimizer_of(network, options)
    curve = _resume(network, optimizer, checkpoints)
    for epoch in range(len(curve), options.epochs):
        generator = Seeds(seeds.run_seed, f"{seeds.stage}/epoch {epoch}").generator()
        with torch.random.fork_rng(devices=[0] if device.startswith("cuda") else []):
            torch.manual_seed(int(generator.integers(2**62)))
            loss, right = 0.0, 0
            network.train()
            for step, rows in enumerate(_batches(lesson, learners, options.batch_size, generator)):
                rate = learning_rate(options, epoch * steps + step, steps * options.epochs, epoch)
                batch_loss, batch_right = _step(network, optimizer, lesson, rows, rate, options, device)
                loss, right = loss + batch_loss * len(rows), right + batch_right
        if not math.isfinite(loss):
            raise InputError(
                f"The training came apart in epoch {epoch + 1}: its loss is {loss}. Lower `train.learning_rate` (it is "
                f"{options.learning_rate:g})."
            )
        aside = _accuracy(network, lesson, np.flatnonzero(lesson.validates), options.batch_size, device)
        curve.append(Epoch(epoch + 1, loss / len(learners), right / len(learners), aside))
        checkpoints.save(epoch + 1, options.epochs, learning_files(network, optimizer, [astuple(one) for one in curve]))
    network.to("cpu").eval()
    return curve


def optimizer_of(network: Any, options: Training) -> Any:
    """The optimizer that the settings name; one parameter after the other, so that no fused kernel changes bits."""
    if options.optimizer == "adam":
        return torch.optim.Adam(
            network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay, foreach=False
        )
    return torch.optim.SGD(
        network.parameters(), lr=options.learning_rate, momentum=options.momentum, weight_decay=options.weight_decay,
        nesterov=options.momentum > 0, foreach=False,
    )  # fmt: skip


def _batches(lesson: Lesson, learners: IntArray, size: int, generator: np.random.Generator) -> Iterator[IntArray]:
    """The learners in random batches of about equal lengths."""
    order = generator.permutation(learners)
    found = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort([len(lesson.ids[row]) for row in pool], kind="stable")]
        found += [pool[first : first + size] for first in range(0, len(pool), size)]
    for place in generator.permutation(len(found)):
        yield found[place]


def _step(
    network: Any, optimizer: Any, lesson: Lesson, rows: IntArray, rate: float, options: Training, device: str
) -> tuple[float, int]:
    """One step: the loss before it, and how many texts were classified rightly."""
    target = torch.from_numpy(lesson.target[rows]).to(device)
    logits = network(**_padded(lesson, rows, device)).logits
    losses = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    if options.loss == "focal":
        losses = losses * (1 - torch.exp(-losses)) ** 2
    loss = losses.mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0, foreach=False)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return float(loss.detach()), int((logits.argmax(dim=1) == target).sum())


def _accuracy(network: Any, lesson: Lesson, rows: IntArray, size: int, device: str) -> float | None:
    if not len(rows):
        return None
    network.eval()
    right = 0
    rows = rows[np.argsort([len(lesson.ids[row]) for row in rows], kind="stable")]
    with torch.inference_mode():
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            said = network(**_padded(lesson, some, device)).logits.argmax(dim=1).cpu().numpy()
            right += int((said == lesson.target[some]).sum())
    return right / len(rows)


def _padded(lesson: Lesson, rows: IntArray, device: str) -> dict[str, torch.Tensor]:
    longest = max(len(lesson.ids[row]) for row in rows)
    ids = np.full((len(rows), longest), lesson.pad, dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(lesson.ids[row])] = lesson.ids[row]
        mask[place, : len(lesson.ids[row])] = 1
    return {"input_ids": torch.from_numpy(ids).to(device), "attention_mask": torch.from_numpy(mask).to(device)}


def _resume(network: Any, optimizer: Any, checkpoints: Checkpoints) -> list[Epoch]:
    """The curve so far; network and optimizer are put where it ends."""
    found = checkpoints.latest()
    return [] if found is None else [Epoch(*one) for one in restore(network, optimizer, found[1])]
