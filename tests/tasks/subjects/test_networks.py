"""The named networks are the published ones, and work on small images and at any width."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.networks.convolutional import AttnMel, pool_to
from assay.tasks.subjects.settings import NETWORKS

PUBLISHED = {
    "vgg19": 143_667_240,
    "vgg19-bn": 143_678_248,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "chexnet": 7_978_856,
    "inception-v3": 23_834_568,  # without the auxiliary head
}

FOR_CIFAR = {"vgg-cifar": 14_728_266, "wide-resnet": 36_479_194}


@pytest.mark.parametrize("name", FOR_CIFAR)
def test_a_network_for_cifar_has_the_number_of_parameters_that_its_users_report(name):
    with torch.device("meta"):
        network = build_network(name, classes=10, channels=3, size=32).eval()
        assert network(torch.zeros(1, 3, 32, 32)).shape == (1, 10)
        assert network(torch.zeros(1, 3, 20, 20)).shape == (1, 10)
    assert sum(weights.numel() for weights in network.parameters()) == FOR_CIFAR[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_the_published_number_of_parameters(name):
    with torch.device("meta"):
        network = build_network(name, classes=1000, channels=3, size=299)
        assert network(torch.zeros(1, 3, 299, 299)).shape == (1, 1000)
    assert sum(weights.numel() for weights in network.parameters()) == PUBLISHED[name]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("channels", "size"), [(3, 64), (1, 40)])
def test_every_network_gives_one_logit_per_class_for_small_images(name, channels, size):
    network = build_network(name, classes=4, channels=channels, size=size, width=0.125).eval()
    with torch.inference_mode():
        logits = network(torch.rand(3, channels, size, size, generator=torch.Generator().manual_seed(0)))
    assert logits.shape == (3, 4)
    assert torch.isfinite(logits).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_can_learn_from_every_weight(name):
    network = build_network(name, classes=3, channels=1, size=64, width=0.125).train()
    network(torch.rand(4, 1, 64, 64)).square().sum().backward()
    assert all(weights.grad is not None for weights in network.parameters())


def test_the_same_seed_gives_the_same_weights_whatever_was_drawn_before():
    first = build_network("resnet50", classes=2, channels=3, size=32, width=0.125, seed=7).state_dict()
    torch.rand(13)
    before = torch.random.get_rng_state()
    again = build_network("resnet50", classes=2, channels=3, size=32, width=0.125, seed=7).state_dict()
    other = build_network("resnet50", classes=2, channels=3, size=32, width=0.125, seed=8).state_dict()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["conv1.weight"], other["conv1.weight"])


def test_an_image_too_small_for_a_network_is_refused_in_words():
    with pytest.raises(InputError, match="inception-v3 needs images of at least 40×40 pixels, and these have 32"):
        build_network("inception-v3", classes=2, channels=3, size=32)


def test_small_cnn_takes_images_of_eight_pixels():
    assert build_network("small-cnn", classes=5, channels=1, size=8)(torch.zeros(2, 1, 8, 8)).shape == (2, 5)


def test_without_attention_anywhere_only_the_last_stage_speaks():
    network = AttnMel(classes=2, channels=3, size=32, width=0.125).eval()
    images = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        for gate in (network.fine, network.coarse):
            gate.phi.weight.zero_()
            gate.phi.bias.fill_(-1e4)  # σ(−10⁴) = 0
        alone = network(images)
        network.head.weight[:, network.stages[4][0].out_channels :] = 0
        assert torch.equal(network(images), alone)


@settings(max_examples=20)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 8))
def test_pooling_by_matrices_is_adaptive_average_pooling(height, width, extent):
    images = torch.rand(2, 3, height, width, dtype=torch.float64)
    expected = torch.nn.functional.adaptive_avg_pool2d(images, extent)
    torch.testing.assert_close(pool_to(images, extent), expected)
