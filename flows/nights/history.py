"""The history: one Parquet data set over the findings of all nights, a file per run, which outlives the runs.

`history/pipeline=NAME/month=YYYY-MM/RUN.parquet`, as pandas and DuckDB read partitions. Every run has at least one row,
`run.seconds`, whose verdict is how it ended. The pipeline stands in the path alone: readers take it from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from assay.data.schemas import Findings
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.infra.suggestions import nearest
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.run_findings import findings_of

PLACE = "history"
_OF_THE_RUN = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("started", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("overrides", pa.string(), nullable=False),
    ]
)
SCHEMA = pa.schema([*_OF_THE_RUN, *(one for one in Findings.schema if one.name not in ("run", "pipeline"))])
"""The columns of a file: what is known of the run, then those of its findings."""


def append(store: Store, record: RunRecord) -> None:
    """Put the run's file there, or the same one again; a reader sees all of it or nothing. A sample is no night."""
    import pyarrow.parquet as pq

    if record.is_sample:
        return
    findings = [] if record.findings is None else findings_of(store, record)
    with store.folder.writing(_place(record)) as sink:
        pq.write_table(table_of(record, findings), sink)


def table_of(record: RunRecord, findings: list[Finding]) -> pa.Table:
    """The rows of one run: how it ended, then its findings."""
    ended = Finding("run.seconds", value=record.seconds, verdict=record.status, unit="s")
    rows = findings_table([replace(one, run=record.id) for one in (ended, *findings)])
    known = {
        "started": datetime.fromisoformat(record.started),
        "status": record.status,
        "seed": record.seed,
        "overrides": ", ".join(record.overrides),
    }
    constant = {name: pa.array([value] * len(rows), SCHEMA.field(name).type) for name, value in known.items()}
    return pa.table(
        [constant.get(name, rows[name] if name in rows.schema.names else None) for name in SCHEMA.names], schema=SCHEMA
    )


def rebuild(store: Store) -> tuple[int, int, list[str]]:
    """Write the file of every run in the store anew: how many, how many files stay of runs that are gone, what failed.

    A run that `store clean` removed has only its file in the history left: that is kept.
    """
    written, troubles = set[str](), list[str]()
    for record in store.runs():
        if record.status == "running" or record.is_sample:
            continue
        try:
            append(store, record)
        except InputError as error:
            troubles.append(str(error))
        written.add(_place(record))
    return len(written) - len(troubles), len(set(_files(store)) - written), troubles


def pipelines_in(store: Store) -> list[str]:
    """The pipelines that the history knows."""
    return [name.removeprefix("pipeline=") for name in store.folder.folders(PLACE)]


def read(store: Store, pipeline: str) -> pa.Table:
    """The history of a pipeline, oldest run first."""
    known = pipelines_in(store)
    if pipeline not in known:
        if not known:
            raise InputError(
                f"There is no history in {store.url} yet.  (assay store rebuild makes it of the runs there)"
            )
        match = nearest(pipeline, known)
        meant = f" Did you mean {match}?" if match else f" It has {', '.join(known)}."
        raise InputError(f'There is no pipeline "{pipeline}" in the history of {store.url}.{meant}')
    tables = [_read_file(store, name) for name in _files(store, pipeline)]
    whole = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    return whole.take(pa.compute.sort_indices(whole, [("started", "ascending"), ("run", "ascending")]))


def _read_file(store: Store, name: str) -> pa.Table:
    from assay.infra.parquet import read_parquet

    try:
        return read_parquet(store.folder, name).select(SCHEMA.names).cast(SCHEMA)
    except (pa.ArrowInvalid, KeyError, OSError, ValueError) as error:
        raise InputError(
            f"{store.url}/{name} is damaged ({error}): delete it, then assay store rebuild writes it anew."
        ) from None


def _place(record: RunRecord) -> str:
    return f"{PLACE}/pipeline={record.pipeline}/month={record.started[:7]}/{record.id}.parquet"


def _files(store: Store, pipeline: str = "") -> Iterator[str]:
    below = f"{PLACE}/pipeline={pipeline}" if pipeline else PLACE
    return (name for name in store.folder.sizes(below) if name.endswith(".parquet"))
