"""From settings to an engine that runs: calls one after the other in this process, for debugging and as the measure of
every other engine, or Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from assay.infra.engines.calls import (
    Call,
    Engine,
    Folded,
    Merge,
    OnDone,
    Outcome,
    Slot,
    Slots,
    one_thread,
    outcome_of,
    process_state,
    unheard,
)
from assay.infra.engines.devices import Notices, gpus_here, local_crew, route
from assay.infra.errors import InputError, Stopped
from assay.infra.settings import Compute
from assay.infra.storage.keys import processor_of

V = TypeVar("V")


class SerialEngine(Engine):
    """One CPU slot, this process; a GPU slot as well where there is a CUDA device (or `gpu_workers` says so)."""

    def __init__(self, settings: Compute, notice: Callable[[str], None] = lambda _: None) -> None:
        self._settings = settings
        self._closed = False
        self._say = Notices(notice)
        self.notices: list[str] = self._say
        self._slots = Slots(cpu=1, gpu=min(1, len(gpus_here(settings))))

    def slots(self) -> Slots:
        """One CPU slot, and one GPU slot where there is a GPU."""
        return self._slots

    def run(self, calls: Iterable[Call], *, gpu: bool = False) -> Iterator[Outcome]:
        """The outcome of every call, in order."""
        slot = route(gpu, self._settings, self._slots, self._say)
        return (self._outcome(call, slot) for call in calls)

    def fold(self, calls: Iterable[Call], merge: Merge[V], *, gpu: bool = False, done: OnDone = unheard) -> Folded[V]:
        """The values of all calls merged, one after the other."""
        merged, failed = list[V](), list[Outcome]()
        for count, outcome in enumerate(self.run(calls, gpu=gpu), start=1):
            if outcome.error is None:
                value = cast(V, outcome.value)
                merged = [merge(merged[0], value)] if merged else [value]
            else:
                failed.append(outcome)
            done(count)
        return Folded(merged[0] if merged else None, tuple(failed))

    def share(self, value: object) -> object:
        """The value itself: it is here already."""
        return value

    def processor(self, profile: str = "strict") -> str:
        """This machine's."""
        return processor_of(profile)

    def close(self) -> None:
        """Begin no further call."""
        self._closed = True

    def _outcome(self, call: Call, slot: Slot) -> Outcome:
        for _ in range(self._settings.retries + 1):
            try:
                with process_state:  # stages may go on at once; calls have one process and what its threads share
                    if self._closed:
                        raise Stopped
                    return outcome_of(call.index, call.function, call.args, "this process", slot)
            except InputError as error:
                return Outcome(call.index, error=error)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this call's outcome and not the run's end
                failure = error
        return Outcome(call.index, error=failure)


def expected_slots(settings: Compute) -> Slots | None:
    """The slots that this machine will have once the engine is started; None where only the engine itself can tell."""
    if not settings.on_this_machine:
        return None
    crew = local_crew(settings)
    gpus = sum(worker.gpu for worker in crew)
    return Slots(1, min(1, gpus)) if settings.engine == "serial" else Slots(len(crew) - gpus, gpus)


def engine_for_plan(settings: Compute) -> Engine:
    """The engine of somebody who only looks: a cluster that would have to be started first is not."""
    if not settings.on_this_machine and "://" not in settings.engine:
        raise InputError(
            f"Only the workers of {settings.engine} can say which results are theirs, and a plan starts no cluster: "
            "run the pipeline, or let compute.engine be a scheduler's address for the plan."
        )
    return open_engine(settings)


def prepare_workers(settings: Compute, libraries: Sequence[str] = ()) -> None:
    """Let the process that workers on this machine are forked from begin with its imports, before they are started."""
    if settings.engine == "local":
        from assay.infra.engines.dask_start import start_fork_server

        start_fork_server(settings, libraries)


def open_engine(
    settings: Compute, notice: Callable[[str], None] = lambda _: None, libraries: Sequence[str] = ()
) -> Engine:
    """The engine that the settings name, started; a context manager. May be called in a thread, while others start.

    `notice` hears each sentence that a person should read (no GPU, no worker yet), once. Workers that are started on
    this machine import the `libraries` first; those of a cluster were there before, and will be after.
    """
    one_thread()
    if settings.engine == "serial":
        return SerialEngine(settings, notice)
    from assay.infra.engines.dask_engine import DaskEngine
    from assay.infra.engines.dask_start import connect

    again = (lambda: connect(settings)) if "://" in settings.engine else None
    return DaskEngine(connect(settings, libraries), settings, notice, connect_again=again)
