"""What comes out of a network's layers, by their names: features to embed, and feature maps to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.infra.errors import InputError
from assay.tasks.subjects.images.model import ImageModel, Pixels

Features = npt.NDArray[np.float32]  # [n, d]
Maps = npt.NDArray[np.float32]  # [n, h, w]

BEFORE = "before "  # `before head`: what enters the layer `head`
_WIDEST = 1024  # values of a sample in one layer: more are averaged over neighbouring places
_NAMED = 30  # layers in an error


@contextmanager
def recorded(network: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Within the block, every call of the network leaves here what came out of these layers; then the hooks are gone.

    >>> network = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    >>> with recorded(network, ["0", "before 1"]) as outputs:
    ...     logits = network(torch.ones(1, 1, 2, 2))
    >>> list(outputs["0"].shape), list(outputs["before 1"][0].shape), len(network[1]._forward_pre_hooks)
    ([1, 4], [1, 4], 0)
    """
    modules = dict(network.named_modules())
    outputs: dict[str, Any] = {}
    hooks = []
    for layer in layers:
        module = modules.get(layer.removeprefix(BEFORE)) if layer.removeprefix(BEFORE) else None
        if module is None:
            raise InputError(f"The network has no layer {layer!r}: its layers are {_listed(modules)}.")
        if layer.startswith(BEFORE):
            hooks.append(module.register_forward_pre_hook(_keep_input(outputs, layer)))
        else:
            hooks.append(module.register_forward_hook(_keep_output(outputs, layer)))
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def features_of(model: ImageModel, pixels: Pixels, layers: Sequence[str]) -> dict[str, Features]:
    """What comes out of the layers for images [n, c, h, w], a row per image; computed in blocks of one fixed size."""
    blocks: dict[str, list[Features]] = {layer: [] for layer in layers}
    with torch.inference_mode(), recorded(model.network, layers) as outputs:
        for start in range(0, len(pixels), model.block):
            rows = np.minimum(np.arange(start, start + model.block), len(pixels) - 1)
            model.logits(torch.from_numpy(pixels[rows]).to(model.device))
            for layer in layers:
                out = narrowed(_tensor(outputs, layer, model.block))
                blocks[layer].append(out[: len(pixels) - start].cpu().numpy())
    return {layer: np.concatenate(some) if some else np.zeros((0, 0), np.float32) for layer, some in blocks.items()}


def narrowed(output: Tensor) -> Tensor:
    """A layer's output as one row per image: maps averaged over neighbouring places until at most 1024 values are left.

    >>> list(narrowed(torch.zeros(2, 64, 8, 8)).shape), list(narrowed(torch.zeros(2, 2048, 7, 7)).shape)
    ([2, 1024], [2, 2048])
    """
    output = output.float()
    if output.ndim == 4:
        channels, extent = output.shape[1], min(output.shape[2:])
        side = next((one for one in (8, 4, 2) if one <= extent and channels * one**2 <= _WIDEST), 1)
        output = nn.functional.adaptive_avg_pool2d(output, side)
    return output.flatten(1)


def feature_maps(model: ImageModel, images: Tensor, layer: str) -> Maps:
    """Where a layer is active [n, h, w]: the mean over its channels of what is above zero."""
    with torch.inference_mode(), recorded(model.network, [layer]) as outputs:
        model.logits(images)
        out = _tensor(outputs, layer, len(images))
    if out.ndim != 4:
        raise InputError(
            f"The layer {layer!r} gives {'×'.join(map(str, out.shape[1:]))} values per image, and no map: name a "
            "convolutional layer as diagnostics.feature_map."
        )
    return np.asarray(out.float().clamp(min=0).mean(dim=1).cpu().numpy())


def _keep_output(outputs: dict[str, Any], layer: str) -> Any:
    def keep(_module: nn.Module, _inputs: Any, output: Any) -> None:
        outputs[layer] = output

    return keep


def _keep_input(outputs: dict[str, Any], layer: str) -> Any:
    def keep(_module: nn.Module, inputs: Any) -> None:
        outputs[layer] = inputs

    return keep


def _tensor(outputs: dict[str, Any], layer: str, images: int) -> Tensor:
    """What a layer gave, a row per image; of several tensors (a gate gives its map and its features) the last."""
    if layer not in outputs:
        raise InputError(f"The network has a layer {layer!r} and never calls it: name another one.")
    output = outputs[layer][-1] if isinstance(outputs[layer], tuple | list) else outputs[layer]
    if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != images:
        shape = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise InputError(f"The layer {layer!r} gives {shape} for {images} images, expected a row each: name another.")
    return output


def _listed(modules: dict[str, nn.Module]) -> str:
    """The layers that exist, the outer ones first; not all where there are hundreds."""
    names = sorted((name for name in modules if name), key=lambda name: name.count("."))
    more = f" and {len(names) - _NAMED} inside these" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
