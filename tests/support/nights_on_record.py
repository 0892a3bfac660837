"""Nights as a store holds them, with whatever end a test needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pyarrow.parquet as pq

from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_table

FIRST = datetime.fromisoformat("2026-11-20T02:00:00+00:00")


def night(
    store: Store,
    number: int,
    pipeline: str = "digits",
    status: str = "done",
    accuracy: float | None = 0.9,
    overrides: Sequence[str] = (),
    worst: str = "",
) -> RunRecord:
    """The record of a night that took a minute; with an accuracy it has findings, too."""
    started = FIRST + timedelta(days=number)
    name = f"{started:%Y-%m-%d-%H%M}-{pipeline[:3]}{number}"
    record = RunRecord(name, pipeline, started.isoformat(), 0, "host", 1, status=status, seconds=60.0)
    record.overrides, record.worst = list(overrides), worst
    if accuracy is not None:
        interval = {"low": accuracy - 0.02, "high": accuracy + 0.02, "n": 500}
        found = [
            Finding("subject.accuracy", of="gold", subject="plain", value=accuracy, **interval),
            Finding("attack.success_rate", of="pgd", group="eps=0.1", subject="plain", value=1 - accuracy, **interval),
            Finding("pruning.kept", value=7, n=30),
            Finding("attack.success_rate", of="gap", group="eps=0.1", subject="plain", value=0.5, n=500),
        ]
        with store.folder.writing(f"runs/{name}/findings.parquet") as sink:
            pq.write_table(findings_table(found), sink)
        record.findings = f"{store.url}/runs/{name}/findings.parquet"
        record.report = f"{store.url}/reports/{name}/index.html"
    store.save_run(record)
    return record
