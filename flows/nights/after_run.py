"""What a run leaves when it has ended and is on record (history, Prometheus metrics, MLflow, OpenLineage, a
message): none of it can change how the run ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from assay.data.templates import filled
from assay.flows.nights.history import append_to_history
from assay.flows.nights.notify import send_news
from assay.flows.nights.trackers import send_to_mlflow, send_to_openlineage
from assay.flows.report.all_nights import entries_of
from assay.infra.errors import AssayError, InputError
from assay.infra.storage.artifacts import RunRecord, by_date
from assay.infra.storage.store import Store
from assay.tasks.reporting.report import RunEntry

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from assay.flows.configuration.loading import Project


STATUSES = ("done", "gate failed", "refused", "broken", "crashed")
_HELP: dict[str, str] = YAML(typ="safe").load(filled("prometheus.yaml"))
PrometheusSample = tuple[str, dict[str, str], float]


def write_prometheus(store: Store, place: Path) -> None:
    """The file anew, whole or not at all, for all pipelines of the store."""
    from prometheus_client import generate_latest, write_to_textfile

    written = b""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        while (
            text := generate_latest(gauges := gauges_of(prometheus_samples(store.runs(), entries_of(store))))
        ) != written:
            write_to_textfile(str(place), gauges)  # and once more, where another run has just ended
            written = text
    except OSError as error:
        raise InputError(f"{place}: {error.strerror}. Name a file that may be written with prometheus:.") from error


def prometheus_samples(records: Iterable[RunRecord], entries: Iterable[RunEntry]) -> Iterator[PrometheusSample]:
    """What is known of each pipeline's latest runs; those with `--set` or `--sample` are trials and do not count."""
    ended = [record for record in records if record.status != "running" and not record.is_trial]
    last = {record.pipeline: record for record in ended}
    judged = {record.pipeline: record for record in ended if record.judged}
    nights = {record.id for record in ended}
    reported = [
        entry
        for entry in sorted(entries, key=lambda entry: by_date(entry.started, entry.run))
        if entry.run in nights and entry.link
    ]
    for name, record in sorted(last.items()):
        about = {"pipeline": name}
        for status in dict.fromkeys((*STATUSES, record.status)):
            yield "assay_run_status", {**about, "status": status}, float(record.status == status)
        yield "assay_run_started_timestamp_seconds", about, datetime.fromisoformat(record.started).timestamp()
        yield "assay_run_seconds", about, record.seconds
        for result, count in (judged[name].judged if name in judged else {}).items():
            yield "assay_gates", {**about, "result": result}, count
        yield from _finding_samples(about, [entry for entry in reported if entry.pipeline == name])


def _finding_samples(about: dict[str, str], reported: list[RunEntry]) -> Iterator[PrometheusSample]:
    if not reported:
        return
    yield "assay_red_flags", about, len(reported[-1].flags)
    for headline in reported[-1].headlines:
        if headline.spare:
            continue
        labels = {**about, "finding": headline.name}
        yield "assay_finding", labels, headline.value
        for name, value in (("low", headline.low), ("high", headline.high), ("samples", headline.n)):
            if value is not None:
                yield f"assay_finding_{name}", labels, value


def gauges_of(samples: Iterable[PrometheusSample]) -> CollectorRegistry:
    r"""The samples as gauges, one per name, each with its sentence; of a series that comes twice the last counts.

    >>> from prometheus_client import generate_latest
    >>> print(generate_latest(gauges_of([("assay_run_seconds", {"pipeline": 'a"b'}, 4.5)])).decode())
    # HELP assay_run_seconds How long the last run took.
    # TYPE assay_run_seconds gauge
    assay_run_seconds{pipeline="a\"b"} 4.5
    <BLANKLINE>
    """
    from prometheus_client import CollectorRegistry, Gauge

    registry, gauges = CollectorRegistry(), dict[str, Gauge]()
    for name, labels, value in samples:
        if name not in gauges:
            gauges[name] = Gauge(name, _HELP[name], list(labels), registry=registry)
        gauges[name].labels(**labels).set(value)
    return registry


SERVED = "ASSAY_SERVED"
"""Set by `assay serve` for the runs that it starts, processes of their own: parameters of all deployments, as JSON.

Where it is set, runs leave messages to the serving process: one a night for all of them."""


def leave_traces(
    project: Project, store: Store, record: RunRecord, notice: Callable[[str], None], *, stopped: bool = False
) -> None:
    """The run's file in the history, the metrics, and a message where one is due.

    A run that a person `stopped` sends none: the next one does, should the state still be another.
    """
    _attempt("the history", lambda: append_to_history(store, record), notice)
    settings = project.settings
    if settings.prometheus is not None:
        place = (project.folder / Path(settings.prometheus).expanduser()).absolute()
        _attempt("the metrics", partial(write_prometheus, store, place), notice)
    if settings.mlflow is not None:
        _attempt("its run in MLflow", partial(send_to_mlflow, store, record, settings.mlflow), notice)
    if settings.openlineage is not None:
        send = partial(send_to_openlineage, store, record, settings.openlineage, project.folder)
        _attempt("its lineage", send, notice)
    if settings.notify is not None and not stopped and SERVED not in os.environ:
        _attempt("the message", lambda: list(map(notice, send_news(project, store))), notice)


def _attempt(what: str, work: Callable[[], object], notice: Callable[[str], None]) -> None:
    """Do it, or say that it could not be done."""
    try:
        work()
    except AssayError as error:
        notice(f"The run is kept, {what} could not be written: {error}")
    except Exception as error:  # noqa: BLE001 - whatever fails here, the night has ended and its result stands
        words = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        notice(f"The run is kept, {what} could not be written: {words}")
