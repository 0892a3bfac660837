"""What a training needs to go on: weights, the optimizer's state and the curve, as safetensors and JSON; no pickle.

Random generators are not among it: what is drawn in an epoch depends on the seed and the epoch's number alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import nn

NETWORK, _OPTIMIZER, _CURVE = "network.safetensors", "optimizer.safetensors", "curve.json"


class Checkpoints(Protocol):
    """Where a training leaves what it needs to go on."""

    def latest(self) -> tuple[int, dict[str, bytes]] | None:
        """The last step that was saved, and its files."""
        ...

    def save(self, step: int, total: int, files: dict[str, bytes]) -> None:
        """Keeps the files of a step, of so many in all."""
        ...


def weights_of(network: nn.Module) -> bytes:
    """The weights and running statistics of a network as a safetensors file.

    >>> weights_of(nn.Linear(1, 1))[8:20]
    b'{"bias":{"dt'
    """
    return _pack(network.state_dict())


def learning_files(network: nn.Module, optimizer: torch.optim.Optimizer, curve: Any) -> dict[str, bytes]:
    """The state of a training after an epoch, as the files of a checkpoint; `curve` is any JSON value."""
    state = optimizer.state_dict()["state"]
    tensors = {f"{place}.{name}": value for place, entries in state.items() for name, value in entries.items()}
    return {
        NETWORK: weights_of(network),
        _OPTIMIZER: _pack({name: value for name, value in tensors.items() if value is not None}),
        _CURVE: json.dumps(curve).encode(),
    }


def restore(network: nn.Module, optimizer: torch.optim.Optimizer, files: Mapping[str, bytes]) -> Any:
    """Puts network and optimizer where `learning_files` left them, and gives the curve."""
    from safetensors.torch import load

    network.load_state_dict(load(files[NETWORK]))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in load(files[_OPTIMIZER]).items():
        place, _, entry = name.partition(".")
        state.setdefault(int(place), {})[entry] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    return json.loads(files[_CURVE])


def _pack(tensors: Mapping[str, torch.Tensor]) -> bytes:
    from safetensors.torch import save

    # Copies, because safetensors refuses weights that share memory (tied layers) or lie with the channels last.
    packed: bytes = save(
        {name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in tensors.items()}
    )
    return packed
