"""Layers by name: what comes out of them, what enters them, and that the network is left as it was."""

import numpy as np
import pytest
import torch
from tiny_subjects import tiny_images, tiny_model

from assay.infra.errors import InputError
from assay.tasks.diagnostics.maps import (
    attention_maps,
    feature_maps,
    features_of,
    layers_of,
    recorded,
    saliency_maps,
    upsampled,
)
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.settings import NETWORKS

torch.set_num_threads(1)


def hooks(network):
    return sum(len(layer._forward_hooks) + len(layer._forward_pre_hooks) for layer in network.modules())


def attnmel(name="attnmel", size=64):
    network = build_network(name, classes=2, channels=3, size=size, width=0.0625).eval().requires_grad_(False)
    return ImageModel(network, 2, False, (0.5,) * 3, (0.25,) * 3)


def test_features_are_what_the_layers_say_for_any_number_of_images():
    model, pixels = tiny_model(block=4), tiny_images(7).numpy()
    found = features_of(model, pixels, ["2", "before 5"])
    network = tiny_model().network
    inner = network[:3]((torch.from_numpy(pixels) - 0.5) / 0.25)
    assert found["2"].shape == (7, 256)
    assert np.allclose(found["2"], inner.flatten(1).numpy(), atol=1e-5)
    assert np.allclose(found["before 5"], torch.relu(inner).flatten(1).numpy(), atol=1e-5)
    for row in range(7):  # alone or among others, the same bits
        assert np.array_equal(features_of(model, pixels[row : row + 1], ["2"])["2"][0], found["2"][row])
    assert hooks(model.network) == 0


def test_hooks_are_removed_when_the_network_breaks():
    model = tiny_model()
    with pytest.raises(RuntimeError), recorded(model.network, ["0"]):
        model.network(torch.zeros(1, 3, 1, 1))
    assert hooks(model.network) == 0


def test_an_unknown_layer_is_answered_with_those_that_exist():
    with pytest.raises(InputError, match=r"no layer 'conv9': its layers are 0, 1, 2, 3, 4, 5\."):
        features_of(tiny_model(), tiny_images(1).numpy(), ["conv9"])
    assert hooks(tiny_model().network) == 0
    deep = attnmel()
    with pytest.raises(InputError, match=r"stages, fine, coarse, head.* and \d+ inside these"):
        features_of(deep, np.zeros((1, 3, 64, 64), np.float32), ["stages.9"])
    with pytest.raises(InputError, match="no map: name a convolutional layer"):
        feature_maps(tiny_model(), tiny_images(1), "5")


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_has_three_layers_and_a_map_to_look_at(name):
    size = 64
    network = build_network(name, classes=3, channels=1, size=size, width=0.0625).eval().requires_grad_(False)
    model = ImageModel(network, 3, False, (0.5,), (0.25,), block=2)
    layers = layers_of(network, name, Diagnostics())
    pixels = np.random.default_rng(0).random((2, 1, size, size), dtype=np.float32)
    found = features_of(model, pixels, layers.embedded)
    assert len(found) == 3
    assert all(len(one) == 2 and 1 < one.shape[1] <= 2048 for one in found.values())
    maps = feature_maps(model, torch.from_numpy(pixels), str(layers.mapped))
    assert len(maps) == 2
    assert min(maps.shape[1:]) >= 4
    assert (maps >= 0).all()


def test_settings_name_other_layers():
    network = tiny_model().network
    assert layers_of(network, "net.py:build", Diagnostics()).embedded == ("0", "2", "before 5")
    assert layers_of(network, "net.py:build", Diagnostics(layers=("3",), feature_map="2")).embedded == ("3",)
    with pytest.raises(InputError, match="no convolution and no linear layer"):
        layers_of(torch.nn.Flatten(), "net.py:build", Diagnostics())


def test_sigmoid_attention_lies_within_0_and_1_and_softmax_attention_adds_up_to_1():
    images = torch.rand(3, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    sigmoid, softmax = (attention_maps(attnmel(name), images) for name in ("attnmel", "attnmel-softmax"))
    assert {gate: maps.shape for gate, maps in sigmoid.items()} == {"fine": (3, 8, 8), "coarse": (3, 4, 4)}
    for gate in ("fine", "coarse"):
        assert ((sigmoid[gate] >= 0) & (sigmoid[gate] <= 1)).all()
        assert sigmoid[gate].std() > 0
        assert softmax[gate].sum(axis=(1, 2)) == pytest.approx(np.ones(3), abs=1e-5)
        assert upsampled(sigmoid[gate], 64, 64).shape == (3, 64, 64)
    network, seen = attnmel().network, []
    network.fine.register_forward_hook(lambda _gate, _inputs, outputs: seen.append(outputs[0]))
    network((images - 0.5) / 0.25)
    assert np.allclose(sigmoid["fine"], seen[0][:, 0].numpy(), atol=1e-5)
    assert attention_maps(tiny_model(), tiny_images(1)) == {}


@pytest.mark.parametrize("multilabel", [False, True])
def test_saliency_is_the_slope_of_the_loss(multilabel):
    model, images = tiny_model(multilabel=multilabel), tiny_images(2)
    targets = torch.tensor([[1, 0, -1, 0], [0, 1, 0, 1]]) if multilabel else torch.tensor([1, 3])
    maps = saliency_maps(model, images, targets)
    assert maps.shape == (2, 16, 16)
    row, column = (int(one) for one in np.unravel_index(maps[0].argmax(), (16, 16)))

    def loss(shift):
        moved = images[0].double().clone()
        moved[0, row, column] += shift
        logits = tiny_model(multilabel=multilabel).network.double()((moved[None] - 0.5) / 0.25)[0]
        if not multilabel:
            return float(torch.logsumexp(logits, 0) - logits[1])
        known = [0, 1, 3]
        signs = torch.tensor([1.0, -1.0, -1.0], dtype=torch.float64)
        return float(torch.nn.functional.softplus(-signs * logits[known]).mean())

    slope = (loss(1e-4) - loss(-1e-4)) / 2e-4
    assert maps[0].max() == pytest.approx(abs(slope), rel=1e-3)
