"""Which layers of a network are looked at where the settings name none."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from assay.infra.errors import InputError
from assay.tasks.diagnostics.features import BEFORE
from assay.tasks.diagnostics.settings import Diagnostics


@dataclass(frozen=True)
class Layers:
    """The layers that are embedded, and the one whose feature map is drawn (None where none has a map)."""

    embedded: tuple[str, ...]
    mapped: str | None


# AttnMel's are those of Xu et al., figures 6 and 7: in their numbering of VGG16, feature(13) is drawn, feature(33) and
# feature(43) are embedded, and then the attention module, which is what enters the head together with the last stage.
_ATTNMEL = Layers(("stages.3", "stages.4", "before head"), "stages.1")
_VGG = Layers(("stages.2", "stages.4", "before classifier.6"), "stages.1")
_RESNET = Layers(("stages.1", "stages.3", "before head"), "stages.0")
_KNOWN = {
    "small-cnn": Layers(("convolutions.0", "convolutions.2", "before head"), "convolutions.1"),
    "attnmel": _ATTNMEL,
    "attnmel-softmax": _ATTNMEL,
    "vgg19": _VGG,
    "vgg19-bn": _VGG,
    "resnet50": _RESNET,
    "resnet101": _RESNET,
    "resnet152": _RESNET,
    "inception-v3": Layers(("features.3", "features.8", "before head"), "features.0.4"),
    "chexnet": Layers(("blocks.1", "blocks.3", "before head"), "blocks.0"),
}


def layers_of(network: nn.Module, name: str, settings: Diagnostics) -> Layers:
    """The layers that the settings ask for, or those that tell most about the network of that name."""
    usual = _KNOWN.get(name) or _evenly_spaced(network)
    return Layers(settings.layers or usual.embedded, settings.feature_map or usual.mapped)


def _evenly_spaced(network: nn.Module) -> Layers:
    """Of a network of one's own: the layers with weights at a third and two thirds of the way, and what enters the
    last; the map of an early convolution.

    >>> _evenly_spaced(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.Flatten(), nn.Linear(8, 2)))
    Layers(embedded=('0', '2', 'before 4'), mapped='0')
    """
    weighted = [name for name, layer in network.named_modules() if isinstance(layer, nn.Conv2d | nn.Linear) and name]
    if not weighted:
        raise InputError("The network has no convolution and no linear layer: name those to look at as `layers`.")
    inner, last = weighted[:-1], weighted[-1]
    chosen = [inner[len(inner) // 3], inner[2 * len(inner) // 3]] if inner else []
    modules = dict(network.named_modules())
    maps = [name for name in weighted if isinstance(modules[name], nn.Conv2d)]
    return Layers(tuple(dict.fromkeys([*chosen, BEFORE + last])), maps[len(maps) // 4] if maps else None)
