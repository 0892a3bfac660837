"""The columns of every kind of table: their names, types and which may be null, as columns.yaml lists them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from ruamel.yaml import YAML

from assay.infra.storage.artifacts import Table

_COLUMNS: dict[str, dict[str, str]] = YAML(typ="safe").load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


class ListedTable(Table):
    """A kind of table whose columns stand under its name in columns.yaml.

    >>> class Predictions(ListedTable): pass
    >>> Predictions.schema.field("probabilities").type, Predictions.schema.field("predicted").nullable
    (ListType(list<item: double>), False)
    """

    def __init_subclass__(cls) -> None:
        cls.schema = pa.schema([_column(name, written) for name, written in _COLUMNS[cls.__name__].items()])


def _column(name: str, written: str) -> pa.Field:
    """A column by what is written of it: `int16`, `list[double]`, with a question mark where it may be null."""
    kind, listed, _ = written.removesuffix("?").removeprefix("list[").partition("]")
    dtype = pa.type_for_alias(kind)
    return pa.field(name, pa.list_(dtype) if listed else dtype, nullable=written.endswith("?"))
