"""Runs that have ended, as a store holds them: a record and its findings, without anything having been computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.parquet as pq

from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_table


def leave_run(
    store: Store,
    pipeline: str,
    findings: Sequence[Finding],
    number: int = 0,
    settings: Mapping[str, object] | None = None,
    seed: int = 0,
) -> str:
    """A finished run with these findings; its name."""
    name = f"2026-11-2{number}-0200-a{number}b2"
    with store.folder.writing(f"runs/{name}/findings.parquet") as sink:
        pq.write_table(findings_table(findings), sink)
    place = f"{store.url}/runs/{name}/findings.parquet"
    started = f"2026-11-2{number}T02:00:00+00:00"
    record = RunRecord(name, pipeline, started, seed, "host", 1, status="done", findings=place)
    record.settings = dict(settings or {})
    store.save_run(record)
    return name
