"""Who gets work that wants a GPU: looked up before anything is submitted, since Dask would wait for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

from assay.infra.compute import Slot, Slots
from assay.infra.engines.gpus import cuda_devices
from assay.infra.errors import InputError
from assay.infra.settings import Compute

HERE = ("local", "serial")


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


def route(
    gpu: bool, policy: Literal["preferred", "required", "never"], slots: Slots, engine: str, notices: Notices
) -> Slot:
    """The kind of slot that work goes to, or an error at once where a GPU is required and there is none."""
    if not gpu or policy == "never":
        return "CPU"
    if slots.gpu:
        return "GPU"
    if policy == "required":
        raise InputError(_nobody(engine))
    notices.once("No GPU: stages that would like one run on CPUs (compute.gpu: preferred)")
    return "CPU"


def require_gpu_here(settings: Compute) -> None:
    """Raise at once, before anything is started, where the settings require a GPU of this machine and it has none."""
    if settings.gpu != "required" or settings.engine not in HERE:
        return
    offered = len(cuda_devices()) if settings.gpu_workers == "auto" else settings.gpu_workers
    if not offered:
        raise InputError(_nobody(settings.engine))


def _nobody(engine: str) -> str:
    if engine in HERE:
        return (
            "compute.gpu is required, but this machine shows no CUDA device (nvidia-smi lists none); run where there "
            "is one, let compute.engine name a Dask scheduler that a GPU worker has joined (`assay worker --gpu "
            "ADDRESS`), or set compute.gpu: preferred to use CPUs"
        )
    where = engine if "://" in engine else "ADDRESS"
    return (
        f"compute.gpu is required, but no worker of {engine} offers a GPU; start one on a machine that has it "
        f"(`assay worker --gpu {where}`), or set compute.gpu: preferred to use CPUs"
    )
