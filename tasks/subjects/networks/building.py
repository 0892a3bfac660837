"""A network by its name, with seeded weights; at width 1 it has the published number of parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from assay.infra.bounds import process_state
from assay.infra.errors import InputError
from assay.tasks.subjects.networks import (
    attnmel,
    densenet,
    inception,
    resnet,
    small_cnn,
    vgg,
    vgg_cifar,
    wide_resnet,
)

_NETWORKS: dict[str, tuple[Callable[..., nn.Module], int]] = {  # what builds it, and the smallest image it takes
    "small-cnn": (small_cnn.SmallCNN, small_cnn.SMALLEST),
    "attnmel": (attnmel.AttnMel, attnmel.SMALLEST),
    "attnmel-softmax": (partial(attnmel.AttnMel, softmaxed=True), attnmel.SMALLEST),
    "vgg19": (vgg.VGG, vgg.SMALLEST),
    "vgg19-bn": (partial(vgg.VGG, normalized=True), vgg.SMALLEST),
    "resnet50": (partial(resnet.ResNet, 50), resnet.SMALLEST),
    "resnet101": (partial(resnet.ResNet, 101), resnet.SMALLEST),
    "resnet152": (partial(resnet.ResNet, 152), resnet.SMALLEST),
    "inception-v3": (inception.Inception, inception.SMALLEST),
    "chexnet": (densenet.DenseNet, densenet.SMALLEST),
    "vgg-cifar": (vgg_cifar.VGGCifar, vgg_cifar.SMALLEST),
    "wide-resnet": (wide_resnet.WideResNet, wide_resnet.SMALLEST),
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
