"""`assay export RUN --lake WHERE`: what a run knows of single samples, as tidy tables in the lake that the samples
came from.

`WHERE/TABLE/pipeline=…/run=…/part-00000.parquet`, a file per partition of the run; nights lie side by side. What
every run wrote stands in `WHERE/_assay/RUN.json`, written last: without it the run is not there. As Delta each
`WHERE/TABLE` is a Delta table with the same columns and partitions, and a run replaces its own rows only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from assay import __version__
from assay.data.templates import filled
from assay.flows.export.curated_sets import classes_of, markdown_table, original_paths
from assay.flows.report.records import artifacts_of, ingested, labelled_by, parts_of
from assay.infra.errors import AssayError, InputError, reason_of, require_library
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.folders import Folder
from assay.infra.storage.store import Store
from assay.tasks.reporting.numerals import plural

_BATCH = 1 << 17

Made = Callable[[pa.Table, "BesidePartition"], Iterator[pa.Table]]


@dataclass(frozen=True)
class BesidePartition:
    """What is said beside a partition: the classes by name, whose labels they are, and the paths of its samples."""

    classes: Sequence[str]
    labeler: str
    paths: pa.Array

    def name_of(self, codes: pa.ChunkedArray | pa.Array) -> pa.Array:
        """The names of class codes, null where a code is.

        >>> BesidePartition(["ham", "spam"], "", pa.nulls(0)).name_of(pa.array([1, None], pa.int16())).to_pylist()
        ['spam', None]
        """
        return pa.array(self.classes, pa.string()).take(codes)


@dataclass(frozen=True)
class TidyTable:
    """One table of the lake: what its rows are, its columns with their meaning, and how a partition becomes rows."""

    name: str
    about: str
    columns: Mapping[str, tuple[pa.DataType, str]]
    made: Made

    @property
    def schema(self) -> pa.Schema:
        """Names and types of its columns."""
        return pa.schema([(name, dtype) for name, (dtype, _) in self.columns.items()])

    def rows(self, part: pa.Table, context: BesidePartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, a batch at a time."""
        for table in self.made(part, context):
            yield from table.select(self.schema.names).cast(self.schema).to_batches(max_chunksize=_BATCH)


def votes_of(votes: pa.Table, context: BesidePartition) -> Iterator[pa.Table]:
    """A row per sample and function, function by function; null where it abstains.

    >>> rows = pa.table({"id": ["a", "b"], "has_link": pa.array([1, -1], pa.int8())})
    >>> next(votes_of(rows, BesidePartition(["ham", "spam"], "", pa.nulls(2, pa.string()))))["vote_name"].to_pylist()
    ['spam', None]
    """
    for name in votes.column_names[1:]:
        cast = pc.if_else(pc.less(votes[name], 0), None, votes[name].cast(pa.int16()))
        function = pa.array([name] * votes.num_rows, pa.string())
        columns = [votes["id"], context.paths, function, cast, context.name_of(cast)]
        yield pa.table(columns, names=["id", "path", "function", "vote", "vote_name"])


def labels_of(labels: pa.Table, context: BesidePartition) -> Iterator[pa.Table]:
    """A row per sample: what a labeler says of it, with whatever stands beside."""
    beside = {"path": context.paths, "labeler": pa.array([context.labeler] * labels.num_rows, pa.string())}
    for codes, named in (("label", "label_name"), ("gold", "gold_name")):
        if codes in labels.column_names:
            beside[named] = context.name_of(labels[codes])
    yield pa.table({name: labels[name] for name in labels.column_names} | beside)


def hardness_of(rows: pa.Table, context: BesidePartition) -> Iterator[pa.Table]:
    """The rows as they are, with their paths."""
    yield rows.append_column("path", context.paths)


_TABLES: dict[str, Any] = YAML(typ="safe").load(files("assay.data").joinpath("lake.yaml").read_text(encoding="utf-8"))
TABLES = {
    name: TidyTable(
        name,
        table["about"],
        {column: (pa.type_for_alias(dtype), words) for column, (dtype, words) in table["columns"].items()},
        {"votes": votes_of, "hardness": hardness_of}.get(name, labels_of),
    )
    for name, table in _TABLES.items()
}
"""The tables of a lake by their names, as data/lake.yaml describes them."""

NOTES = "_assay"
"""Engines that read a folder of Parquet files pass over what begins with an underscore."""
PARTITIONS = ("pipeline", "run")


LakeSource = tuple[Artifact[Any], str]
"""A table of the run that rows are made of, and whose labels they are; nobody's where that is empty."""


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


def export_to_lake(store: Store, record: RunRecord, where: str, delta: bool | None = False) -> str:
    """Writes every table that the run has, and its note; returns a sentence on them."""
    lake, run = Lake(store, record, where, bool(delta)), f"Run {record.id}"
    if not record.is_complete:
        raise InputError(f"{run} is {record.status}: only a whole run goes to a lake.  (assay runs shows all)")
    sources = sources_of(store, record)
    if not sources:
        raise InputError(f"{run} says nothing of single samples: its pipeline has no rules, labels or hardness.")
    with _writing_to(where):
        folder = Folder(where)
        for earlier in _notes(folder):
            if bool(earlier.get("delta")) != lake.delta:
                there = "Delta tables" if earlier.get("delta") else "Parquet files"
                raise InputError(f"{where} holds {there} already, and a lake is of one format; name another place.")
        note = folder.read_json(f"{NOTES}/{record.id}.json")
    if note is not None:
        return f"{where}: run {record.id} is there already; nothing was written."
    classes = classes_of(store, record)
    rows: dict[str, int] = {}
    for table in TABLES.values():
        if table.name in sources:
            parts = parts_in(lake, table, sources[table.name], classes)
            written = _write_delta(lake, table, parts) if lake.delta else _write_parquet(lake, folder, table, parts)
            rows[table.name] = written
    with _writing_to(where):
        folder.write_json(f"{NOTES}/{record.id}.json", _note(lake, sources, rows, classes))
        folder.write("README.md", _readme(folder, lake.delta).encode())
    tables = ", ".join(f"{name} ({plural(count, 'row')})" for name, count in rows.items())
    return f"{where}: {tables} of run {record.id}, README.md"


def sources_of(store: Store, record: RunRecord) -> dict[str, list[LakeSource]]:
    """What of the run each table is made of, by its name; tables that the run has nothing for are not there."""
    hardness = [artifact for artifact in artifacts_of(record, "SampleHardness") if artifact.rows]
    sources: dict[str, list[LakeSource]] = {name: [] for name in TABLES}
    sources["votes"] += [(artifact, "") for artifact in artifacts_of(record, "Votes")[:1]]
    sources["hardness"] += [(artifact, "") for artifact in hardness]
    for labeler, made in labelled_by(store, record).items():
        beside = {"weak_labels": made.labels, "intervals": made.intervals, "adversarial_order": made.curated}
        for name, artifact in beside.items():
            if artifact is not None:
                sources[name].append((artifact, labeler))
    return {name: made_of for name, made_of in sources.items() if made_of}


Parts = Iterator[Iterator[pa.RecordBatch]]
"""The rows of a table, partition by partition of the run, and a batch at a time."""


def parts_in(lake: Lake, table: TidyTable, sources: list[LakeSource], classes: list[str]) -> Parts:
    """The rows of a table; one partition of the run is held at a time, beside the paths of all images."""
    named_by_path = (lake.record.settings.get("source") or {}).get("images") is not None
    paths = {} if named_by_path else original_paths(lake.store, lake.record)
    for artifact, labeler in sources:
        for part in parts_of(lake.store, artifact):
            ids = part["id"].combine_chunks()
            beside = ids if named_by_path else pa.array(map(paths.get, ids.to_pylist()), pa.string())
            yield table.rows(part, BesidePartition(classes, labeler, beside))


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
    require_library("deltalake", "What writes Delta tables (the extra `delta`)", "delta")
    from deltalake import DeltaTable, write_deltalake

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
        # Names of pipelines and runs have no quote in them.
        only = " and ".join(f"{name} = '{value}'" for name, value in lake.partition.items())
        write_deltalake(
            place,
            pa.RecordBatchReader.from_batches(schema, counted()),
            partition_by=list(PARTITIONS),
            mode="overwrite" if there else "error",
            predicate=only if there else None,
            name=table.name,
            description=table.about,
        )
    return rows


def _notes(folder: Folder) -> list[dict[str, Any]]:
    """What every run left there, in the order of their starts."""
    notes = [folder.read_json(name) for name in sorted(folder.sizes(NOTES)) if name.endswith(".json")]
    return sorted((note for note in notes if note), key=lambda note: str(note.get("started")))


def _note(
    lake: Lake, sources: Mapping[str, list[LakeSource]], rows: Mapping[str, int], classes: list[str]
) -> dict[str, Any]:
    """What a run wrote: which run it was, with which seed, settings and classes, and of what its rows are made."""
    digests = {
        name: [{"labeler": labeler, "kind": artifact.kind, "digest": artifact.digest} for artifact, labeler in each]
        for name, each in sources.items()
    }
    samples = ingested(lake.record)["samples"]
    return {
        **{name: getattr(lake.record, name) for name in ("pipeline", "started", "status", "seed", "settings")},
        "run": lake.record.id,
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
            for table in TABLES.values()
            if table.name in rows
        },
    }


def _readme(folder: Folder, delta: bool) -> str:
    """What lies in the lake, for whoever comes across it."""
    notes = _notes(folder)
    tables = {name for note in notes for name in note["tables"]}
    headings = ("run", "pipeline", "started", "seed", "samples", "digest of the samples")
    runs = [
        (*(note[name] for name in headings[:4]), note["samples"]["rows"], note["samples"]["digest"]) for note in notes
    ]
    described = ""
    for table in (table for table in TABLES.values() if table.name in tables):
        columns = [(name, kind, words) for name, (kind, words) in table.columns.items()]
        columns += [(name, "string", f"the {name}, by which files are parted") for name in PARTITIONS]
        listed = markdown_table(("column", "type", "what it is"), columns)
        described += filled("lake_table.md", name=table.name, about=table.about, columns=listed)
    reading = 'deltalake.DeltaTable("votes").to_pandas()' if delta else 'pandas.read_parquet("votes")'
    format_name = "Delta" if delta else "Parquet"
    return filled("lake.md", format=format_name, reading=reading, runs=markdown_table(headings, runs), tables=described)


@contextlib.contextmanager
def _writing_to(where: str) -> Iterator[None]:
    """Within the block the lake is written to; what its file system says becomes a sentence."""
    try:
        yield
    except Exception as error:  # every file system of fsspec's, and Delta, has errors of its own
        ours = isinstance(error, AssayError)
        if ours and "--store" not in str(error):
            raise
        reason = reason_of((error.__cause__ if ours else None) or error)
        raise InputError(
            f"Cannot write to the lake at {where} ({reason[:200]}); name a folder, or a URL such as s3://bucket/prefix "
            "whose package is installed (s3fs, gcsfs, adlfs), with --lake."
        ) from error
