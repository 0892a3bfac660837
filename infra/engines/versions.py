"""Which versions compute here, and on what processor: what must match, and what a float's last bits depend on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from assay.infra.errors import RunError

COMPARED = ("assay-audit", "numpy", "torch", "pyarrow", "scipy", "scikit-learn", "snorkel")
_FEATURES = ("AVX512_SPR", "AVX512_ICL", "AVX512_SKX", "AVX512F", "AVX2", "SVE", "ASIMD", "VSX", "SSE42")


@cache
def versions_here() -> Mapping[str, str]:
    """Python's version and those of the packages that every worker must share with the one who asks."""
    versions = {"python": ".".join(platform.python_version_tuple()[:2])}
    for package in COMPARED:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


@cache
def processor_here() -> str:
    """The processor's architecture and widest instruction set, as NumPy sees them, and which one it is
    ("x86_64 AVX512_ICL AuthenticAMD 26.2").

    Instructions alone do not say it: on two machines that had the same ones, and the same libraries, quantiles of a
    beta differed in their last bits.
    """
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    widest = next((name for name in _FEATURES if features.get(name)), "baseline")
    return f"{platform.machine()} {widest} {_maker_here()}"


def _maker_here() -> str:
    try:
        return maker(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        return platform.processor() or "unknown"


def maker(cpuinfo: str) -> str:
    """Who made the first processor that Linux tells of, its family and model; of an ARM, its implementer and part."""
    lines = (line.partition(":") for line in cpuinfo.split("\n\n", 1)[0].splitlines())
    told = {key.strip(): value.strip() for key, _, value in lines}
    if "vendor_id" in told:
        return f"{told['vendor_id']} {told.get('cpu family', '?')}.{told.get('model', '?')}"
    return f"{told.get('CPU implementer', 'unknown')} {told.get('CPU part', '?')}"


def facts_here() -> tuple[Mapping[str, str], str]:
    """Versions and processor of this process, asked of every worker when a client connects."""
    return versions_here(), processor_here()


def refuse_other_versions(expected: Mapping[str, str], worker: str) -> None:
    """Raise where this process differs from whoever sent the work."""
    refuse_mismatch(expected, versions_here(), worker)


def refuse_mismatch(expected: Mapping[str, str], actual: Mapping[str, str], worker: str) -> None:
    """Raise, naming both versions, where a worker differs from this client."""
    if actual == expected:
        return
    differing = [
        f"{package} {actual.get(package, 'not installed')} (here {wanted})"
        for package, wanted in expected.items()
        if actual.get(package) != wanted
    ]
    raise RunError(
        f"worker {worker} has {' and '.join(differing)}; install the same versions there (requirements.lock), "
        "or results would depend on where they were computed"
    )
