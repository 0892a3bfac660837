"""How a Dask client comes to be: worker processes on this machine, a scheduler's address, or a cluster class."""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Client, Nanny, Security, SpecCluster, utils
from distributed.core import Status
from distributed.deploy import Cluster
from distributed.versions import VersionMismatchWarning
from distributed.worker_memory import parse_memory_limit

from assay.infra.engines import dask_processes
from assay.infra.engines.calls import OF_C_LIBRARY
from assay.infra.engines.dask_processes import SchedulerWithoutHTTP, WorkerWithoutHTTP, workers_go_without_main
from assay.infra.engines.devices import gpus_here, local_crew
from assay.infra.environment import ONE_EACH, environment_with
from assay.infra.errors import InputError, RunError, SettingError
from assay.infra.settings import Compute

LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 30
RESTART_SECONDS = 15
START_SECONDS = 180  # of a worker, which imports Arrow and NumPy first: a busy machine takes its time
SLOW_SCRATCH = "Creating scratch directories is taking"  # how Dask's warning about a busy disk begins
HERE = "this machine"
LEAST_MEMORY = 256 << 20  # Python with Arrow, NumPy and Dask, before it has read a row


@dataclass(frozen=True)
class Connection:
    """A client, the cluster that we started for it (`None`: somebody else's), and what a person calls it."""

    client: Client
    cluster: Any  # any class that follows Dask's cluster protocol; Dask has no type for it
    name: str

    def close(self) -> None:
        """Let go of the client, then of the cluster if it is ours."""
        self.client.close()
        if self.cluster is None:
            return
        if self.name == HERE:
            deadline = time.monotonic() + RESTART_SECONDS
            # Workers that are stopped while they are being restarted would leave tracebacks in the terminal.
            while time.monotonic() < deadline:
                processes = [nanny.process for nanny in self.cluster.workers.values()]
                if all(process is not None and process.status == Status.running for process in processes):
                    break
                time.sleep(0.05)
        self.cluster.close()


def connect(settings: Compute, libraries: Sequence[str] = ()) -> Connection:
    """A client of the engine that the settings name."""
    quiet()
    if settings.engine == "local":
        cluster = start_here(settings, libraries)
        return Connection(Client(cluster, set_as_default=False), cluster, HERE)
    if "://" in settings.engine:
        return _join(settings.engine)
    cluster = _start_class(settings)
    try:
        _require_encrypted(cluster.scheduler_address)
    except InputError:
        cluster.close()
        raise
    return Connection(Client(cluster, set_as_default=False), cluster, settings.engine)


def quiet() -> None:
    """Keep Dask's own log lines from the person at the terminal: what matters of them we say in our words."""
    level = os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical").upper()  # our worker processes read it too
    for name in ["distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))]:
        logging.getLogger(name).setLevel(level)
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
    warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
    warnings.filterwarnings("ignore", message=SLOW_SCRATCH, category=UserWarning)
    filters = os.environ.get("PYTHONWARNINGS", "")
    if SLOW_SCRATCH not in filters:  # worker processes read this one as they start
        os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [filters, f"ignore:{SLOW_SCRATCH}"]))


class _Workers(SpecCluster):  # type: ignore[misc]  # Dask has no types
    """Workers that nannies start again for as long as it takes.

    Dask looks 15 seconds after each loss and ends, for good, the nanny of a worker that is away at that moment. On a
    busy machine that is one that died again and is being started: nobody would be left to work.
    """

    def _update_worker_status(self, op: str, msg: Any) -> None:
        if op != "remove":
            super()._update_worker_status(op, msg)


_WORKERS_HERE = {
    "scheduler": {"worker-saturation": 1.0},  # a worker has one call, and blame falls on it alone
    # Dask looks at every thread a hundred times a second, at its loops fifty times, at memory ten times, and at the
    # system twice.
    "worker": {"profile": {"enabled": False}, "memory": {"monitor-interval": "250ms"}},
    "admin": {"tick": {"interval": "1s"}, "system-monitor": {"interval": "5s"}},
}


_fork_server_environment: dict[str, str] = {}
"""The environment that the process began with from which workers are forked."""


def start_fork_server(settings: Compute, libraries: Sequence[str] = ()) -> bool:
    """Whether workers on this machine are forked from one process, which is started here unless it is there already.

    It imports for all of them what they need before their first call, and they share its memory. GPU workers are not:
    CUDA does not survive a fork if a library asked for devices before it. On macOS a fork is not safe either.
    """
    if sys.platform != "linux" or gpus_here(settings):
        return False
    utils._forkserver_preload_set = True  # Dask would import all that it can use
    forkserver.set_forkserver_preload(["distributed", dask_processes.__name__, *libraries])
    # No library is taken from the folder that the run was started in.
    with environment_with(ONE_EACH | OF_C_LIBRARY | {"PYTHONSAFEPATH": "1"}), _deaf_to_interrupts():
        if not _fork_server_environment:
            _fork_server_environment.update(os.environ)
            atexit.register(_end_fork_server)
        forkserver.ensure_running()
    return True


def _end_fork_server() -> None:
    """As this process ends; without that it would end a moment later."""
    pid = getattr(forkserver._forkserver, "_forkserver_pid", None)
    with suppress(OSError):
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def start_here(settings: Compute, libraries: Sequence[str] = ()) -> SpecCluster:
    """A scheduler and one single-threaded process per worker: on loopback only, behind certificates of this run.

    A worker, also one that is started again, imports the `libraries` before it takes its first call.
    """
    workers_go_without_main()
    security, config = Security.temporary(), dask.config.merge(dask.config.config, {"distributed": _WORKERS_HERE})
    common = {"host": LOOPBACK, "protocol": "tls://", "security": security, "dashboard": False}
    worker = common | {
        "worker_class": WorkerWithoutHTTP,
        "nthreads": 1,
        "memory_limit": memory_of(settings.memory),
        "silence_logs": logging.CRITICAL,
        "death_timeout": START_SECONDS,
        "config": config,
        "preload": [*dask.config.get("distributed.worker.preload", []), dask_processes.__name__],
    }
    environment = ONE_EACH | OF_C_LIBRARY | dask_processes.first_imports(libraries)
    if start_fork_server(settings, libraries):
        config["distributed"]["worker"]["multiprocessing-method"] = "forkserver"
        unset = _fork_server_environment.keys() - os.environ.keys() - environment.keys()
        environment = {**os.environ, **environment, dask_processes.UNSET: " ".join(unset)}
    workers = {
        member.name: {
            "cls": Nanny,
            "options": worker
            | {
                "resources": {"GPU": 1} if member.gpu else {"CPU": 1},
                "env": environment | {"CUDA_VISIBLE_DEVICES": member.cuda},
            },
        }
        for member in local_crew(settings)
    }
    scheduler = {"cls": SchedulerWithoutHTTP, "options": common | {"port": 0, "allowed_failures": settings.retries}}
    with dask.config.set(config), _deaf_to_interrupts():
        try:
            return _Workers(
                scheduler=scheduler, workers=workers, security=security, silence_logs=logging.CRITICAL, name="assay"
            )
        except (AssertionError, RuntimeError, TimeoutError) as error:  # Dask asserts that what it gave up had started
            raise RunError(
                "Workers on this machine did not start: it is busy, or short of memory. Run again, or with fewer "
                f"(compute.workers). Dask says {type(error).__name__}: {error}"
            ) from error


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started within, now or later, never hear Ctrl-C: that is for the run, which then ends its workers.

    A worker that hears it too dies with a traceback in the person's terminal. The mask of blocked signals passes from
    this thread to the cluster's threads, and from those to every worker that they start or restart.
    """
    resource_tracker.ensure_running()  # where Python starts it for the first worker, it unblocks the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def memory_of(memory: str) -> str | float:
    """The memory limit in Dask's terms: a share is a number there, a size is text.

    Refused at once where no worker could start with it: it would be restarted again and again, and nobody would know.
    """
    limit = memory if memory == "auto" or memory[-1].isalpha() else float(memory)
    given = parse_memory_limit(limit, 1, 1, logger=logging.getLogger("distributed.nanny"))
    if given is not None and 0 < given < LEAST_MEMORY:
        raise _wrong(
            "memory",
            f"{memory} is {given / 2**20:.1f} MiB per worker, and one needs {LEAST_MEMORY >> 20} MiB "
            "to start; give it more, or leave it out",
        )
    return limit


def _require_encrypted(address: str) -> None:
    """Nothing, or the sentence for a scheduler beyond this machine that anybody can send code to, or listen to."""
    parts = urlsplit(address)
    if parts.scheme in ("tcp", "ws", "ucx") and parts.hostname not in (LOOPBACK, "localhost", "::1"):
        raise _wrong(
            "engine",
            f"{address} is not encrypted, and whoever reaches it can run code on its workers; use tls:// "
            "(docs/clusters.md)",
        )


def _join(address: str) -> Connection:
    """A client of somebody's scheduler; certificates come from Dask's own configuration."""
    _require_encrypted(address)
    if address.startswith("tls://"):
        _require_certificates(address)
    try:
        return Connection(Client(address, timeout=CONNECT_SECONDS, set_as_default=False), None, address)
    except (OSError, TimeoutError) as error:
        raise RunError(
            f"no Dask scheduler answers at {address} ({type(error).__name__} after {CONNECT_SECONDS} s); start one "
            "there (`dask scheduler`), or correct compute.engine"
        ) from error
    except (ValueError, TypeError, RuntimeError) as error:  # the last where Dask is told to encrypt, and this is tcp://
        raise _wrong("engine", f"{address} cannot be connected to: {error}") from error


def _require_certificates(address: str) -> None:
    """Raises where this process has no certificates that can be read: Dask's client would wait a minute to say so."""
    try:
        context = Security().get_connection_args("client").get("ssl_context")
    except OSError as error:  # an unreadable file, or one that is no certificate
        raise _wrong("engine", f"the certificates for {address} cannot be read ({error})") from error
    if context is None:
        raise _wrong(
            "engine",
            f"{address} wants certificates, and this process has none; set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__TLS__CLIENT__CERT and …__TLS__CLIENT__KEY (docs/clusters.md)",
        )


def _wrong(setting: str, sentence: str) -> SettingError:
    return SettingError(f"compute.{setting}: {sentence}", f"compute.{setting}", "")


def cluster_class(engine: str) -> type[Cluster]:
    """The class of clusters that a dotted path names; whatever else stands there is refused, and never called."""
    module, _, name = engine.rpartition(".")
    try:
        named = getattr(importlib.import_module(module), name)
    except Exception as error:  # a module that is imported may raise anything
        raise _wrong(
            "engine", f"there is no Dask cluster class {engine} here ({error}); install its package or correct the path"
        ) from error
    if not isinstance(named, type) or not issubclass(named, Cluster):
        raise _wrong(
            "engine",
            f"{engine} is no Dask cluster class (a subclass of distributed.deploy.Cluster, such as "
            "dask_kubernetes.operator.KubeCluster); of another kind of cluster, name its scheduler's address "
            "(tls://host:8786)",
        )
    return named


def _start_class(settings: Compute) -> Any:
    """The cluster that a dotted path and its `options` describe."""
    start: Any = cluster_class(settings.engine)
    try:
        cluster = start(**settings.options)
    except (TypeError, ValueError) as error:
        raise InputError(f"compute.options do not fit {settings.engine}: {error}") from error
    if settings.workers != "auto":
        cluster.scale(settings.workers)
        with suppress(TimeoutError):  # whoever is late is waited for, aloud, when there is work
            cluster.wait_for_workers(settings.workers, timeout=CONNECT_SECONDS)
    return cluster
