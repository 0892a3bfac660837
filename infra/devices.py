"""The Torch device of a call: CUDA on a GPU slot that has one, the processor everywhere else."""

from __future__ import annotations

from assay.infra.engines.work import slot_here


def torch_device_here() -> str:
    """`cuda` where this call runs on a GPU slot and Torch sees a device, else `cpu`.

    >>> torch_device_here()
    'cpu'
    """
    if slot_here() != "GPU":
        return "cpu"
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    torch.backends.cudnn.benchmark = False  # the fastest algorithm of the moment may round differently the next time
    torch.backends.cudnn.deterministic = True
    return "cuda"
