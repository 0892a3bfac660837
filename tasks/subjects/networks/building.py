"""A network by its name, with seeded weights; at width 1 it has the published number of parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from assay.infra.engines.calls import process_state
from assay.infra.errors import InputError
from assay.tasks.subjects.networks import convolutional, residual

_NETWORKS: dict[str, tuple[Callable[..., nn.Module], int]] = {  # what builds it, and the smallest image it takes
    "small-cnn": (convolutional.SmallCNN, convolutional.SMALLEST_SMALL_CNN),
    "attnmel": (convolutional.AttnMel, convolutional.SMALLEST_ATTNMEL),
    "attnmel-softmax": (partial(convolutional.AttnMel, softmaxed=True), convolutional.SMALLEST_ATTNMEL),
    "vgg19": (convolutional.VGG, convolutional.SMALLEST_VGG),
    "vgg19-bn": (partial(convolutional.VGG, normalized=True), convolutional.SMALLEST_VGG),
    "resnet50": (partial(residual.ResNet, 50), residual.SMALLEST_RESNET),
    "resnet101": (partial(residual.ResNet, 101), residual.SMALLEST_RESNET),
    "resnet152": (partial(residual.ResNet, 152), residual.SMALLEST_RESNET),
    "inception-v3": (residual.Inception, residual.SMALLEST_INCEPTION),
    "chexnet": (residual.DenseNet, residual.SMALLEST_DENSENET),
    "vgg-cifar": (convolutional.VGGCifar, convolutional.SMALLEST_VGG_CIFAR),
    "wide-resnet": (residual.WideResNet, residual.SMALLEST_WIDE_RESNET),
}


def build_network(name: str, *, classes: int, channels: int, size: int, width: float = 1.0, seed: int = 0) -> nn.Module:
    """The network of that name for images of `size` pixels (the shorter side), giving one logit per class.

    The same seed gives the same weights, bit for bit, whatever was drawn before.

    >>> network = build_network("small-cnn", classes=10, channels=1, size=32)
    >>> sum(weights.numel() for weights in network.parameters())
    89546
    """
    if name not in _NETWORKS:
        raise InputError(f"There is no network {name!r}: the networks are {', '.join(_NETWORKS)}.")
    build, smallest = _NETWORKS[name]
    if size < smallest:
        raise InputError(
            f"The network {name} needs images of at least {smallest}×{smallest} pixels, and these have {size}: let the "
            "source resize them, or take another network (small-cnn takes 8 pixels)."
        )
    with process_state, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build(classes=classes, channels=channels, size=size, width=width)
