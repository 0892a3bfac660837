"""How networks over tokens are asked and learn: epochs that give the same bits after any number of interruptions.

What happens in an epoch depends on the seed and the epoch's number alone, so a training goes on from the weights and
the optimizer's state of the last finished epoch as if it had never stopped. A network computes texts in blocks of fixed
shapes, and a text's length alone decides the shape it is computed in: lengths are rounded up to a ladder, every rung
has its fixed number of rows, and a block with fewer texts is filled up with repeats. So a block never holds more than a
budget of tokens, and whoever its neighbours are, a text goes through the same arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from assay.data.arrays import Integers
from assay.infra.engines.devices import deterministically, placed, torch_device_here
from assay.infra.stages.exact import Seeds
from assay.tasks.subjects.holding_out import drawn
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.trained import (
    Checkpoints,
    Epoch,
    learners_and_judges,
    learning_rate,
    optimizer_of,
    training_curve,
)

if TYPE_CHECKING:
    import torch

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread per process, as everywhere

CPU_TOKENS, GPU_TOKENS = 512, 32_768  # tokens of a block: enough to keep a device busy, few enough for its memory


def rung(length: int, limit: int) -> int:
    """The length that a text of so many tokens is padded to: at most a quarter more, and by no more than 7 below 32.

    >>> [rung(length, 512) for length in (1, 9, 33, 65, 400, 512)]
    [8, 16, 40, 80, 448, 512]
    """
    step = 8
    while length > 8 * step:
        step *= 2
    return min(-(-length // step) * step, limit)


def blocks(
    batch: Sequence[Integers], *, pad: int, limit: int, tokens: int
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """The batch in blocks, texts of one rung together: which texts the first rows are, the token ids padded to one
    shape, and which of them are there, both [rows, length]."""
    rungs = np.array([rung(len(ids), limit) for ids in batch], dtype=np.int64)
    for length in np.unique(rungs).tolist():
        members = np.flatnonzero(rungs == length)
        rows = max(1, tokens // length)
        for start in range(0, len(members), rows):
            texts = members[start : start + rows]
            ids, mask = np.full((rows, length), pad, np.int64), np.zeros((rows, length), np.int64)
            for row in range(rows):
                pieces = batch[texts[min(row, len(texts) - 1)]]
                ids[row, : len(pieces)] = pieces
                mask[row, : len(pieces)] = 1
            yield texts, ids, mask


CHUNK = 1024  # texts whose pieces are in memory at a time


def make_ready(network: Any, tokenizer: Tokenizer, limit: int) -> None:
    """Leaves the training mode, where dropout would make answers random; the tokenizer cuts and does not pad."""
    import torch

    torch.set_num_threads(1)
    network.eval()
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)


def ids_of(tokenizer: Tokenizer, text: str, pad: int) -> Integers:
    """The pieces of a text; one at least."""
    return np.array(tokenizer.encode(text).ids or [pad], dtype=np.int64)


def tokenizer_in(files: Mapping[str, bytes]) -> Tokenizer:
    """The tokenizer among a subject's files."""
    return Tokenizer.from_str(files["tokenizer.json"].decode())


@dataclass(frozen=True, eq=False)
class TokenNetwork:
    """A network over tokens that is ready to be asked: with its tokenizer, the token that fills blocks up, the most
    tokens it reads, and its device."""

    network: Any
    tokenizer: Tokenizer
    pad: int
    limit: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        make_ready(self.network, self.tokenizer, self.limit)

    def blocks(
        self, batch: Sequence[Integers], pad: int | None = None
    ) -> Iterator[tuple[Integers, torch.Tensor, torch.Tensor]]:
        """The batch in blocks of fixed shapes: which texts the first rows are, then ids and mask [rows, length]."""
        tokens = GPU_TOKENS if self.device.startswith("cuda") else CPU_TOKENS
        pad = self.pad if pad is None else pad
        for texts, ids, mask in blocks(batch, pad=pad, limit=self.limit, tokens=tokens):
            yield texts, placed(ids, self.device), placed(mask, self.device)


JUDGED = 64  # validation samples at a time
_POOL = 16  # batches among which samples are sorted by length, so that little of a batch is padding


@dataclass(frozen=True)
class Answer:
    """What a batch came to: the mean loss to follow downhill, and how many of how many single answers were right.

    Whole numbers or tensors, which stay where they are until an epoch is over, so that no step waits for a GPU."""

    loss: Any
    right: Any
    asked: Any


@dataclass(frozen=True)
class Exercise:
    """What is to be learnt."""

    lengths: Integers
    """The length of every sample: those of about equal length are learnt together."""

    answer: Callable[[Integers, str], Answer]
    """What the network says of these samples now, on a device."""


def lengths_of(batch: Sequence[Sequence[Any] | Integers]) -> Integers:
    """How many pieces each sample has."""
    return np.array([len(pieces) for pieces in batch], dtype=np.int64)


def learn(
    network: Any,
    exercise: Exercise,
    origins: Sequence[str],
    options: Training,
    *,
    seeds: Seeds,
    checkpoints: Checkpoints,
    judged: int = JUDGED,
) -> list[Epoch]:
    """Trains the network in place on the device of this call, and says how every epoch went.

    Samples are set aside for validation by a hash of the text that they come from, copies together, and judged so many
    at a time. A GPU adds in one order where Torch knows how.
    """
    import torch

    torch.set_num_threads(1)
    device, first = torch_device_here(), deepcopy(network.state_dict())
    learners, judges = learners_and_judges(drawn(origins, options.validation, "validation"))
    steps = -(-len(learners) // options.batch_size)

    def from_the_start() -> list[Epoch]:  # it may be called a second time, where Torch did not know how
        network.load_state_dict(first)
        network.to(device)
        optimizer = optimizer_of(network.parameters(), options, foreach=False)

        def learn_epoch(epoch: int) -> Epoch:
            generator = Seeds(seeds.run_seed, f"{seeds.stage}/epoch {epoch}").generator()
            with torch.random.fork_rng(devices=[0] if device.startswith("cuda") else []):
                torch.manual_seed(int(generator.integers(2**62)))
                network.train()
                losses, right, asked = [], 0, 0
                for step, rows in enumerate(batches(exercise.lengths, learners, options.batch_size, generator)):
                    rate = learning_rate(options, epoch * steps + step, steps * options.epochs, epoch)
                    answer = _step(network, optimizer, exercise, rows, rate, device)
                    losses.append((answer.loss, len(rows)))
                    right, asked = right + answer.right, asked + answer.asked
            loss = 0.0
            for mean, batch in losses:
                loss += float(mean) * batch
            aside = _share_right(network, exercise, judges, device, judged)
            return Epoch(epoch + 1, loss / len(learners), int(right) / int(asked) if asked else None, aside)

        network.to("cpu").eval()
        return training_curve(network, optimizer, options, checkpoints, learn_epoch)

    return deterministically(from_the_start, device)


def batches(lengths: Integers, learners: Integers, size: int, generator: np.random.Generator) -> Iterator[Integers]:
    """The learners in random batches of about equal lengths."""
    order = generator.permutation(learners)
    minibatches = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        minibatches += [pool[first : first + size] for first in range(0, len(pool), size)]
    for place in generator.permutation(len(minibatches)):
        yield minibatches[place]


def _step(network: Any, optimizer: Any, exercise: Exercise, rows: Integers, rate: float, device: str) -> Answer:
    import torch

    answer = exercise.answer(rows, device)
    optimizer.zero_grad()
    answer.loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0, foreach=False if device == "cpu" else None)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return Answer(answer.loss.detach(), answer.right, answer.asked)


def _share_right(network: Any, exercise: Exercise, rows: Integers, device: str, judged: int) -> float | None:
    """The share of right answers on samples that were set aside; None where nothing is right or wrong."""
    import torch

    network.eval()
    right, asked = 0, 0
    rows = rows[np.argsort(exercise.lengths[rows], kind="stable")]
    with torch.inference_mode():
        for start in range(0, len(rows), judged):
            answer = exercise.answer(rows[start : start + judged], device)
            right, asked = right + answer.right, asked + answer.asked
    return int(right) / int(asked) if asked else None


def padded(batch: list[Integers], fill: int, device: str) -> torch.Tensor:
    """Rows of different lengths as one tensor, the shorter ones filled up."""
    there = _there(batch)
    rows = np.full(there.shape, fill, dtype=np.int64)
    rows[there] = np.concatenate(batch)
    return placed(rows, device)


def presence(batch: list[Integers], device: str) -> torch.Tensor:
    """The mask that goes with `padded`: 1 where a row has a piece, 0 where it was filled up."""
    return placed(_there(batch).astype(np.int64), device)


def _there(batch: list[Integers]) -> npt.NDArray[np.bool_]:
    """Where the rows of different lengths have a piece."""
    lengths = lengths_of(batch)
    return np.arange(lengths.max()) < lengths[:, None]
