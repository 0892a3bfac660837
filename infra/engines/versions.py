"""Which versions compute here, and on what processor: what must match, and what a float's last bits depend on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

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
    """The processor's architecture and its widest instruction set, as NumPy sees them ("x86_64 AVX512_SKX")."""
    features = import_module("numpy._core._multiarray_umath").__cpu_features__
    widest = next((name for name in _FEATURES if features.get(name)), "baseline")
    return f"{platform.machine()} {widest}"


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
