"""A worker that joins somebody's scheduler: what `assay worker [--gpu] ADDRESS` runs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlsplit

from distributed import Nanny, Security

from assay.infra.engines.calls import OF_C_LIBRARY, one_thread
from assay.infra.engines.dask_engine import WORKER_WAIT_SECONDS
from assay.infra.engines.dask_processes import WorkerWithoutHTTP
from assay.infra.engines.dask_start import CONNECT_SECONDS, LOOPBACK, memory_of, quiet
from assay.infra.engines.devices import cuda_devices
from assay.infra.environment import ONE_EACH, prepare_environment
from assay.infra.errors import InputError, RunError

_LOST = "worker-handle-scheduler-connection-broken"  # Dask's word for why a worker left
_PAUSE_SECONDS = 1.0


def run_worker(
    address: str,
    *,
    gpu: bool = False,
    name: str | None = None,
    memory: str = "auto",
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Work for the scheduler at this address until it sends the worker away or this process is told to stop.

    A GPU worker offers `GPU=1` and sees one CUDA device; a plain one offers `CPU=1` and sees none. `ready` hears a
    sentence once the worker has joined.
    """
    try:
        Security().get_connection_args("worker")
    except OSError as error:  # an unreadable file, or one that is no certificate
        raise InputError(f"the certificates for {address} cannot be read ({error})") from error
    devices = cuda_devices() if gpu else []
    if gpu and not devices:
        raise InputError("assay worker --gpu: this machine shows no CUDA device (nvidia-smi lists none)")
    prepare_environment()
    quiet()
    one_thread()
    env = ONE_EACH | OF_C_LIBRARY | {"CUDA_VISIBLE_DEVICES": devices[0] if devices else ""}
    resources, loopback = {"GPU" if gpu else "CPU": 1}, urlsplit(address).hostname in (LOOPBACK, "localhost")

    def nanny() -> _Nanny:
        return _Nanny(
            address,
            name=name,
            nthreads=1,
            resources=resources,
            env=env,
            memory_limit=memory_of(memory),
            host=LOOPBACK if loopback else None,
            dashboard=False,
            worker_class=WorkerWithoutHTTP,
            death_timeout=CONNECT_SECONDS,
        )

    asyncio.run(_serve(address, nanny, " and ".join(f"{kind}={count}" for kind, count in resources.items()), ready))


class _Nanny(Nanny):  # type: ignore[misc]  # Dask has no types
    """A nanny that remembers why its worker left."""

    left_because = ""

    def close_gracefully(self, reason: str = "nanny-close-gracefully") -> None:
        """The worker leaves, and is not to be started again."""
        self.left_because = reason
        super().close_gracefully(reason)


async def _serve(address: str, nanny: Callable[[], _Nanny], offer: str, ready: Callable[[str], None]) -> None:
    """Work until told to stop, or until the scheduler sends the worker away; one that is lost is waited for."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    deadline = loop.time()  # the first time a scheduler is there or is not
    while not stopped.is_set():
        at_work = nanny()
        try:
            await asyncio.wait_for(at_work, 2 * CONNECT_SECONDS)
        except AssertionError as error:  # Dask asserts that what it gave up had started
            await at_work.close()
            raise RunError(
                f"The worker did not start: this machine is busy, or short of memory; start it again. Dask says {error}"
            ) from error
        except (OSError, TimeoutError, RuntimeError) as error:
            await at_work.close()
            if loop.time() >= deadline:
                raise RunError(f"no Dask scheduler answers at {address}; start one there (`dask scheduler`)") from error
            await _either(stopped.wait(), asyncio.sleep(_PAUSE_SECONDS))
            continue
        ready(f"{at_work.worker_address} works for {address} and offers {offer}")
        await _either(stopped.wait(), at_work.finished())
        await at_work.close()
        if at_work.left_because != _LOST:
            return
        deadline = loop.time() + WORKER_WAIT_SECONDS
        ready(f"the scheduler at {address} went away; waiting up to {WORKER_WAIT_SECONDS:.0f} s for it to come back")


async def _either(*waits: Coroutine[Any, Any, object]) -> None:
    """Return when one of them is over; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
