"""Which workers this machine starts: a plain one per core, and one per GPU that this process may use."""

from __future__ import annotations

from dataclasses import dataclass

from assay.infra.engines.gpus import cuda_devices
from assay.infra.settings import Compute


@dataclass(frozen=True)
class LocalWorker:
    """One local worker: its name, whether it offers a GPU, and which CUDA devices it may see."""

    name: str
    gpu: bool
    cuda: str = ""


def local_crew(settings: Compute) -> list[LocalWorker]:
    """The workers that the settings ask for on this machine."""
    from dask.system import CPU_COUNT

    devices = [] if settings.gpu == "never" else cuda_devices()
    cpus = CPU_COUNT if settings.workers == "auto" else settings.workers
    gpus = len(devices) if settings.gpu_workers == "auto" else 0 if settings.gpu == "never" else settings.gpu_workers
    plain = [LocalWorker(f"cpu-{number}", gpu=False) for number in range(cpus)]
    return plain + [LocalWorker(f"gpu-{n}", True, devices[n % len(devices)] if devices else "") for n in range(gpus)]
