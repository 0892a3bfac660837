"""From settings to an engine that runs: the one place that knows every kind of engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.infra.compute import Engine, Slots
from assay.infra.errors import InputError
from assay.infra.settings import Compute


def expected_slots(settings: Compute) -> Slots | None:
    """The slots that this machine will have once the engine is started; None where only the engine itself can tell."""
    if settings.engine not in ("local", "serial"):
        return None
    from assay.infra.engines.crew import local_crew

    crew = local_crew(settings)
    gpus = sum(worker.gpu for worker in crew)
    return Slots(1, min(1, gpus)) if settings.engine == "serial" else Slots(len(crew) - gpus, gpus)


def engine_to_look_with(settings: Compute, notice: Callable[[str], None] = lambda _: None) -> Engine:
    """The engine of somebody who only looks: a cluster that would have to be started first is not."""
    if settings.engine not in ("local", "serial") and "://" not in settings.engine:
        raise InputError(
            f"Only the workers of {settings.engine} can say which results are theirs, and a plan starts no cluster: "
            "run the pipeline, or let compute.engine be a scheduler's address for the plan."
        )
    return open_engine(settings, notice)


def open_engine(
    settings: Compute, notice: Callable[[str], None] = lambda _: None, libraries: Sequence[str] = ()
) -> Engine:
    """The engine that the settings name, started; a context manager. May be called in a thread, while others start.

    `notice` hears each sentence that a person should read (no GPU, no worker yet), once. Workers that are started on
    this machine import the `libraries` first; those of a cluster were there before, and will be after.
    """
    from assay.infra.engines.threads import one_thread

    one_thread()
    if settings.engine == "serial":
        from assay.infra.engines.serial import SerialEngine

        return SerialEngine(settings, notice)
    from assay.infra.engines.dask_engine import DaskEngine
    from assay.infra.engines.dask_start import connect

    again = (lambda: connect(settings, lambda _: None)) if "://" in settings.engine else None
    return DaskEngine(connect(settings, notice, libraries), settings, notice, connect_again=again)
