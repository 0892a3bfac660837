"""What must stand in the environment before heavy libraries are imported: one thread each, no telemetry, no chatter."""

import os

from assay.infra.masking import register_environment, strip_environment

_DEFAULTS = {
    # One BLAS and Torch thread per process: two on busy cores cost twenty times, and change the last bits of results.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
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
    # What its server says while its database restarts; 502 and 503 it is asked again for by itself, for a minute.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


def prepare_environment() -> None:
    """Set what is not set yet, and mask the secrets that are; call it before numpy, torch or prefect are imported."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    strip_environment()
    register_environment()
