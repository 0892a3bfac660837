"""Which devices there are and who gets them: CUDA devices and workers of this machine, the kind of slot for work that
wants a GPU, the Torch device of a call, and what makes a GPU give the same bits twice.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.infra.engines.calls import Slot, Slots, process_state, slot_here
from assay.infra.errors import InputError
from assay.infra.settings import Compute

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch


def cuda_devices() -> list[str]:
    """What to put in `CUDA_VISIBLE_DEVICES`, one entry per device (or MIG slice); empty without a GPU."""
    present = _parse(_listing())
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not present or allowed is None:
        return present
    named = (entry.strip() for entry in allowed.split(","))
    return list(takewhile(lambda name: name not in ("", "-1"), named))  # as CUDA does from the first invalid entry on


def _names(listing: str) -> list[str]:
    """The models in `nvidia-smi -L`.

    >>> _names("GPU 0: NVIDIA H200 (UUID: GPU-1)\\n  MIG 1g.18gb Device 0: (UUID: MIG-3)")
    ['NVIDIA H200', 'MIG 1g.18gb']
    """
    matches = (re.match(r"GPU \d+: (.+?) \(UUID|\s+(MIG \S+) ", line) for line in listing.splitlines())
    return [model[1] or model[2] for model in matches if model]


def _listing() -> str:
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return listed.stdout if listed.returncode == 0 else ""


def _parse(listing: str) -> list[str]:
    """The devices of `nvidia-smi -L`; a GPU cut into MIG slices stands for its slices.

    >>> _parse("GPU 0: NVIDIA H200 (UUID: GPU-1)\\nGPU 1: NVIDIA H200 (UUID: GPU-2)\\n  MIG 1g Device 0: (UUID: MIG-3)")
    ['0', 'MIG-3']
    """
    devices: list[list[str]] = []
    for line in listing.splitlines():
        if gpu := re.match(r"GPU (\d+):", line):
            devices.append([gpu[1]])
        elif (mig := re.search(r"UUID: (MIG-[^)]+)\)", line)) and devices:
            devices[-1] = [name for name in devices[-1] if name.startswith("MIG-")] + [mig[1]]
    return [name for names in devices for name in names]


@dataclass(frozen=True)
class LocalWorker:
    """One local worker: its name, whether it offers a GPU, and which CUDA devices it may see."""

    name: str
    gpu: bool
    cuda: str = ""


def local_crew(settings: Compute) -> list[LocalWorker]:
    """The workers that the settings ask for on this machine."""
    from dask.system import CPU_COUNT

    cpus = CPU_COUNT if settings.workers == "auto" else settings.workers
    plain = [LocalWorker(f"cpu-{number}", gpu=False) for number in range(cpus)]
    return plain + [LocalWorker(f"gpu-{number}", True, cuda) for number, cuda in enumerate(gpus_here(settings))]


def gpus_here(settings: Compute) -> list[str]:
    """The CUDA device of each GPU worker that the settings ask for on this machine; "" where it has none."""
    if settings.gpu == "never":
        return []
    devices = cuda_devices()
    wanted = len(devices) if settings.gpu_workers == "auto" else settings.gpu_workers
    return [devices[number % len(devices)] if devices else "" for number in range(wanted)]


class Notices(list[str]):
    """Sentences for a person, each kept and said once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say, self._lock = say, threading.Lock()

    def once(self, text: str) -> None:
        """Say it, unless it was said before."""
        with self._lock:
            if text in self:
                return
            self.append(text)
        self._say(text)


def route(gpu: bool, settings: Compute, slots: Slots, notices: Notices) -> Slot:
    """The kind of slot that work goes to, or an error at once where a GPU is required and there is none."""
    if not gpu or settings.gpu == "never":
        return "CPU"
    if slots.gpu:
        return "GPU"
    if settings.gpu == "required":
        raise InputError(_nobody(settings))
    notices.once("No GPU: stages that would like one run on CPUs (compute.gpu: preferred)")
    return "CPU"


def require_gpu_here(settings: Compute) -> None:
    """Raise at once, before anything is started, where the settings require a GPU of this machine and it has none."""
    if settings.gpu == "required" and settings.on_this_machine and not gpus_here(settings):
        raise InputError(_nobody(settings))


def _nobody(settings: Compute) -> str:
    if settings.on_this_machine:
        return (
            "compute.gpu is required, but this machine shows no CUDA device (nvidia-smi lists none); run where there "
            "is one, let compute.engine name a Dask scheduler that a GPU worker has joined (`assay worker --gpu "
            "ADDRESS`), or set compute.gpu: preferred to use CPUs"
        )
    where = settings.engine if "://" in settings.engine else "ADDRESS"
    return (
        f"compute.gpu is required, but no worker of {settings.engine} offers a GPU; start one on a machine that has it "
        f"(`assay worker --gpu {where}`), or set compute.gpu: preferred to use CPUs"
    )


V = TypeVar("V")
_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
_TF32 = "convolutions"  # Torch's own default, said outright lest a worker's environment decide
_NONE_THERE = "deterministic implementation"  # what Torch says of an operation that has none


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
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.matmul.allow_tf32 = False
    _begin_cublas()
    return "cuda"


@cache
def _begin_cublas() -> None:
    """Has the first product of this process made with a workspace by which cuBLAS adds up in one order.

    The variable that asks for it goes again: Torch parses it at every product, which takes a processor longer than the
    product.
    """
    import torch

    asked = os.environ.get(_WORKSPACE)
    os.environ[_WORKSPACE] = asked or ":4096:8"
    with deterministic_torch("cuda"):
        ones = torch.ones(8, 8, device="cuda")
        torch.addmm(ones, ones, ones)
    if asked is None:
        del os.environ[_WORKSPACE]


def placed(array: npt.NDArray[Any], device: torch.device | str) -> torch.Tensor:
    """The array as a tensor on the device; a GPU fetches it by itself, and whoever asks goes on at once."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor if str(device) == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


@cache
def accelerator_here() -> dict[str, str]:
    """What the bits of a result from this machine's GPUs depend on; loads Torch, and claims no device."""
    import torch

    return {
        "gpu": " + ".join(sorted(set(_names(_listing())))) or "unknown",
        "cuda": torch.version.cuda or "absent",
        "cudnn": str(torch.backends.cudnn.version() or "absent"),
        "tf32": _TF32,
        "optimizer": "fused",
        "products": "workspace of the first",
    }


@contextmanager
def seeded_torch(seed: int) -> Iterator[None]:
    """Within the block Torch draws on this machine's processor from the seed; who draws afterwards, or in another
    thread, does so as ever."""
    import torch

    with process_state, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


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
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=not strict)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a kernel for every tensor, which is written anyway
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was[0], warn_only=was[1])
        torch.utils.deterministic.fill_uninitialized_memory = filled


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


_NAMED_AT_IMPORT = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@cache
def declare_image_operators() -> object:
    """What holds the names that torchvision misses here, None where it misses none; to be called before it, timm or
    transformers is imported."""
    spec = find_spec("torchvision") if "torchvision" not in sys.modules else None
    library = None if spec is None or spec.origin is None else Path(spec.origin).with_name("_C.so")
    if library is None or not library.is_file():
        return None
    import torch

    try:
        torch.ops.load_library(str(library))
    except OSError:
        declared = torch.library.Library("torchvision", "DEF")
        for name in _NAMED_AT_IMPORT:
            declared.define(f"{name}{_SIGNATURE}")
        return declared
    return None


_IMPORTING = threading.Lock()


def transformers_library() -> Any:
    """transformers, imported by one thread at a time: while it is imported it puts another module in its place, and an
    `import` in a second thread, which waits for that, is left with the first one, which is empty."""
    with _IMPORTING:
        declare_image_operators()
        return import_module("transformers")
