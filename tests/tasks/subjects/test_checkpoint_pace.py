"""A training leaves a checkpoint only where the last one is older than ten times what it took; its bar moves anyway."""

from types import SimpleNamespace

import pytest
import torch

from assay.tasks.subjects import trained
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.trained import BestEpoch, Epoch, Snapshots, training_curve

EPOCHS = 12


class Timed:
    """Checkpoints that take two seconds each."""

    def __init__(self, clock: list[float]) -> None:
        self.clock, self.steps, self.bar = clock, list[int](), list[tuple[int, int]]()

    def latest(self) -> None:
        return None

    def save(self, step: int, total: int, files: object) -> None:
        self.steps.append(step)
        self.bar.append((step, total))
        self.clock[0] += 2

    def reached(self, step: int, total: int) -> None:
        self.bar.append((step, total))


@pytest.mark.parametrize(
    ("wrapped", "epoch_seconds", "saved"),
    [
        (lambda kept: kept, 9, [1, 4, 7, 10]),
        (lambda kept: kept, 30, [*range(1, EPOCHS + 1)]),
        (lambda kept: Snapshots(kept, frozenset({2, 6})), 9, [1, 2, 5, 6, 9, 12]),
        (lambda kept: BestEpoch(kept, frozenset()), 1, [*range(1, EPOCHS + 1)]),
    ],
    ids=["short epochs", "long epochs", "kept weights", "the best epoch"],
)
def test_a_checkpoint_waits_until_the_last_one_has_paid_for_itself(monkeypatch, wrapped, epoch_seconds, saved):
    clock = [100.0]
    monkeypatch.setattr(trained, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(trained, "WORTH", 10)
    network, timed = torch.nn.Linear(2, 1), Timed(clock)

    def learn(number: int) -> Epoch:
        clock[0] += epoch_seconds
        return Epoch(number + 1, 1.0, 0.5, number / EPOCHS)

    optimizer = torch.optim.Adam(network.parameters())
    curve = training_curve(network, optimizer, Training(epochs=EPOCHS), wrapped(timed), learn)
    assert (timed.steps, len(curve)) == (saved, EPOCHS)
    assert timed.bar == [(step, EPOCHS) for step in range(1, EPOCHS + 1)]
