"""The columns that folders say (`year=2026/month=1/`, as Hive, Spark and DuckDB write them), beside the files' own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.casting import TYPES, cast_text, infer_type
from assay.tasks.ingest.files import SourceFile
from assay.tasks.ingest.rows import Rows
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.spans import Span

if TYPE_CHECKING:
    from assay.tasks.ingest.choice import ReaderChoice
    from assay.tasks.ingest.heads import Head
    from assay.tasks.ingest.pieces import Reading

_NOTHING = "__HIVE_DEFAULT_PARTITION__"

Columns = tuple[pa.Schema, dict[str, "Head"]]


def partition_path(url: str) -> str:
    """The path of a file from its first partition on; empty where no folder is one.

    >>> partition_path("s3://lake/day/year=2026/month=1/a.parquet"), partition_path("/data/a.parquet")
    ('year=2026/month=1/a.parquet', '')
    """
    steps = url.split("/")
    first = next((at for at, step in enumerate(steps[:-1]) if _is_partition(step)), None)
    return "" if first is None else "/".join(steps[first:])


def _is_partition(step: str) -> bool:
    name, sign, _ = step.partition("=")
    return bool(sign) and name.isidentifier()


def partition_values(url: str) -> dict[str, str | None]:
    """What the folders of a file say, by column; nothing where Hive wrote that there is no value.

    >>> partition_values("/lake/year=2026/site=St%20Mary/a.csv")
    {'year': '2026', 'site': 'St Mary'}
    """
    steps = [step.partition("=") for step in posixpath.dirname(url).split("/") if _is_partition(step)]
    return {name: None if value == _NOTHING else unquote(value) for name, _, value in steps}


def with_folder_columns(reader: ReaderChoice) -> ReaderChoice:
    """The reader, its rows with the columns that the folders say; a file's own column of that name is not read."""

    def columns(files: Sequence[SourceFile], settings: Source) -> Columns:
        by_column = _folder_values(files)
        declared = settings.columns or {}
        inside = {name: kind for name, kind in declared.items() if name not in by_column}
        types, heads = reader.columns(files, settings.model_copy(update={"columns": inside or None}))
        own = [field for field in types if field.name not in by_column]
        return pa.schema([*own, *((name, _type(name, values, declared)) for name, values in by_column.items())]), heads

    def read(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
        partition = partition_values(reading.urls[span.name])
        types = reading.layout.types
        rows = reader.read(span, reading, tuple(name for name in needed if name not in partition))
        table, count = rows.table, len(rows.positions)
        for name in (column for column in needed if column in partition):
            cell = cast_text(pa.array([partition[name]], pa.string()), types.field(name).type)[0][0]
            table = table.append_column(name, pa.repeat(cell, count))
        return replace(rows, table=table.select(list(needed)))

    return replace(reader, columns=columns, read=read)


def _folder_values(files: Sequence[SourceFile]) -> dict[str, list[str | None]]:
    """The values of all files, by column; the folders of all files have the same columns."""
    first, *others = [partition_values(file.url) for file in files]
    for file, partition in zip(files[1:], others, strict=True):
        if set(partition) != set(first):
            raise InputError(
                f"{file.name} lies in folders that say {_listed(partition)}, and {files[0].name} in such that say "
                f"{_listed(first)}; give files that are partitioned alike."
            )
    return {name: [values[name] for values in (first, *others)] for name in first}


def _listed(names: Iterable[str]) -> str:
    return " and ".join(names) or "nothing"


def _type(name: str, values: Sequence[str | None], declared: Mapping[str, str]) -> pa.DataType:
    """The type that was declared, where every folder's value is of it, else the one that the values suggest."""
    if name not in declared:
        return infer_type(pa.array([value or "" for value in values], pa.string()))
    target = TYPES[declared[name]]
    bad = cast_text(pa.array(values, pa.string()), target)[1]
    if len(bad):
        raise InputError(
            f"A folder says {name}={values[bad[0]]}, and `columns` says that {name} is {declared[name]}; correct one "
            "of them."
        )
    return target
