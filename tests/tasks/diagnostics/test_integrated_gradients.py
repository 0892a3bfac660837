"""Integrated gradients add up to what changed, and are those of a plain sum over the path."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_subjects import tiny_images, tiny_model

from assay.tasks.diagnostics.maps import COMPLETE, blurred, integrated_gradients
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.building import build_network

torch.set_num_threads(1)


def model_of(name: str, channels: int = 1, size: int = 32, classes: int = 4) -> ImageModel:
    width = {"small-cnn": 1.0, "chexnet": 0.125}.get(name, 0.0625)
    network = build_network(name, classes=classes, channels=channels, size=size, width=width)
    network.eval().requires_grad_(False)
    return ImageModel(network, classes, False, (0.5,) * channels, (0.25,) * channels)


def plainly(output, image, baseline, steps=4000, block=500):
    """A Riemann sum over the path in double precision, written down as the definition says."""
    total = torch.zeros(image.shape, dtype=torch.float64)
    for start in range(0, steps, block):
        places = (torch.arange(start, start + block, dtype=torch.float64) + 0.5) / steps
        along = (baseline.double() + places[:, None, None, None] * (image - baseline).double()).requires_grad_(True)
        total += torch.autograd.grad(output(along).sum(), along)[0].sum(dim=0)
    return ((image - baseline).double() * total / steps).numpy()


@pytest.mark.parametrize(
    ("name", "kind"), [("small-cnn", "black"), ("small-cnn", "blurred"), ("attnmel", "black"), ("chexnet", "blurred")]
)
def test_attributions_add_up_to_the_change_of_the_logit(name, kind):
    model = model_of(name, channels=1 if name == "small-cnn" else 3)
    image = torch.nn.functional.interpolate(tiny_images(1, len(model.mean)), 32, mode="bilinear")[0]

    def output(images):
        return 10 * model.logits(images)[:, 1]  # untrained networks say little: larger logits bend as much

    baseline = torch.zeros_like(image) if kind == "black" else blurred(image)
    found = integrated_gradients(output, image, baseline, steps=16)
    change = float((output(image[None]) - output(baseline[None])).double())
    assert found.expected == pytest.approx(change, abs=1e-5)
    assert found.values.sum() == pytest.approx(change, abs=COMPLETE * max(1, abs(change)))
    assert found.values.shape == tuple(image.shape)


@given(seed=st.integers(0, 100), said=st.integers(0, 3))
@settings(max_examples=4)
def test_attributions_are_those_of_a_riemann_sum_of_four_thousand_steps(seed, said):
    model = tiny_model(seed=seed)
    image = tiny_images(1, seed=seed)[0]
    found = integrated_gradients(lambda some: model.logits(some)[:, said], image, torch.zeros_like(image), steps=256)
    network = tiny_model(seed=seed).network.double()
    expected = plainly(lambda some: network((some - 0.5) / 0.25)[:, said], image, torch.zeros_like(image))
    assert np.abs(found.values - expected).max() < 5e-3 * max(0.1, np.abs(expected).max())


def test_a_linear_output_needs_no_more_pieces_and_gives_its_weights():
    weights = torch.tensor([[[1.0, -2.0], [0.5, 0.0]]])
    image = torch.tensor([[[0.5, 0.25], [1.0, 0.75]]])
    found = integrated_gradients(lambda some: (some * weights).sum(dim=(1, 2, 3)), image, torch.zeros_like(image), 8)
    assert np.allclose(found.values, (weights * image).numpy(), atol=1e-6)
    assert found.steps == 8


def test_pieces_are_halved_where_the_output_bends():
    bend = 0.37

    def output(some):
        return 100 * torch.relu(some[:, 0, 0, 0] - bend)

    found = integrated_gradients(output, torch.ones(1, 1, 1), torch.zeros(1, 1, 1), steps=8)
    assert found.total == pytest.approx(found.expected, abs=COMPLETE * abs(found.expected))
    assert 8 < found.steps < 40  # a path cut evenly would need hundreds
    assert found.total == pytest.approx(63, abs=0.07)


def test_a_blurred_image_keeps_its_mean_and_loses_its_detail():
    image = torch.rand(3, 24, 16, generator=torch.Generator().manual_seed(0))
    soft = blurred(image)
    assert soft.shape == image.shape
    assert soft.mean() == pytest.approx(float(image.mean()), abs=0.02)
    assert soft.std() < 0.3 * image.std()
    assert torch.allclose(blurred(torch.full((1, 8, 8), 0.3)), torch.full((1, 8, 8), 0.3))
