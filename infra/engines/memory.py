"""How the C library keeps memory that Torch and NumPy let go of: within a call for the next step, after it for nobody.

A gradient step allocates and frees the same hundreds of megabytes again and again. Under glibc's defaults, and far more
so under Dask's (`MALLOC_TRIM_THRESHOLD_=65536`), each of them goes back to the kernel and comes back page by page,
zeroed. Kept while a call runs and given back when it is over, they cost neither that time nor memory between calls.
Arrow's own allocator keeps, for each of its threads, what no call can give back: on workers it takes the C library's.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_KEPT = 1 << 30
OF_C_LIBRARY = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""What a worker is started with."""


def keep_freed_memory() -> None:
    """From now on this process keeps up to a gibibyte of what is freed, where its C library can be told so."""
    _told()


def give_back_memory() -> None:
    """Return to the system what is free now."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    if sys.platform.startswith("linux") and hasattr(_libc(), "malloc_trim"):
        _libc().malloc_trim(0)


@cache
def _told() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    libc = _libc()
    if not hasattr(libc, "mallopt") or not hasattr(libc, "malloc_trim"):
        return False  # another C library than glibc
    return bool(libc.mallopt(_MMAP_THRESHOLD, _KEPT) and libc.mallopt(_TRIM_THRESHOLD, _KEPT))


@cache
def _libc() -> Any:
    return ctypes.CDLL(None)
