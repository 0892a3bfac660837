"""Which CUDA devices this process may use, without loading a library that would claim one."""

from __future__ import annotations

import os
import re
import subprocess


def cuda_devices() -> list[str]:
    """What to put in `CUDA_VISIBLE_DEVICES`, one entry per device (or MIG slice); empty without a GPU."""
    present = _parse(_listing())
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not present or allowed is None:
        return present
    devices: list[str] = []
    for name in (entry.strip() for entry in allowed.split(",")):
        if name in ("", "-1"):
            break  # CUDA ignores everything from the first invalid entry on
        devices.append(name)
    return devices


def device_names() -> list[str]:
    """What the GPUs of this machine are called, in the order that nvidia-smi lists them."""
    return _names(_listing())


def _names(listing: str) -> list[str]:
    """The models in `nvidia-smi -L`.

    >>> _names("GPU 0: NVIDIA H200 (UUID: GPU-1)\\n  MIG 1g.18gb Device 0: (UUID: MIG-3)")
    ['NVIDIA H200', 'MIG 1g.18gb']
    """
    matches = (re.match(r"GPU \d+: (.+?) \(UUID|\s+(MIG \S+) ", line) for line in listing.splitlines())
    return [one[1] or one[2] for one in matches if one]


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
