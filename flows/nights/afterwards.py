"""What a run leaves behind when it has ended and is on record: none of this can change how it ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from assay.flows.nights import history, lineage, metrics, mlflow_runs
from assay.flows.nights.telling import tell
from assay.infra.errors import AssayError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store

if TYPE_CHECKING:
    from assay.flows.pipeline import Project

SERVED = "ASSAY_SERVED"
"""Set by `assay serve` for the runs that it starts, processes of their own: parameters of all deployments, as JSON.

Where it is set, runs leave messages to the serving process: one a night for all of them."""


def leave_traces(
    project: Project, store: Store, record: RunRecord, notice: Callable[[str], None], *, stopped: bool = False
) -> None:
    """The run's file in the history, the metrics, and a message where one is due.

    A run that a person `stopped` sends none: the next one does, should the state still be another.
    """
    _do("the history", lambda: history.append(store, record), notice)
    if project.prometheus is not None:
        place = project.prometheus
        _do("the metrics", lambda: metrics.write(store, place), notice)
    if project.mlflow is not None:
        _do("its run in MLflow", partial(mlflow_runs.send, store, record, project.mlflow), notice)
    if project.openlineage is not None:
        _do("its lineage", partial(lineage.send, store, record, project.openlineage, project.folder), notice)
    if project.notify is not None and not stopped and SERVED not in os.environ:
        _do("the message", lambda: _tell(project, store, notice), notice)


def _tell(project: Project, store: Store, notice: Callable[[str], None]) -> None:
    for sentence in tell(project, store):
        notice(sentence)


def _do(what: str, work: Callable[[], object], notice: Callable[[str], None]) -> None:
    """Do it, or say that it could not be done."""
    try:
        work()
    except AssayError as error:
        notice(f"The run is kept, {what} could not be written: {error}")
    except Exception as error:  # noqa: BLE001 - whatever fails here, the night has ended and its result stands
        words = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        notice(f"The run is kept, {what} could not be written: {words}")
