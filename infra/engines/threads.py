"""One BLAS and Torch thread per process: with more, the last bits of a result depend on how many there are."""

from __future__ import annotations

import os
import sys

VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
ONE_EACH = dict.fromkeys(VARIABLES, "1")


def one_thread() -> None:
    """Hold this process, and those it starts, to one numeric thread each, libraries already loaded included."""
    os.environ.update(ONE_EACH)
    if "numpy" in sys.modules or "torch" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
