"""A network by its name, with seeded weights; at width 1 it has the published number of parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from assay.infra.engines.devices import seeded_torch
from assay.infra.errors import InputError
from assay.tasks.subjects.networks import convolutional, residual

_NETWORKS: dict[str, tuple[Callable[..., nn.Module], int]] = {  # what builds it, and the smallest image it takes
    "small-cnn": (convolutional.SmallCNN, 8),
    "attnmel": (convolutional.AttnMel, 32),
    "attnmel-softmax": (partial(convolutional.AttnMel, softmaxed=True), 32),
    "vgg19": (convolutional.VGG, 32),
    "vgg19-bn": (partial(convolutional.VGG, normalized=True), 32),
    "resnet50": (partial(residual.ResNet, 50), 32),
    "resnet101": (partial(residual.ResNet, 101), 32),
    "resnet152": (partial(residual.ResNet, 152), 32),
    "inception-v3": (residual.Inception, 40),
    "chexnet": (residual.DenseNet, 32),
    "vgg-cifar": (convolutional.VGGCifar, 8),
    "wide-resnet": (residual.WideResNet, 8),
}


def build_network(name: str, *, classes: int, channels: int, size: int, width: float = 1.0, seed: int = 0) -> nn.Module:
    """The network of that name for images of `size` pixels (the shorter side), giving one logit per class.

    The same seed gives the same weights, bit for bit, whatever was drawn before.

    >>> network = build_network("small-cnn", classes=10, channels=1, size=32)
    >>> sum(weights.numel() for weights in network.parameters())
    89546
    """
    build, smallest = _NETWORKS[name]
    if size < smallest:
        raise InputError(
            f"The network {name} needs images of at least {smallest}×{smallest} pixels, and these have {size}: let the "
            "source resize them, or take another network (small-cnn takes 8 pixels)."
        )
    with seeded_torch(seed):
        return build(classes=classes, channels=channels, size=size, width=width)
