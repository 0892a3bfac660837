"""`assay export RUN --lake WHERE`: what a run knows of single samples, back in the lake that the samples came from.

`WHERE/TABLE/pipeline=…/run=…/part-00000.parquet`, a file per partition of the run; nights lie side by side. What every
run wrote stands in `WHERE/_assay/RUN.json`, written last: without it the run is not there. As Delta each `WHERE/TABLE`
is a Delta table with the same columns and partitions, and a run replaces its own rows only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from assay import __version__
from assay.data.classes import class_names
from assay.flows.export.data_card import plain
from assay.flows.export.image_paths import PathsBeside
from assay.flows.export.lake_tables import HARDNESS, INTERVALS, ORDER, TABLES, VOTES, WEAK_LABELS, Said, TidyTable
from assay.flows.report.records import parts_of, read_table
from assay.flows.report.samples import labelled_by, taken_in
from assay.infra.artifacts import Artifact
from assay.infra.errors import AssayError, InputError
from assay.infra.folders import Folder
from assay.infra.manifests import RunRecord
from assay.infra.reasons import reason_of
from assay.infra.store import Store
from assay.tasks.reporting.numerals import plural

NOTES = "_assay"
"""Engines that read a folder of Parquet files pass over what begins with an underscore."""
PARTITIONS = ("pipeline", "run")


@dataclass(frozen=True)
class Source:
    """A table of the run that rows are made of, and whose labels they are."""

    artifact: Artifact[Any]
    labeler: str = ""


@dataclass(frozen=True)
class Lake:
    """Where the tables go, and of which run."""

    store: Store
    record: RunRecord
    where: str
    delta: bool = False

    @property
    def partition(self) -> dict[str, str]:
        """What parts one run's rows from the others'."""
        return {"pipeline": self.record.pipeline, "run": self.record.id}


def export_to_lake(lake: Lake) -> str:
    """Writes every table that the run has, and its note; returns a sentence on them."""
    if lake.record.status not in ("done", "gate failed"):
        raise InputError(
            f"Run {lake.record.id} is {lake.record.status}: only a whole run goes to a lake.  (assay runs shows all)"
        )
    sources = sources_of(lake.store, lake.record)
    if not sources:
        raise InputError(
            f"Run {lake.record.id} says nothing of single samples: its pipeline has no rules, labels or hardness."
        )
    with _writing_to(lake.where):
        folder = Folder(lake.where)
        _require_one_format(folder, lake)
        note = folder.read_json(f"{NOTES}/{lake.record.id}.json")
    if note is not None:
        return f"{lake.where}: run {lake.record.id} is there already; nothing was written."
    classes = class_names(read_table(lake.store, taken_in(lake.record)["classes"]))
    rows: dict[str, int] = {}
    for table in TABLES:
        if table.name in sources:
            parts = parts_in(lake, table, sources[table.name], classes)
            written = _write_delta(lake, table, parts) if lake.delta else _write_parquet(lake, folder, table, parts)
            rows[table.name] = written
    with _writing_to(lake.where):
        folder.write_json(f"{NOTES}/{lake.record.id}.json", _note(lake, sources, rows, classes))
        folder.write("README.md", _readme(folder, lake.delta).encode())
    tables = ", ".join(f"{name} ({plural(count, 'row')})" for name, count in rows.items())
    return f"{lake.where}: {tables} of run {lake.record.id}, README.md"


def sources_of(store: Store, record: RunRecord) -> dict[str, list[Source]]:
    """What of the run each table is made of, by its name; tables that the run has nothing for are not there."""
    handles = [(one["kind"], Artifact[Any].from_json(one)) for stage in record.stages for one in stage.outputs.values()]
    sources = {
        VOTES.name: [Source(one) for kind, one in handles if kind == "Votes"][:1],
        HARDNESS.name: [Source(one) for kind, one in handles if kind == "SampleHardness" and one.rows],
        WEAK_LABELS.name: [],
        INTERVALS.name: [],
        ORDER.name: [],
    }
    for labeler, labelled in labelled_by(store, record).items():
        for table, artifact in (
            (WEAK_LABELS, labelled.labels),
            (INTERVALS, labelled.intervals),
            (ORDER, labelled.curated),
        ):
            if artifact is not None:
                sources[table.name].append(Source(artifact, labeler))
    return {name: one for name, one in sources.items() if one}


Parts = Iterator[Iterator[pa.RecordBatch]]
"""The rows of a table, partition by partition of the run, and a batch at a time."""


def parts_in(lake: Lake, table: TidyTable, sources: list[Source], classes: list[str]) -> Parts:
    """The rows of a table; one partition of the run is held at a time."""
    for source in sources:
        paths = PathsBeside(lake.store, lake.record)
        for part in parts_of(lake.store, source.artifact):
            yield table.rows(part, Said(classes, source.labeler, paths.of(part["id"])))


def _write_parquet(lake: Lake, folder: Folder, table: TidyTable, parts: Parts) -> int:
    """Writes a file per partition; how many rows there are."""
    below, rows = "/".join([table.name, *(f"{name}={quote(value)}" for name, value in lake.partition.items())]), 0
    for number, batches in enumerate(parts):
        with (
            _writing_to(lake.where),
            folder.writing(f"{below}/part-{number:05d}.parquet") as sink,
            pq.ParquetWriter(sink, table.schema, compression="zstd") as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
    return rows


def _write_delta(lake: Lake, table: TidyTable, parts: Parts) -> int:
    """Puts the run's rows in place of whatever a broken attempt left of them, in one commit."""
    try:
        from deltalake import DeltaTable, write_deltalake
    except ImportError as error:
        raise InputError("Delta tables need the extra `delta`: pip install 'assay-audit[delta]'.") from error
    rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in (batch for batches in parts for batch in batches):
            rows += batch.num_rows
            ours = [pa.repeat(value, batch.num_rows) for value in lake.partition.values()]
            yield pa.RecordBatch.from_arrays([*batch.columns, *ours], schema=schema)

    schema = pa.schema([*table.schema, *((name, pa.string()) for name in PARTITIONS)])
    place = f"{lake.where.rstrip('/')}/{table.name}"
    with _writing_to(lake.where):
        there = DeltaTable.is_deltatable(place)
        stream = pa.RecordBatchReader.from_batches(schema, counted())
        # Names of pipelines and runs have no quote in them.
        only = " and ".join(f"{name} = '{value}'" for name, value in lake.partition.items())
        write_deltalake(
            place,
            stream,
            partition_by=list(PARTITIONS),
            mode="overwrite" if there else "error",
            predicate=only if there else None,
            name=table.name,
            description=table.about,
        )
    return rows


def _require_one_format(folder: Folder, lake: Lake) -> None:
    """Nothing, or the sentence for a lake whose tables are of the other format."""
    for note in _notes(folder):
        if bool(note.get("delta")) != lake.delta:
            there = "Delta tables" if note.get("delta") else "Parquet files"
            raise InputError(f"{lake.where} holds {there} already, and a lake is of one format; name another place.")


def _notes(folder: Folder) -> list[dict[str, Any]]:
    """What every run left there, in the order of their starts."""
    notes = [folder.read_json(name) for name in sorted(folder.sizes(NOTES)) if name.endswith(".json")]
    return sorted((one for one in notes if one), key=lambda one: str(one.get("started")))


def _note(
    lake: Lake, sources: Mapping[str, list[Source]], rows: Mapping[str, int], classes: list[str]
) -> dict[str, Any]:
    """What a run wrote: which run it was, with which seed, settings and classes, and of what its rows are made."""
    digests = {
        name: [{"labeler": one.labeler, "kind": one.artifact.kind, "digest": one.artifact.digest} for one in each]
        for name, each in sources.items()
    }
    samples = taken_in(lake.record)["samples"]
    return {
        "run": lake.record.id,
        "pipeline": lake.record.pipeline,
        "started": lake.record.started,
        "status": lake.record.status,
        "seed": lake.record.seed,
        "assay": __version__,
        "delta": lake.delta,
        "samples": {"rows": samples.rows, "digest": samples.digest},
        "classes": dict(enumerate(classes)),
        "tables": {
            table.name: {
                "about": table.about,
                "rows": rows[table.name],
                "made_of": digests[table.name],
                "columns": {name: {"type": str(dtype), "is": words} for name, (dtype, words) in table.columns.items()},
            }
            for table in TABLES
            if table.name in rows
        },
        "settings": lake.record.settings,
    }


def _readme(folder: Folder, delta: bool) -> str:
    """What lies in the lake, for whoever comes across it."""
    notes = _notes(folder)
    tables = {name for note in notes for name in note["tables"]}
    reading = 'deltalake.DeltaTable("votes").to_pandas()' if delta else 'pandas.read_parquet("votes")'
    lines = [
        "# What Assay's runs know of single samples",
        "",
        f"Tables of {'Delta' if delta else 'Parquet'}, parted by pipeline and run: `{reading}`. Rows join yours by",
        f"`id`. `{NOTES}/RUN.json` has a run's settings, classes and what its rows are made of; a run without one was",
        "not written to its end.",
        "",
        "| run | pipeline | started | seed | samples | digest of the samples |",
        "|---|---|---|---:|---:|---|",
        *(
            f"| {note['run']} | {plain(note['pipeline'])} | {note['started']} | {note['seed']} "
            f"| {note['samples']['rows']} | `{note['samples']['digest']}` |"
            for note in notes
        ),
    ]
    for table in TABLES:
        if table.name in tables:
            lines += ["", f"## {table.name}", "", table.about, "", "| column | type | what it is |", "|---|---|---|"]
            lines += [f"| {name} | {dtype} | {plain(words)} |" for name, (dtype, words) in table.columns.items()]
            lines += [f"| {name} | string | the {name}, by which files are parted |" for name in PARTITIONS]
    return "\n".join([*lines, ""])


@contextlib.contextmanager
def _writing_to(where: str) -> Iterator[None]:
    """Within the block the lake is written to; what its file system says becomes a sentence."""
    try:
        yield
    except AssayError as error:
        if "--store" not in str(error):
            raise
        raise _not_written(where, error.__cause__ or error) from error
    except Exception as error:  # every file system of fsspec's, and Delta, has errors of its own
        raise _not_written(where, error) from error


def _not_written(where: str, error: BaseException) -> InputError:
    reason = reason_of(error)
    return InputError(
        f"Cannot write to the lake at {where} ({reason[:200]}); name a folder, or a URL such as s3://bucket/prefix "
        "whose package is installed (s3fs, gcsfs, adlfs), with --lake."
    )
