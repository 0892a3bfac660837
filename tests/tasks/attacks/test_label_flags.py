"""Red flags on networks that know several labels: attacks are compared by how many labels give way."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor, nn

from assay.data.schemas import Attacked
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.apgd import APGD
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.measures import trials
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.random_search import Square
from assay.tasks.attacks.red_flags import Reading, flags_of_attacks
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.subjects.images.model import ImageModel, said

torch.set_num_threads(1)
N = 150
ATTACKS: tuple[ImageAttack, ...] = (FGSM(), PGD(steps=10), Square(queries=150))
IMAGES = torch.from_numpy(np.random.default_rng(4).integers(2, 15, (N, 1, 8, 8)) / 16).float()
DRAWS = Draws(Seeds(0, "attack"), tuple(f"s{i:03}" for i in range(N)))


def several_labels(
    network: nn.Module, attacks: tuple[ImageAttack, ...], grid: tuple[float, ...], noise: float
) -> dict[str, Reading]:
    """The flags that attacks raise on a network with 14 labels, of which so many are not what it says."""
    subject = ImageModel(network.eval().requires_grad_(False), 14, True, (0.0,), (1.0,), block=50, name="several")
    images = IMAGES
    clean = subject.predict(images.numpy())
    truth = (said(clean, True) ^ (np.random.default_rng(2).random((N, 14)) < noise)).astype(np.int64)
    tables = []
    for attack, eps in product(attacks, grid):
        found = run_attack(attack, subject, images, torch.from_numpy(truth), eps, DRAWS)
        columns = [
            DRAWS.ids,
            ["several"] * N,
            [attack.called] * N,
            [eps] * N,
            [None] * N,
            truth.tolist(),
            [-1] * N,
            [-1] * N,
            list(clean),
            list(subject.predict(found.images.numpy())),
            found.success.numpy(),
            [eps] * N,
            [1.0] * N,
            [1] * N,
            [2] * N,
            [None] * N,
        ]
        tables.append(pa.table(columns, schema=Attacked.schema))
    readings = flags_of_attacks(trials(tables), attacks, [f"label {at}" for at in range(14)])
    return {reading.flag: reading for reading in readings}


def fourteen_labels(scale: float) -> nn.Sequential:
    """A linear network whose labels overlap, sure of itself or not."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Flatten(), nn.Linear(64, 14))
    with torch.no_grad():
        network[1].weight.mul_(scale)
        network[1].bias.copy_(-(IMAGES.flatten(1) @ network[1].weight.T).mean(dim=0))
    return network


@pytest.mark.parametrize(("noise", "scale"), [(0.0, 2.0), (0.2, 10.0)])
def test_an_honest_model_of_several_labels_raises_no_flag(noise: float, scale: float) -> None:
    """Any one label gives way to Square as soon as to PGD, which climbs the sum over all: so all labels are counted."""
    readings = several_labels(fourteen_labels(scale), ATTACKS, (0.01, 0.03, 0.1), noise)
    compared = ("one-step-beats-multi-step", "black-box-beats-white-box", "non-monotone-curve", "majority-predictor")
    assert not any(reading.raised for reading in readings.values())
    assert all(readings[flag].n == N for flag in compared)


def test_rounding_hides_the_gradients_of_several_labels_from_pgd_and_not_from_square() -> None:
    class Rounded(nn.Sequential):
        def forward(self, images: Tensor) -> Tensor:
            return super().forward(torch.round(images * 16) / 16)

    readings = several_labels(Rounded(fourteen_labels(2.0)), (PGD(steps=10), Square(queries=100)), (0.1,), 0.0)
    assert readings["black-box-beats-white-box"].raised
    assert "square gets more labels wrong than pgd for" in readings["black-box-beats-white-box"].why


def test_a_margin_over_several_labels_is_no_measure_for_what_climbs_their_loss() -> None:
    attacks = (APGD(steps=20, loss="margin"), Square(queries=50))
    readings = several_labels(fourteen_labels(10.0), attacks, (0.03,), 0.0)
    assert readings["black-box-beats-white-box"].n == 0
