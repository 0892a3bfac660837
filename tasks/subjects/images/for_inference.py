"""A network of ours made faster for looking only: no layer that another can do with it, and nothing written twice.

Batch norms are folded into convolutions, activations and sums take the place of what they come from, channels come last
in memory, and a block holds twice as many images. On a processor deep networks are 1.6 to 2.0 times as fast, small-cnn
hardly (benchmarks/looking.py). The sums are taken in another order, so logits differ in their last bits from those that
are attacked and stored as predictions: it is for stages of their own, in which a sample's answers are compared with
each other.
"""

from __future__ import annotations

import operator
from dataclasses import replace

import torch
from torch import Tensor, fx, nn
from torch.fx.experimental.optimization import fuse

from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.pooling import halved, pool_to

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
    tracer = fx.Tracer(autowrap_functions=(pool_to, halved))
    return fx.GraphModule(network, tracer.trace(network))


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
