"""A network of ours made faster for inference only, and a small network on which attacks and defences are tried.

Batch norms are folded into convolutions, activations and sums take the place of what they come from, channels come last
in memory, and a block holds twice as many images. On a processor deep networks are 1.6 to 2.0 times as fast.
"""

from __future__ import annotations

import operator
from dataclasses import replace

import torch
from torch import Tensor, fx, nn
from torch.fx.experimental.optimization import fuse

from assay.infra.engines.devices import seeded_torch
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.convolutional import halved, pool_to

_FEW = 3
"""Convolutions: the first, of one or three channels, is slower where they come last, and outweighs so few others."""
_LAYERS = (nn.Conv2d, nn.BatchNorm2d, nn.Linear)
_IN_PLACE = {torch.relu: torch.relu_, operator.add: operator.iadd}


class ChannelsLast(nn.Module):  # type: ignore[misc]
    """A network whose weights lie channels last, fed with images that do."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network.to(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> Tensor:
        """What the network says of the images."""
        return self.network(images.contiguous(memory_format=torch.channels_last))


def for_inference(model: ImageModel) -> ImageModel:
    """The model for inference only; a network that is not ours, or not on a processor, stays as it is.

    Networks of users' own may view their activations as flat, which they cannot where channels come last.
    """
    if not model.ours or model.device != "cpu":
        return model
    with torch.no_grad():
        network = in_place(fuse(traced(model.network), no_trace=True))  # of a copy
    convolutions = sum(isinstance(layer, nn.Conv2d) for layer in network.modules())
    return replace(model, network=ChannelsLast(network) if convolutions > _FEW else network, block=2 * model.block)


def traced(network: nn.Module) -> fx.GraphModule:
    """The network as a graph of its layers; pooling whose way depends on the size of the images is one of them."""
    return fx.GraphModule(network, fx.Tracer(autowrap_functions=(pool_to, halved)).trace(network))


def in_place(network: fx.GraphModule) -> fx.GraphModule:
    """The same network, in which activations and sums overwrite what a layer or a sum made for nobody else."""
    layers = dict(network.named_modules())

    def is_for_nobody_else(node: object) -> bool:
        if not isinstance(node, fx.Node) or len(node.users) > 1:
            return False
        return node.target in (operator.add, operator.iadd) or isinstance(layers.get(str(node.target)), _LAYERS)

    for node in network.graph.nodes:
        if not node.args or not is_for_nobody_else(node.args[0]):
            continue
        if node.op == "call_function":
            node.target = _IN_PLACE.get(node.target, node.target)
        elif isinstance(layer := layers.get(str(node.target)), nn.ReLU):
            layer.inplace = True
    network.recompile()
    return network


SIDE = 16


def practice_model(classes: int = 3, *, multilabel: bool = False, block: int = 4) -> ImageModel:
    """A convolutional network for colour images of `SIDE` pixels, whose answers vary from image to image."""
    with seeded_torch(0):
        network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 8, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * (SIDE // 4) ** 2, classes),
        )
    network.eval().requires_grad_(False)
    return ImageModel(network, classes, multilabel, (0.5,) * 3, (0.25,) * 3, block=block, name="the practice network")


def practice_images(n: int, height: int = SIDE, width: int = SIDE, channels: int = 3) -> Tensor:
    """Smooth blobs within [0, 1], both bounds among their values, [n, channels, height, width]."""
    coarse = torch.rand(n, channels, 4, 4, generator=torch.Generator().manual_seed(1))
    smooth = torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear")
    return ((smooth - 0.5) * 1.6 + 0.5).clamp(0, 1)


def answers(model: ImageModel, images: Tensor) -> Tensor:
    """What the model says of images: class codes [n], or labels of 0 and 1 [n, k]."""
    with torch.no_grad():
        logits = model.logits(images)
    return (logits >= 0).long() if model.multilabel else logits.argmax(dim=1)
