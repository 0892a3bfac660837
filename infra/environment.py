"""The environment that heavy libraries start in: one numeric thread each, no telemetry, secrets masked, and with MKL on
Intel's processors the same bits for a sample in any company.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from assay.infra.masking import register_environment, strip_environment

# One BLAS and Torch thread per process: two on busy cores cost twenty times, and change the last bits of results.
ONE_EACH = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "BLIS", "NUMEXPR")}
ONE_EACH["VECLIB_MAXIMUM_THREADS"] = "1"
_DEFAULTS = ONE_EACH | {
    "TOKENIZERS_PARALLELISM": "false",
    # No telemetry, anywhere.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "GX_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # A server that does not answer is asked twice, not for an hour.
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    # Prefect's log lines go to its server, where its UI shows them; the terminal is ours.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    # 500 is what its server says while its database restarts, 503 while that is busy: it is asked again after 2, 4, 8 …
    # seconds, for two minutes. Prefect's own minute is too short on processors that have other work.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    "PREFECT_CLIENT_MAX_RETRIES": "6",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


_EVERYTHING, _STRICT = -1, 0x10000  # MKL_CBWR_ALL and MKL_CBWR_STRICT in mkl_types.h


def prepare_environment() -> None:
    """Set what is not set yet, and mask the secrets that are; call it before numpy, torch or prefect are imported."""
    cpuinfo = Path("/proc/cpuinfo")
    # On Intel's processors MKL gives a row of a batch other last bits at another place, unless it is told not to.
    steady = cpuinfo.is_file() and "GenuineIntel" in cpuinfo.read_text(encoding="utf-8")
    for name, value in (_DEFAULTS | ({"MKL_CBWR": "AUTO,STRICT"} if steady else {})).items():
        os.environ.setdefault(name, value)
    strip_environment()
    register_environment()


def mkl_mode() -> str:
    """How MKL computes here, as `MKL_CBWR` says: nothing where Torch's had begun before the variable was set."""
    mode, torch = os.environ.get("MKL_CBWR", ""), sys.modules.get("torch._C")
    asked = getattr(ctypes.CDLL(torch.__file__), "mkl_serv_cbwr_get", None) if torch and "STRICT" in mode else None
    return mode if asked is None or asked(_EVERYTHING) & _STRICT else ""


@contextmanager
def environment_with(values: Mapping[str, str]) -> Iterator[None]:
    """Within the block the environment of this process, and of those it starts, has these values."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
