"""What past runs left: their records, findings and tables, read from the store without starting anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from assay.flows.nights.missed import missed_nights, no_run_came
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord, StageRecord
from assay.infra.store import Store
from assay.tasks.ingest.shares import share_in_words
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.run_entry import MISSED

if TYPE_CHECKING:
    import pyarrow as pa


def find_run(store: Store, name: str) -> RunRecord:
    """The run of that name, or that the name ends; a pipeline's latest run, or the `latest` of all, that has ended.

    A pipeline's name stands for its whole runs, as long as there is one.
    """
    runs = store.runs()
    if not runs:
        raise InputError(f"There is no run in {store.url} yet.  (assay run NAME makes one)")
    asked = runs if name == "latest" else [run for run in runs if run.pipeline == name]
    if name != "latest":
        asked = [run for run in asked if not run.is_sample] or asked
    ended = [run for run in asked if run.status != "running"]
    return (ended or asked)[-1] if asked else store.run(name)


def page_of(store: Store, record: RunRecord) -> str:
    """Where the page of a run lies in this store; what a record says of that may be an old place, or anybody's."""
    if record.report is None:
        raise InputError(f"Run {record.id} has no report: it is {record.status}.  (assay runs shows all)")
    name = f"reports/{record.id}/index.html"
    if not store.folder.exists(name):
        raise InputError(f"The report of run {record.id} is not in {store.url}: somebody removed it.")
    return f"{store.url}/{name}"


def listed(store: Store, pipeline: str | None = None) -> list[list[object]]:
    """A row per run (its name, pipeline, status, seconds, seed and the line of its verdict that says most), and per
    night that was due and did not come; newest first."""
    rows: list[tuple[datetime, str, list[object]]] = []
    for run in store.runs(pipeline):
        headline = run.worst or (run.verdicts or run.failures or [""])[0]
        headline = f"{sample_in_words(run)}: {headline}" if run.is_sample else headline
        row = [run.id, run.pipeline, run.status, round(run.seconds, 1), run.seed, headline]
        rows.append((datetime.fromisoformat(run.started), run.id, row))
    for name, nights in missed_nights(store).items():
        if pipeline in (None, name):
            rows += [(due, "", ["no run", name, MISSED, None, None, no_run_came(due)]) for due in nights]
    return [row for *_, row in sorted(rows, key=lambda one: one[:2], reverse=True)]


def sample_in_words(run: RunRecord) -> str:
    """What share of the samples a run looked at; empty where it was all of them."""
    return f"a sample of {share_in_words(run.share)}, drawn by seed {run.seed}" if run.is_sample else ""


def tables_of(store: Store, record: RunRecord, kind: str) -> list[tuple[StageRecord, str, pa.Table]]:
    """Every table of a kind that a run used, with its stage and its name among the stage's outputs."""
    tables = []
    for stage in record.stages:
        for name, handle in stage.outputs.items():
            if handle["kind"] == kind:
                tables.append((stage, name, read_table(store, Artifact.from_json(handle))))
    return tables


def read_table(store: Store, artifact: Artifact[Any]) -> pa.Table:
    """The whole table behind a handle, in sample order."""
    import pyarrow as pa

    parts: list[Any] = list(parts_of(store, artifact))
    return pa.concat_tables(parts) if parts else pa.table({})


def parts_of(store: Store, artifact: Artifact[Any], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The partitions of the table behind a handle, in sample order, one at a time."""
    from assay.infra.parquet import read_part

    output = store.output(artifact)
    for part in sorted(output.parts, key=lambda part: part.index):
        yield read_part(store.folder, part.files[output.place], None if columns is None else list(columns))


def describe_store(store: Store) -> list[list[object]]:
    """What a store holds, as rows of name and value."""
    runs = store.runs()
    sizes = store.folder.sizes("stages")
    results = sum(name.endswith("/manifest.json") for name in sizes)
    return [
        ["place", store.url],
        ["runs", f"{len(runs)} of {plural(len({run.pipeline for run in runs}), 'pipeline')}"],
        ["results", f"{results}, {in_bytes(sum(sizes.values()))}"],
        ["latest", runs[-1].id if runs else "no run yet"],
    ]


def in_bytes(size: int) -> str:
    """A size as a person says it.

    >>> in_bytes(512), in_bytes(1536)
    ('512 B', '1.5 KiB')
    """
    amount, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{size} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"
