"""Generated perturbations: within ε to the last bit, by the paper's U-Net and losses, resumed as if never stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.generator import (
    Card,
    Generator,
    PerturbationUNet,
    depth_for,
    fooling_loss,
    generator_files,
    load_generator,
    scaled,
    seeded_generator,
    train_generator,
    training_targets,
)
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.settings import GAP
from assay.tasks.subjects.images.dataset import LabelledImages
from assay.tasks.subjects.images.model import ImageModel

torch.set_num_threads(1)
SEEDS = Seeds(0, "generator")


def linear_model(classes: int = 3, multilabel: bool = False, mean: float = 0.5, std: float = 0.1) -> ImageModel:
    """Which third of an 8×8 image is brightest, as a linear network."""
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, classes))
    with torch.no_grad():
        rows = torch.arange(64) * classes // 64
        network[1].weight.copy_((rows == torch.arange(classes)[:, None]) * 0.1 - 0.02)
        network[1].bias.zero_()
    return ImageModel(network.eval().requires_grad_(False), classes, multilabel, (mean,), (std,), block=8)


def images_of(n: int, size: int = 8, channels: int = 1) -> torch.Tensor:
    return torch.rand(n, channels, size, size, generator=torch.Generator().manual_seed(3))


def lessons(images: torch.Tensor, truth: torch.Tensor) -> LabelledImages:
    return LabelledImages(tuple(map(str, range(len(images)))), images.numpy(), truth.numpy().astype(np.int64))


class Shelf:
    """Checkpoints in memory; `broken_after` is where the training is killed."""

    def __init__(self, broken_after: int | None = None) -> None:
        self.kept: tuple[int, dict[str, bytes]] | None = None
        self.broken_after = broken_after

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        return self.kept

    def advance(self, done: int, total: int) -> None:
        pass

    def save(self, step: int, total: int, files: dict[str, bytes]) -> None:
        self.kept = (step, files)
        if step == self.broken_after:
            raise KeyboardInterrupt


def test_the_papers_generator_goes_down_and_up_six_times() -> None:
    network = PerturbationUNet(3, depth_for(224), 64)
    assert [layer.out_channels for layer in network.down] == [64, 128, 256, 512, 512, 512]
    assert [layer.out_channels for layer in reversed(network.up)] == [512, 512, 256, 128, 64, 3]
    assert [layer.in_channels for layer in reversed(network.up)] == [512, 1024, 1024, 512, 256, 128]  # skips beside


@pytest.mark.parametrize(("height", "width", "channels"), [(8, 8, 1), (28, 28, 1), (32, 40, 3), (57, 61, 3)])
def test_a_perturbation_has_the_shape_of_its_image(height: int, width: int, channels: int) -> None:
    network = seeded_generator(channels, min(height, width), 4, seed=0)
    found = network(torch.rand(2, channels, height, width))
    assert found.shape == (2, channels, height, width)
    assert float(found.detach().abs().max()) < 1


def test_perturbations_below_the_limit_stay_as_they_are() -> None:
    small, large = torch.tensor([[[[0.01, -0.02]]]]), torch.tensor([[[[0.5, -1.0]]]])
    assert torch.equal(scaled(small, 0.1), small)
    assert scaled(large, 0.1).tolist() == [[[[pytest.approx(0.05), pytest.approx(-0.1)]]]]


@given(eps=st.sampled_from([0.0, 1 / 255, 4 / 255, 0.1, 1 / 3, 1.0]), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_no_pixel_moves_further_than_eps_for_any_image(eps: float, seed: int) -> None:
    network = seeded_generator(3, 16, 4, seed).eval().requires_grad_(False)
    generator = Generator(network, Card(3, 16, 4, eps, "true-label", 0, ()), block=4)
    clean = torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
    moved = generator.perturb(clean, eps)
    assert float((moved.double() - clean.double()).abs().max()) <= eps
    assert 0 <= float(moved.min()) <= float(moved.max()) <= 1
    if eps == 4 / 255:
        assert float((moved - clean).abs().max()) > 0


def test_what_an_image_gets_depends_on_no_other_image() -> None:
    network = seeded_generator(1, 8, 8, seed=1)
    network(images_of(64))  # moves the running statistics
    generator = Generator(network.eval().requires_grad_(False), Card(1, 8, 8, 0.1, "true-label", 0, ()), block=4)
    images = images_of(9)
    whole = generator.perturb(images, 0.1)
    assert torch.equal(whole[5:], generator.perturb(images[5:], 0.1))
    assert torch.equal(whole.flip(0), generator.perturb(images.flip(0), 0.1))
    assert torch.equal(whole, generator.perturb(images, 0.1))  # no dropout is left


def test_eq_4_is_the_mean_log_probability_of_the_true_label() -> None:
    model, images = linear_model(), images_of(4)
    truth = torch.tensor([0, 1, 2, 1])
    by_hand = np.mean([np.log(row[y]) for row, y in zip(model.predict(images.numpy()), truth.tolist(), strict=True)])
    assert float(fooling_loss(model, images, truth, "true-label")) == pytest.approx(by_hand, abs=1e-6)
    assert float(fooling_loss(model, images, truth, "least-likely")) == pytest.approx(-by_hand, abs=1e-6)


def test_the_least_likely_class_is_that_of_the_clean_image() -> None:
    model, images = linear_model(), images_of(6)
    found = training_targets(model, images, torch.zeros(6, dtype=torch.int64), "least-likely")
    assert found.tolist() == model.predict(images.numpy()).argmin(axis=1).tolist()


def test_an_unknown_class_is_what_the_subject_says() -> None:
    model, images = linear_model(), images_of(3)
    found = training_targets(model, images, torch.tensor([-1, 2, -1]), "true-label")
    said = model.predict(images.numpy()).argmax(axis=1)
    assert found.tolist() == [said[0], 2, said[2]]


def test_of_several_labels_every_one_is_to_flip() -> None:
    model, images = linear_model(multilabel=True), images_of(2)
    said = model.predict(images.numpy()) >= 0.5
    truth = torch.tensor([[1, 0, -1], [-1, -1, 1]])
    by_truth = training_targets(model, images, truth, "true-label")
    assert by_truth.tolist() == [[0, 1, 1 - said[0, 2]], [1 - said[1, 0], 1 - said[1, 1], 0]]
    by_model = training_targets(model, images, truth, "least-likely")
    assert by_model.tolist() == (1 - said.astype(float)).tolist()
    loss = fooling_loss(model, images, by_model, "true-label")
    probabilities = model.predict(images.numpy())
    by_hand = -np.log(np.where(said, 1 - probabilities, probabilities)).mean()
    assert float(loss) == pytest.approx(by_hand, abs=1e-6)


def test_a_trained_generator_fools_images_it_has_never_seen() -> None:
    model = linear_model()
    images = images_of(240)
    truth = torch.from_numpy(model.predict(images.numpy()).argmax(axis=1))
    attack = GAP(epochs=12, width=8, batch_size=16, learning_rate=5e-3)
    files = train_generator(model, lessons(images[:160], truth[:160]), attack, 0.1, SEEDS)
    generator = load_generator(files, "cpu", model.block)
    draws = Draws(SEEDS, tuple(map(str, range(80))))
    result = run_attack(attack, model, images[160:], truth[160:], 0.1, draws, perturb=generator.perturb)
    noise = images[160:] + 0.1 * (2 * images_of(80) - 1)
    by_noise = model.predict(noise.clamp(0, 1).numpy()).argmax(axis=1) != truth[160:].numpy()
    assert float(result.success.float().mean()) > 2 * by_noise.mean() + 0.2
    assert float((result.images - images[160:]).abs().max()) <= 0.1
    assert generator.card.losses[-1] < generator.card.losses[0]


def test_a_training_that_was_killed_goes_on_with_the_same_result() -> None:
    model, images = linear_model(), images_of(30)
    truth = torch.zeros(30, dtype=torch.int64)
    attack = GAP(epochs=3, width=4, batch_size=8)
    whole = train_generator(model, lessons(images, truth), attack, 0.1, SEEDS)
    shelf = Shelf(broken_after=2)
    with pytest.raises(KeyboardInterrupt):
        train_generator(model, lessons(images, truth), attack, 0.1, SEEDS, shelf)
    torch.rand(7)  # draws between the two attempts must not matter
    shelf.broken_after = None
    assert train_generator(model, lessons(images, truth), attack, 0.1, SEEDS, shelf) == whole
    assert shelf.kept is not None
    assert shelf.kept[0] == 3


def test_training_a_generator_leaves_the_subject_and_the_global_draws_alone() -> None:
    model = linear_model()
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train_generator(model, lessons(images_of(16), torch.zeros(16)), GAP(epochs=1, width=4), 0.1, SEEDS)
    assert torch.equal(torch.rand(3), expected)
    after = model.network.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_generator_comes_back_from_its_files() -> None:
    files = generator_files(seeded_generator(1, 8, 4, 0), Card(1, 8, 4, 0.1, "true-label", 1, (0.5,)))
    assert load_generator(files, "cpu", 8).card == Card(1, 8, 4, 0.1, "true-label", 1, (0.5,))


def test_another_seed_gives_another_generator() -> None:
    model, images, truth = linear_model(), images_of(8), torch.zeros(8, dtype=torch.int64)
    attack = GAP(epochs=1, width=4)
    one, other = (
        train_generator(model, lessons(images, truth), attack, 0.1, replace(SEEDS, run_seed=s)) for s in (0, 1)
    )
    assert one["generator.safetensors"] != other["generator.safetensors"]


@pytest.fixture(scope="module")
def digits() -> tuple[ImageModel, torch.Tensor, torch.Tensor]:
    """A small CNN trained for 15 epochs on 1347 digits at 32×32, and all 1797 images; the last 450 are for testing."""
    from sklearn.datasets import load_digits

    from assay.tasks.subjects.networks.building import build_network

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    small = torch.tensor(found.images[order, None] / 16, dtype=torch.float32)
    images = torch.nn.functional.interpolate(small, size=(32, 32), mode="bilinear").clamp(0, 1)
    truth = torch.tensor(found.target[order])
    network = build_network("small-cnn", classes=10, channels=1, size=32, seed=0)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    batches = [
        rows for _ in range(15) for rows in torch.from_numpy(np.random.default_rng(1).permutation(1347)).split(64)
    ]
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=len(batches))
    mean, std = float(images[:1347].mean()), float(images[:1347].std())
    for rows in batches:
        loss = torch.nn.functional.cross_entropy(network((images[rows] - mean) / std), truth[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return ImageModel(network.eval().requires_grad_(False), 10, False, (mean,), (std,)), images, truth


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "expected"), [("true-label", 0.68), ("least-likely", 0.87)])
def test_digits_at_a_tenth_keep_the_accuracy_that_was_measured(
    digits: tuple[ImageModel, torch.Tensor, torch.Tensor], loss: str, expected: float
) -> None:
    """Ten epochs against the standard model: Eq. 4 leaves about 68 % of the test images, the least-likely loss 87 %."""
    model, images, truth = digits
    attack = GAP(eps=(0.1,), epochs=10, loss=loss)
    files = train_generator(model, lessons(images[:1347], truth[:1347]), attack, 0.1, SEEDS)
    moved = load_generator(files, "cpu", model.block).perturb(images[1347:], 0.1)
    right = model.predict(moved.numpy()).argmax(axis=1) == truth[1347:].numpy()
    assert right.mean() == pytest.approx(expected, abs=0.08)
