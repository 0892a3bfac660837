"""Stages as Prefect sees them: a task named in our words, with tags, log lines, a progress artifact and one state.

The store decides what is cached; Prefect's own result persistence and cache policies stay off (a cached Prefect result
outlives deleted files). Import this module only inside an orchestrated run: Prefect takes two seconds to import.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from prefect import flow, get_run_logger, tags, task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TagsContext
from prefect.exceptions import TerminationSignal
from prefect.states import Completed
from prefect.tasks import Task

from assay.infra.errors import AssayError, called_without_secrets
from assay.infra.stages.runs import Conductor, Playable, current_position, current_run
from assay.infra.terminal import TerminatedError

R = TypeVar("R")

_SECONDS_BETWEEN_UPDATES = 2.0


class Orchestrated(Conductor):
    """Every stage a Prefect task run, every part of a flow a Prefect flow run."""

    def play(self, stage: Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The stage's handles, computed inside a task run or taken from the store (it then shows `Cached`)."""

        def perform() -> Any:
            log, progress = get_run_logger(), _ProgressArtifact(stage.title)
            result, record = called_without_secrets(lambda: stage.perform(args, kwargs, progress.update))
            progress.finish()
            log.info("%s: %s%s", stage.title, record.summary or "done", " (from the store)" if record.cached else "")
            if record.cached:
                message = f"{stage.title}: taken from the store, key {record.key}"
                return Completed(name="Cached", data=result, message=message)
            return result

        perform.__name__ = perform.__qualname__ = _unique(stage.name)
        as_task: Task[[], Any] = task(
            name=stage.title,
            description=(stage.body.__doc__ or "").strip(),
            task_run_name=stage.title,
            tags={"gpu"} if stage.on_gpu(current_run()) else set(),  # each tag costs a question before and after
            persist_result=False,
            cache_policy=NO_CACHE,
            retries=1,
            retry_delay_seconds=1,
            retry_condition_fn=_is_worth_a_retry,
        )(perform)
        return as_task(return_state=True).result()

    def lead(self, name: str, about: str, part: Callable[[], R]) -> R:
        """What the part returns, inside a flow run of that name."""
        run = current_run()
        called = f"{run.record.pipeline} · {run.id}"
        as_flow = flow(
            name=name, flow_run_name=called, description=about, validate_parameters=False, persist_result=False
        )

        def led() -> R:
            # Of every task with a tag Prefect asks the server whether a limit on it has a slot free: 0.3 s per stage.
            with TagsContext(current_tags=set()):
                return called_without_secrets(part)

        led.__name__ = led.__qualname__ = _unique(name)
        with tags("assay", run.record.pipeline):
            try:
                return as_flow(led)()
            except TerminationSignal as ending:  # inside its flows Prefect hears SIGTERM in our place
                raise TerminatedError from ending


def _unique(name: str) -> str:
    """The name, made unique by where the caller stands in the flow.

    Prefect numbers the runs that go by the same name inside a flow run, and does not expect two threads to ask for a
    number at the same moment: both would get the same one, and one of the runs would be lost.
    """
    return "-".join([name, *map(str, current_position())])


def _is_worth_a_retry(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """A hiccup of the network or the store is; wrong input, and partitions that were retried already, are not."""
    try:
        state.result()
    except AssayError:
        return False
    except OSError:
        return True
    except Exception:  # noqa: BLE001 - Prefect asks about any failure; a bug stays one on the second try
        return False
    return False


class _ProgressArtifact:
    """A bar in Prefect's UI for a stage that takes a while; at most one update every two seconds."""

    def __init__(self, title: str) -> None:
        self._title, self._id, self._last = title, None, time.monotonic()  # type: tuple[str, UUID | None, float]

    def update(self, done: int, total: int) -> None:
        """Show how many of the partitions are done."""
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_UPDATES:
            return
        self._last = now
        self._show(100.0 * done / max(1, total))

    def finish(self) -> None:
        """Fill the bar, if there is one."""
        if self._id is not None:
            self._show(100.0)

    def _show(self, percent: float) -> None:
        if self._id is None:
            artifact_id = create_progress_artifact(progress=percent, description=self._title)
            self._id = artifact_id if isinstance(artifact_id, UUID) else None
        else:
            update_progress_artifact(artifact_id=self._id, progress=percent)
