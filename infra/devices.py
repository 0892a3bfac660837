"""The Torch device of a call, and what makes a GPU give the same bits twice."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from assay.infra.engines.gpus import device_names
from assay.infra.engines.work import slot_here

V = TypeVar("V")
_TF32 = "convolutions"  # Torch's own default, said outright lest a worker's environment decide
_NONE_THERE = "deterministic implementation"  # what Torch says of an operation that has none


def torch_device_here() -> str:
    """`cuda` where this call runs on a GPU slot and Torch sees a device, else `cpu`.

    >>> torch_device_here()
    'cpu'
    """
    if slot_here() != "GPU":
        return "cpu"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before cuBLAS starts: else it may add up as it likes
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    torch.backends.cudnn.benchmark = False  # the fastest algorithm of the moment may round differently the next time
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = False
    return "cuda"


@cache
def accelerator_here() -> dict[str, str]:
    """What the bits of a result from this machine's GPUs depend on; loads Torch, and claims no device."""
    import torch

    return {
        "gpu": " + ".join(sorted(set(device_names()))) or "unknown",
        "cuda": torch.version.cuda or "absent",
        "cudnn": str(torch.backends.cudnn.version() or "absent"),
        "tf32": _TF32,
    }


@contextmanager
def deterministic_torch(device: str, *, strict: bool = True) -> Iterator[None]:
    """On `cuda`, every operation adds up in the same order each time; where that cannot be, Torch raises.

    Without `strict` such an operation warns and goes on. On a processor there is nothing to do: with one thread Torch
    gives the same bits there anyway.
    """
    if device != "cuda":
        yield
        return
    import torch

    was = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=not strict)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was[0], warn_only=was[1])


def deterministically(work: Callable[[], V], device: str) -> V:
    """What `work` gives under deterministic algorithms, or, where Torch has none for what it does, as near as it gets.

    Then it is called a second time, and a warning names the operation: `work` must bear being called again.
    """
    try:
        with deterministic_torch(device):
            return work()
    except RuntimeError as fault:
        if device != "cuda" or _NONE_THERE not in str(fault):
            raise
        operation = str(fault).split(" does not have", 1)[0]
    warnings.warn(
        f"{operation} has no deterministic version on a GPU: results may differ from run to run in their last bits.",
        stacklevel=2,
    )
    with deterministic_torch(device, strict=False):
        return work()
