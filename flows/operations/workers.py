"""A machine joins a Dask scheduler, on an encrypted line or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from urllib.parse import urlsplit

from assay.infra.errors import InputError

TLS = ("CA_FILE", "WORKER__CERT", "WORKER__KEY")


def work(
    address: str,
    *,
    gpu: bool,
    memory: str,
    tls: tuple[str | None, str | None, str | None],
    ready: Callable[[str], None],
) -> None:
    """Works for the scheduler at an address until it sends the worker away; `ready` hears when it has joined."""
    refuse_open_lines(address, tls)
    # Dask reads its configuration from the environment when it is imported, and so do the processes it starts.
    for name, file in zip(TLS, tls, strict=True):
        if file is not None:
            os.environ[f"DASK_DISTRIBUTED__COMM__TLS__{name}"] = os.path.abspath(file)
    from assay.infra.engines.dask_worker import run_worker

    run_worker(address, gpu=gpu, memory=memory, ready=ready)


def refuse_open_lines(address: str, tls: tuple[str | None, str | None, str | None]) -> None:
    """An address without TLS is refused, on loopback too: a worker does whatever it is sent, by any user of a machine.

    >>> refuse_open_lines("tls://scheduler:8786", ("ca.pem", "cert.pem", "key.pem"))
    """
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname:
        raise InputError(f"{address} is no address of a scheduler; write it as tls://host:8786.")
    if parts.scheme == "tcp":
        raise InputError(
            f"{address} is not encrypted, and a Dask worker does whatever it is sent: use tls://, with --tls-ca, "
            "--tls-cert and --tls-key."
        )
    if None in tls and not os.environ.get("DASK_DISTRIBUTED__COMM__TLS__CA_FILE"):
        raise InputError(f"{address} needs --tls-ca, --tls-cert and --tls-key: the files this worker trusts and shows.")
