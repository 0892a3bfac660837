"""What a network of ours says is the same when it is made fast for looking, row by row and in any company."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, fx, nn

from assay.tasks.subjects.images.inference import for_inference, in_place
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.building import build_network

NETWORKS = {
    "small-cnn": 28,
    "attnmel": 48,
    "attnmel-softmax": 48,
    "vgg19": 32,
    "vgg19-bn": 48,
    "resnet50": 32,
    "inception-v3": 80,
    "chexnet": 32,
    "vgg-cifar": 16,
    "wide-resnet": 32,
}


def model(name: str, size: int) -> ImageModel:
    """A network whose batch norms have seen something."""
    network = build_network(name, classes=3, channels=1, size=size, width=0.125, seed=4).eval()
    generator = torch.Generator().manual_seed(0)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.copy_(torch.rand(layer.num_features, generator=generator) - 0.5)
            layer.running_var.copy_(torch.rand(layer.num_features, generator=generator) + 0.5)
    return ImageModel(network.requires_grad_(False), 3, False, (0.4,), (0.3,), ours=True)


def images(size: int, rows: int = 64) -> Tensor:
    return torch.rand(rows, 1, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", NETWORKS)
def test_it_says_the_same_but_for_rounding_and_leaves_the_network_alone(name: str) -> None:
    slow = model(name, NETWORKS[name])
    weights = {name: values.clone() for name, values in slow.network.state_dict().items()}
    quick, shown = for_inference(slow), images(NETWORKS[name])
    with torch.inference_mode():
        torch.testing.assert_close(quick.logits(shown), slow.logits(shown), rtol=1e-4, atol=1e-5)
    assert quick.network is not slow.network
    for name, values in slow.network.state_dict().items():
        assert torch.equal(values, weights[name])
        assert values.stride() == weights[name].stride()


@pytest.mark.parametrize("name", NETWORKS)
def test_what_it_says_of_an_image_depends_on_no_other(name: str) -> None:
    quick, shown = for_inference(model(name, NETWORKS[name])), images(NETWORKS[name])
    order = torch.randperm(len(shown), generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        assert torch.equal(quick.logits(shown)[order], quick.logits(shown[order]))


def test_batch_norms_are_folded() -> None:
    layers = {type(layer) for layer in for_inference(model("resnet50", 32)).network.modules()}
    assert nn.BatchNorm2d not in layers
    assert nn.Conv2d in layers


class Twice(nn.Module):  # type: ignore[misc]
    """A network that needs what its layers said after the activation of it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(1, 1, 3, padding=1) for _ in range(3))

    def forward(self, images: Tensor) -> Tensor:
        first = self.first(torch.relu(images))
        second = self.second(torch.relu(first)) + first
        return torch.relu(self.third(second)) + second + images


def test_nothing_is_overwritten_that_something_else_needs() -> None:
    torch.manual_seed(0)
    network, shown = Twice().requires_grad_(False), images(8, 4) - 0.5
    before, expected = shown.clone(), network(shown)
    quick = in_place(fx.symbolic_trace(network))
    assert torch.equal(quick(shown), expected)
    assert torch.equal(shown, before)
    assert {"relu_", "iadd"} <= {getattr(node.target, "__name__", "") for node in quick.graph.nodes}


class Flat(nn.Module):  # type: ignore[misc]
    """A network of a user's own, which could not view channels that come last as flat."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.head = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(2 * 8 * 8, 3)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.convolution(images).view(len(images), -1))


def test_a_network_of_a_users_own_stays_as_it_is() -> None:
    theirs = ImageModel(Flat().eval(), 3, False, (0.4,), (0.3,))
    assert for_inference(theirs) is theirs
