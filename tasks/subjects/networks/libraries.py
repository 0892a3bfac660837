"""Networks of images by their name in a library, `timm:resnet18`: its code, with weights that are drawn or given.

Nothing is ever fetched: a name stands for the architecture alone. Another version of the library may build another
network of that name, so the version is part of what the subject is known by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.infra.engines.devices import declare_image_operators, seeded_torch
from assay.infra.errors import InputError, faults_in_words, suggestion

if TYPE_CHECKING:
    from torch import nn


_COLOURS = 3


@dataclass(frozen=True)
class Library:
    """A library of image networks: the names that it has, and what builds one of them for k classes and images of so
    many channels, so many pixels wide. Both are given the library, imported."""

    names: Callable[[Any], list[str]]
    build: Callable[[Any, str, int, int, int], nn.Module]


@dataclass(frozen=True)
class LibraryNetwork:
    """A network by its name in a library of a version; picklable."""

    written: str
    library: str
    name: str
    version: str

    @cached_property
    def fingerprint(self) -> str:
        """The hash of what its architecture depends on."""
        return hashlib.sha256(f"{self.library}\0{self.version}\0{self.name}".encode()).hexdigest()


def refer_to_library(_settings: object, written: str, _beside: Path) -> LibraryNetwork:
    """The network of that name; raises where the library has none."""
    named, _, name = written.partition(":")
    known = LIBRARIES[named].names(_imported(named))
    architecture, _, tag = name.partition(".")
    if tag and architecture in known:
        raise InputError(
            f'"{written}" names pretrained weights ({tag}), and Assay fetches none: write {named}:{architecture}, and '
            "bring them as `weights` (a safetensors file)."
        )
    if name not in known:
        raise InputError(f'{named} {version(named)} has no network "{name}" for classes; {suggestion(name, known)}')
    return LibraryNetwork(written, named, name, version(named))


def library_network(network: LibraryNetwork, *, classes: int, channels: int, size: int, seed: int) -> nn.Module:
    """The network with weights drawn from the seed; raises where this process has another version of the library."""

    actual = version(network.library) if find_spec(network.library) else "none"
    if actual != network.version:
        raise InputError(
            f"The run began with {network.library} {network.version}, and this worker has {actual}: install the same "
            f"version everywhere, since another may build another {network.name}."
        )
    library = _imported(network.library)
    cannot = f'"{network.written}" cannot be built for images of {channels} channels and {size} pixels: '
    with (
        faults_in_words(lambda fault: f"{cannot}{' '.join(str(fault).split())[:300].rstrip('.')}."),
        seeded_torch(seed),
    ):
        return LIBRARIES[network.library].build(library, network.name, classes, channels, size)


def _imported(library: str) -> Any:
    declare_image_operators()
    return import_module(library)


def _of_timm(timm: Any, name: str, classes: int, channels: int, size: int) -> nn.Module:
    about = timm.get_pretrained_cfg(name, allow_unregistered=True)
    sized = {"img_size": size} if about is not None and about.fixed_input_size else {}
    network: nn.Module = timm.create_model(name, pretrained=False, num_classes=classes, in_chans=channels, **sized)
    return network


def _of_torchvision(torchvision: Any, name: str, classes: int, channels: int, size: int) -> nn.Module:
    if channels != _COLOURS:
        raise InputError(
            f"torchvision's networks look at {_COLOURS} channels, and these images have {channels}: let the source "
            "make them coloured (`pixels: {channels: 3}`)."
        )
    with_size = next((size_of(size) for prefix, size_of in _SIZED.items() if name.startswith(prefix)), {})
    about = _WITHOUT_AUXILIARY.get(name, {})
    network: nn.Module = torchvision.models.get_model(name, weights=None, num_classes=classes, **with_size, **about)
    return network


_SIZED: dict[str, Callable[[int], dict[str, Any]]] = {
    "vit_": lambda size: {"image_size": size},
    "maxvit_": lambda size: {"input_size": (size, size)},
}
"""Of torchvision's networks, those that are built for one size, and how each is told."""

_WITHOUT_AUXILIARY = {name: {"aux_logits": False, "init_weights": True} for name in ("googlenet", "inception_v3")}
"""While they learn they give several answers, unless they are built without the heads that give them."""

LIBRARIES = {
    "timm": Library(lambda timm: list(timm.list_models()), _of_timm),
    "torchvision": Library(lambda library: list(library.models.list_models(module=library.models)), _of_torchvision),
}
