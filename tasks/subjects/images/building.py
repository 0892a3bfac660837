"""The Torch network behind an image subject: one of ours by name, or one that a user's own function builds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.infra.bounds import process_state
from assay.infra.code_reference import CodeReference
from assay.infra.errors import AssayError, InputError
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.networks.libraries import LibraryNetwork, library_network

if TYPE_CHECKING:
    from torch import nn

    from assay.tasks.subjects.resolved import ResolvedSubject


def network_of(subject: ResolvedSubject, *, classes: int, channels: int, size: int, seed: int) -> nn.Module:
    """The subject's network with seeded weights, for images of so many channels whose shorter side is `size`."""
    given = subject.code or subject.library
    if given is not None:
        build = _BUILDERS[type(given)]
        return build(given, classes=classes, channels=channels, size=size, seed=seed)
    from assay.tasks.subjects.networks.building import build_network

    name, width = str(subject.settings.network), subject.settings.width
    return build_network(name, classes=classes, channels=channels, size=size, width=width, seed=seed)


def _asked_network(given: GivenModel, **_extent: int) -> nn.Module:
    from assay.tasks.subjects.images.asked_network import AskedNetwork

    return AskedNetwork(given)


def own_network(code: CodeReference, *, classes: int, channels: int, size: int, seed: int) -> nn.Module:
    """The module that a user's function builds; of `classes`, `channels` and `size` it gets those that it names."""
    import torch

    build = code.load()
    if not callable(build) or isinstance(build, torch.nn.Module):
        raise InputError(
            f'The network "{code.written}" is a {type(build).__name__}, expected a function that builds a Torch module.'
        )
    offered = {"classes": classes, "channels": channels, "size": size}
    wanted = inspect.signature(build).parameters
    missing = [
        one.name
        for one in wanted.values()
        if one.default is one.empty
        and one.name not in offered
        and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY, one.POSITIONAL_ONLY)
    ]
    if missing:
        raise InputError(
            f'The network "{code.written}" asks for {", ".join(missing)}; Assay can give classes, channels and size.'
        )
    try:
        with process_state, torch.random.fork_rng(devices=[]), code.at_work("network"):
            torch.manual_seed(seed)
            module = build(**{name: value for name, value in offered.items() if name in wanted})
    except AssayError:
        raise
    except Exception as fault:
        raise InputError(f'"{code.written}" raised {type(fault).__name__}: {fault}{code.line_of(fault)}.') from fault
    if not isinstance(module, torch.nn.Module):
        raise InputError(f'"{code.written}" built a {type(module).__name__}, expected a torch.nn.Module.')
    return module


_BUILDERS: dict[type, Callable[..., nn.Module]] = {
    GivenModel: _asked_network,
    LibraryNetwork: library_network,
    CodeReference: own_network,
}
"""What makes a network of each form in which one comes to hand."""


def load_state(network: nn.Module, weights: bytes, who: str, *, assign: bool = False) -> None:
    """Fills the network with the weights of a safetensors file; raises in words where they do not belong to it.

    With `assign` they take the place of the network's own, which then need no memory (device `meta`).
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        network.load_state_dict(load(weights), strict=True, assign=assign)
    except SafetensorError as fault:
        raise InputError(f"The weights of {who} are no safetensors file: {fault}.") from fault
    except RuntimeError as fault:
        reason = " ".join(str(fault).split())
        raise InputError(f"The weights do not fit the network of {who}: {reason}") from fault


def require_output(network: nn.Module, channels: int, height: int, width: int, classes: int, who: str) -> None:
    """Raises unless the network gives one number per class for an image of that shape."""
    import torch

    network.eval()
    try:
        with torch.inference_mode():
            output = network(torch.zeros(2, channels, height, width))
    except Exception as fault:
        raise InputError(
            f"{who} raised {type(fault).__name__} on images of {channels}×{height}×{width}: {fault}."
        ) from fault
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (2, classes):
        returned = list(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(f"{who} gives {returned} for 2 images, expected [2, {classes}]: one logit per class.")
