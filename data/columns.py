"""The columns of every kind of table: their names, types and which may be null, as columns.yaml lists them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from ruamel.yaml import YAML

_COLUMNS: dict[str, dict[str, str]] = YAML(typ="safe").load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


def columns_of(kind: str) -> pa.Schema:
    """The schema of a kind of table.

    >>> columns_of("Predictions").field("probabilities").type, columns_of("Samples").field("gold").nullable
    (ListType(list<item: double>), True)
    """
    return pa.schema([_column(name, written) for name, written in _COLUMNS[kind].items()])


def _column(name: str, written: str) -> pa.Field:
    """A column by what is written of it: `int16`, `list[double]`, with a question mark where it may be null."""
    kind, listed, _ = written.removesuffix("?").removeprefix("list[").partition("]")
    dtype = pa.type_for_alias(kind)
    return pa.field(name, pa.list_(dtype) if listed else dtype, nullable=written.endswith("?"))
