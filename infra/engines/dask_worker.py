"""A worker that joins somebody's scheduler: what `assay worker [--gpu] ADDRESS` runs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from urllib.parse import urlsplit

from distributed import Nanny

from assay.infra.engines.dask_start import CONNECT_SECONDS, LOOPBACK, memory_of, quiet
from assay.infra.engines.gpus import cuda_devices
from assay.infra.engines.threads import ONE_EACH, one_thread
from assay.infra.errors import InputError, RunError


def run_worker(
    address: str,
    *,
    gpu: bool = False,
    name: str | None = None,
    threads: int = 1,
    memory: str = "auto",
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Work for the scheduler at this address until it goes away or this process is told to stop.

    A GPU worker offers `GPU=1` and sees one CUDA device; a plain one offers `CPU` and sees none. `threads` is how many
    calls it takes at a time, each with one numeric thread. `ready` hears a sentence once the worker has joined.
    """
    if "://" not in address:
        raise InputError(f"{address!r} is no scheduler's address: write tls://host:8786 (or tcp://127.0.0.1:8786)")
    devices = cuda_devices() if gpu else []
    if gpu and not devices:
        raise InputError("assay worker --gpu: this machine shows no CUDA device (nvidia-smi lists none)")
    quiet()
    one_thread()
    env = ONE_EACH | {"CUDA_VISIBLE_DEVICES": devices[0] if devices else ""}
    asyncio.run(_serve(address, {"GPU": 1} if gpu else {"CPU": threads}, env, name, threads, memory, ready))


async def _serve(
    address: str,
    resources: dict[str, int],
    env: dict[str, str],
    name: str | None,
    threads: int,
    memory: str,
    ready: Callable[[str], None],
) -> None:
    loopback = urlsplit(address).hostname in (LOOPBACK, "localhost")
    nanny = Nanny(
        address,
        name=name,
        nthreads=threads,
        resources=resources,
        env=env,
        memory_limit=memory_of(memory),
        host=LOOPBACK if loopback else None,
        dashboard=False,
        death_timeout=CONNECT_SECONDS,
    )
    try:
        await asyncio.wait_for(nanny, 2 * CONNECT_SECONDS)
    except (OSError, TimeoutError, RuntimeError) as error:
        await nanny.close()
        raise RunError(f"no Dask scheduler answers at {address}; start one there (`dask scheduler`)") from error
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: asyncio.ensure_future(nanny.close()))
    offer = " and ".join(f"{kind}={count}" for kind, count in resources.items())
    ready(f"{nanny.worker_address} works for {address} and offers {offer}")
    await nanny.finished()
