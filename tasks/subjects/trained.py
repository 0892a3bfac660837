"""What a training gives back (files with their card, a learning curve), and what it needs to go on from any epoch:
weights, the optimizer's state, the curve and the step size.

States are safetensors and JSON, no pickle. Random generators are not among them: what is drawn in an epoch depends on
the seed and the epoch's number alone. The weights of some epochs are kept for good: what a network says of a sample
while it learns (its *training dynamics*, Swayamdipta et al. 2020) tells how early it knew its answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Samples, SubjectFiles, TrainingCurve
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, tally_of
from assay.infra.stages.stage import write_files, write_table
from assay.infra.stages.trainings import train_on_worker
from assay.infra.storage.artifacts import Artifact
from assay.tasks.subjects.settings import Training


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to; shares are None where there is nothing to measure them on."""

    epoch: int
    loss: float
    train_accuracy: float | None
    validation_accuracy: float | None


def curve_table(curve: Sequence[Epoch]) -> pa.Table:
    """The curve as a table; no rows for what came trained.

    >>> curve_table([Epoch(1, 0.5, 0.9, None)]).to_pylist()
    [{'epoch': 1, 'loss': 0.5, 'train_accuracy': 0.9, 'validation_accuracy': None}]
    """
    return pa.Table.from_pylist([asdict(epoch) for epoch in curve], schema=TrainingCurve.schema)


class TrainedSubject(NamedTuple):
    """A subject's files, and how it learned (no rows where it came trained, or needed no epochs)."""

    files: Artifact[SubjectFiles]
    curve: Artifact[TrainingCurve]

    def last_epoch(self) -> dict[str, Any]:
        """The last row of the curve; empty where nothing was learned by epochs."""
        rows = collect(self.curve, None).sort_by("epoch").to_pylist()
        return dict(rows[-1]) if rows else {}


def trained_on_worker(function: Callable[..., Any], training: Artifact[Samples], **constants: Any) -> TrainedSubject:
    """The subject that `function` makes of these samples on one worker; constants are handed to it."""
    return TrainedSubject(*train_on_worker(function, training, into=SubjectFiles, curve=TrainingCurve, **constants))


def without_epochs(files: Mapping[str, bytes]) -> TrainedSubject:
    """A subject that is as it is: these files, and a curve without rows."""
    curve = write_table(TrainingCurve.schema.empty_table(), into=TrainingCurve)
    return TrainedSubject(write_files(files, into=SubjectFiles), curve)


CARD = "card.json"


def written_card(card: Mapping[str, Any]) -> dict[str, bytes]:
    """What is known of a subject, as the file beside its weights."""
    return {CARD: json.dumps(card, indent=2, sort_keys=True, ensure_ascii=False).encode()}


def sealed_card(card: Mapping[str, Any], files: Mapping[str, bytes], made_of: str) -> dict[str, bytes]:
    """The card as a file; its fingerprint is that of `made_of` and of the files beside it.

    >>> "fingerprint" in json.loads(sealed_card({"kind": "own"}, {}, "code")[CARD])
    True
    """
    state = hashlib.sha256(made_of.encode())
    for name in sorted(files):
        state.update(f"\0{name}\0{hashlib.sha256(files[name]).hexdigest()}".encode())
    return written_card({**card, "fingerprint": state.hexdigest()})


def cut_in_words(artifact: Artifact[Any]) -> str:
    """The end of a stage's line, by what was counted as `cut` while `artifact` was made; empty where nothing was."""
    cut = tally_of(artifact).get("cut", 0)
    return f" · {cut} longer than it reads, and cut" if cut else ""


if TYPE_CHECKING:
    import torch
    from torch import nn

_WARM, _START, _END = 0.3, 1 / 25, 1e-4  # of a one-cycle: share of steps going up, first and last step size


def learning_rate(options: Training, step: int, steps: int, epoch: int) -> float:
    """The step size at `step` of all `steps`: constant, a tenth every so many epochs, or up and down once.

    >>> options = Training(learning_rate=0.1)
    >>> [round(learning_rate(options, step, 101, 0), 4) for step in (0, 30, 100)]
    [0.004, 0.1, 0.0]
    >>> stepped = Training(learning_rate=0.1, schedule="step", step_epochs=10)
    >>> [round(learning_rate(stepped, 0, 1, epoch), 4) for epoch in (9, 10, 20)]
    [0.1, 0.01, 0.001]
    """
    highest = options.learning_rate
    if options.schedule == "constant":
        return highest
    if options.schedule == "step":
        return highest * 0.1 ** (epoch // options.step_epochs)
    top = max(1.0, _WARM * (steps - 1))
    if step <= top:
        return _cosine(highest * _START, highest, step / top)
    return _cosine(highest, highest * _END, (step - top) / max(1.0, steps - 1 - top))


def _cosine(start: float, end: float, way: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * way)) / 2


def optimizer_of(
    weights: Iterable[nn.Parameter], options: Training, foreach: bool | None = None
) -> torch.optim.Optimizer:
    """The optimizer that the settings name; on a GPU each of its steps is one kernel."""
    import torch

    weights = list(weights)
    how = {"fused": True} if weights and weights[0].is_cuda else {"foreach": foreach}
    shared: dict[str, Any] = {"lr": options.learning_rate, "weight_decay": options.weight_decay, **how}
    if options.optimizer == "adam":
        return torch.optim.Adam(weights, **shared)
    return torch.optim.SGD(weights, momentum=options.momentum, nesterov=options.momentum > 0, **shared)


WORTH = 10
"""A checkpoint may take this part of the time: an interruption costs as much again, at the most ten checkpoints."""
NETWORK, _OPTIMIZER, _CURVE = "network.safetensors", "optimizer.safetensors", "curve.json"


class Checkpoints(Protocol):
    """Where a training leaves what it needs to go on."""

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        """The last step that was saved, and its files."""

    def save(self, step: int, total: int, files: dict[str, bytes]) -> None:
        """Keeps the files of a step, of so many in all."""

    def reached(self, step: int, total: int) -> None:
        """Says how far the training is, where nothing is kept."""


def weights_of(network: nn.Module) -> bytes:
    """The weights and running statistics of a network as a safetensors file.

    >>> from torch import nn
    >>> weights_of(nn.Linear(1, 1))[8:20]
    b'{"bias":{"dt'
    """
    return _pack(network.state_dict())


def learning_files(network: nn.Module, optimizer: torch.optim.Optimizer, curve: Any) -> dict[str, bytes]:
    """The state of a training after an epoch, as the files of a checkpoint; `curve` is any JSON value."""
    state = optimizer.state_dict()["state"]
    tensors = {f"{place}.{name}": value for place, entries in state.items() for name, value in entries.items()}
    return {
        NETWORK: weights_of(network),
        _OPTIMIZER: _pack({name: value for name, value in tensors.items() if value is not None}),
        _CURVE: json.dumps(curve).encode(),
    }


def restore(network: nn.Module, optimizer: torch.optim.Optimizer, files: Mapping[str, bytes]) -> Any:
    """Puts network and optimizer where `learning_files` left them, and gives the curve."""
    import torch
    from safetensors.torch import load

    network.load_state_dict(load(files[NETWORK]))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in load(files[_OPTIMIZER]).items():
        place, _, entry = name.partition(".")
        state.setdefault(int(place), {})[entry] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    for weight, entries in optimizer.state.items():  # laid out as the weights are, or a GPU's one kernel refuses them
        for name, value in entries.items():
            entries[name] = torch.empty_like(weight).copy_(value) if value.shape == weight.shape else value
    return json.loads(files[_CURVE])


def training_curve(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    options: Training,
    checkpoints: Checkpoints,
    learn: Callable[[int], Epoch],
    who: str = "",
) -> list[Epoch]:
    """How every epoch of a training went: those of an earlier attempt as its last checkpoint has them, the others as
    `learn` says of each. There is a checkpoint after an epoch whose weights are kept, and where the last one is older
    than `WORTH` times what it took."""
    saved = checkpoints.latest()
    curve = [] if saved is None else [Epoch(*row) for row in restore(network, optimizer, saved[1])]
    kept = checkpoints.epochs if isinstance(checkpoints, Snapshots) else ()
    due = 0.0
    for number in range(len(curve), options.epochs):
        epoch = learn(number)
        if not math.isfinite(epoch.loss):
            raise InputError(
                f"The training{who} came apart in epoch {number + 1}: its loss is {epoch.loss}. Lower "
                f"`train.learning_rate` (it is {options.learning_rate:g})."
            )
        curve.append(epoch)
        began = time.monotonic()
        if began >= due or number + 1 in kept or isinstance(checkpoints, BestEpoch):
            checkpoints.save(number + 1, options.epochs, learning_files(network, optimizer, list(map(astuple, curve))))
            due = time.monotonic() + WORTH * (time.monotonic() - began)
        else:
            checkpoints.reached(number + 1, options.epochs)
    return curve


def learners_and_judges(aside: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places of the samples that train, and of those that are set aside for validation."""
    if aside.all():
        raise InputError("Every training sample was set aside for validation: lower `train.validation`.")
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def _pack(tensors: Mapping[str, torch.Tensor]) -> bytes:
    import torch
    from safetensors.torch import save

    # Copies, because safetensors refuses weights that share memory (tied layers) or lie with the channels last.
    plain: dict[str, Any] = {"copy": True, "memory_format": torch.contiguous_format, "non_blocking": True}
    copies = {name: value.detach().to("cpu", **plain) for name, value in tensors.items()}
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return bytes(save(copies))


WEIGHTS = "model.safetensors"
_EPOCH = "epoch-"


def kept_epochs(options: Training) -> frozenset[int]:
    """The epochs after which weights are kept: evenly spaced, the last one (the subject itself) not among them.

    >>> from assay.tasks.subjects.settings import Training
    >>> sorted(kept_epochs(Training(epochs=12, snapshots=3)))
    [3, 6, 9]
    >>> sorted(kept_epochs(Training(epochs=2, snapshots=5)))
    [1]
    """
    parts = options.snapshots + 1
    return frozenset(-(-options.epochs * part // parts) for part in range(1, parts)) - {options.epochs}


@dataclass
class Snapshots:
    """Checkpoints that keep the weights after some epochs for good, an interruption or not."""

    checkpoints: Checkpoints
    epochs: frozenset[int]
    kept: dict[str, bytes] = field(default_factory=dict)
    """The weights by the name they have among the subject's files."""

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        """The last step that was saved, and its files."""
        checkpoint = self.checkpoints.latest()
        if checkpoint is not None:
            self.kept.update(_epoch_files(checkpoint[1]))
        return checkpoint

    def save(self, step: int, total: int, files: Mapping[str, bytes]) -> None:
        """Keeps the files of a step, and with them the weights kept so far."""
        if step in self.epochs:
            self.kept[f"{_EPOCH}{step:05d}"] = files[NETWORK]
        self.checkpoints.save(step, total, {**files, **self.kept})

    def reached(self, step: int, total: int) -> None:
        """Says how far the training is, where nothing is kept."""
        self.checkpoints.reached(step, total)


@dataclass
class BestEpoch(Snapshots):
    """Checkpoints that keep the weights of the epoch with most right on the validation samples, the first of equals."""

    def save(self, step: int, total: int, files: Mapping[str, bytes]) -> None:
        """Keeps the files of a step, and with them the best weights so far."""
        right = [Epoch(*row).validation_accuracy or 0.0 for row in json.loads(files[_CURVE])]
        if right.index(max(right)) == step - 1:
            self.kept = {f"{_EPOCH}best": files[NETWORK]}
        self.checkpoints.save(step, total, {**files, **self.kept})


def earlier_selves(files: Mapping[str, bytes]) -> list[dict[str, bytes]]:
    """The files that the subject had after each kept epoch, in order; none where none was kept."""
    now = {name: content for name, content in files.items() if name not in _epoch_files(files)}
    card = json.loads(now[CARD])
    return [  # each card has a fingerprint of its own, since loaded models are known by it
        {**now, WEIGHTS: weights, CARD: json.dumps({**card, "fingerprint": f"{card['fingerprint']} {name}"}).encode()}
        for name, weights in sorted(_epoch_files(files).items())
    ]


def _epoch_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name.startswith(_EPOCH)}
