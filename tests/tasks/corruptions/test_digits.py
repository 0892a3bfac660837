"""Flip rates of a small network on real digits: near those measured before, where the definition is theirs."""

import numpy as np
import pytest
import torch

from assay.infra.stages.exact import Seeds
from assay.tasks.corruptions import choice
from assay.tasks.corruptions.choice import constants
from assay.tasks.corruptions.table import CORRUPTIONS, Corruptions
from assay.tasks.corruptions.tallies import comparisons, count_flips
from assay.tasks.corruptions.task import answers_to_frames
from assay.tasks.subjects.images.model import ImageModel

torch.set_num_threads(1)
HELD_OUT = 450


@pytest.fixture(scope="module")
def digits():
    """All 1797 digits, enlarged to 32 pixels, and what they are, in a seeded order."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.images))
    small = torch.from_numpy(found.images[order]).float()[:, None] / 16
    pixels = torch.nn.functional.interpolate(small, (32, 32), mode="bilinear").clamp(0, 1)
    return pixels, torch.from_numpy(found.target[order])


@pytest.fixture(scope="module")
def subject(digits):
    """A small network after 15 epochs on all but the held-out digits."""
    pixels, truth = (one[HELD_OUT:] for one in digits)
    torch.manual_seed(0)
    layers = []
    for before, after in ((1, 16), (16, 32), (32, 64)):
        layers += [torch.nn.Conv2d(before, after, 3, stride=2, padding=1), torch.nn.ReLU()]
    head = [torch.nn.Flatten(), torch.nn.Linear(1024, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)]
    network = torch.nn.Sequential(*layers, *head)
    optimizer = torch.optim.Adam(network.parameters())
    steps = 15 * -(-len(pixels) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(15):
        for rows in torch.randperm(len(pixels)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(pixels[rows]), truth[rows]).backward()
            optimizer.step()
            schedule.step()
    network.eval().requires_grad_(False)
    return ImageModel(network, 10, False, (0.0,), (1.0,))


def measured(subject, digits, settings):
    """Flip probability and accuracy over all frames, in per cent, per perturbation and severity."""
    pixels, truth = (one[:HELD_OUT].numpy() for one in digits)
    ids = [str(row) for row in range(HELD_OUT)]
    found = {}
    for seen in answers_to_frames(
        {"plain": subject}, pixels, ids, np.zeros(HELD_OUT, bool), settings, Seeds(0, "corrupt")
    ):
        said = seen.answers["plain"]
        counts = [
            count_flips(said, seen.corruption.kind).sum(),
            comparisons(said) * said.shape[1],
            (said == truth[seen.rows]).sum(),
            said.size,
        ]
        found[seen.corruption.word, seen.severity] = np.add(counts, found.get((seen.corruption.word, seen.severity), 0))
    return {key: (100 * flips / pairs, 100 * right / n) for key, (flips, pairs, right, n) in found.items()}


@pytest.mark.slow
def test_noise_flips_as_often_as_it_did_in_the_prototype(subject, digits):
    settings = Corruptions(perturbations=("gaussian-noise", "shot-noise", "speckle-noise"), severities=(1, 3, 5))
    found = measured(subject, digits, settings)
    prototype = {
        "gaussian-noise": (0.25, 0.65, 0.87),
        "shot-noise": (0.33, 0.57, 0.83),
        "speckle-noise": (0.48, 0.73, 0.93),
    }
    for name, before in prototype.items():
        for severity, expected in zip((1, 3, 5), before, strict=True):
            flips, accuracy = found[name, severity]
            assert flips == pytest.approx(expected, abs=0.5)
            assert accuracy > 95


@pytest.mark.slow
def test_geometry_flips_as_in_the_prototype_at_the_prototypes_amplitude(subject, digits, monkeypatch):
    """Its severity s swept s times the range that is our severity 5 (as CIFAR-P's): 15, 45, 75 degrees."""
    at_most = (
        constants(CORRUPTIONS.named("rotate").levels, 5, 32, 32),
        constants(CORRUPTIONS.named("shear").levels, 5, 32, 32),
    )
    assert at_most == ({"degrees": 15}, {"degrees": 15})

    def prototypes(levels, severity, height, width):
        return {name: severity * value for name, value in constants(levels, 5, height, width).items()}

    monkeypatch.setattr(choice, "constants", prototypes)
    found = measured(subject, digits, Corruptions(perturbations=("rotate", "shear"), severities=(1, 3)))
    assert found["rotate", 1] == pytest.approx((0.80, 95), abs=2)
    assert found["rotate", 3] == pytest.approx((7.58, 66), abs=5)
    assert found["shear", 1] == pytest.approx((0.58, 96), abs=2)
    assert found["shear", 3] == pytest.approx((8.93, 64), abs=5)
    monkeypatch.undo()
    mild = measured(subject, digits, Corruptions(perturbations=("rotate",), severities=(1, 5)))
    assert mild["rotate", 1][0] < mild["rotate", 5][0] < 2
