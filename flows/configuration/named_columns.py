"""The columns of the samples that a pipeline names outside its source: looked for before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.flows.configuration.mistakes import Where

if TYPE_CHECKING:
    from assay.flows.pipeline import Pipeline

NamedColumn = tuple[Where, str, str]
"""Where a column is named, its name, and who reads it."""


def named_columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """Every column of the samples that audits read by name."""
    for kind in pipeline.kinds:
        yield from kind.columns(pipeline)


def no_such_column(column: str, reader: str, columns: Sequence[str]) -> str:
    """What is wrong with a column that the samples do not have.

    >>> no_such_column("txt", "the classifier reads", ["text", "age"])
    "the samples have no column 'txt', which the classifier reads; beside id and label they have text, age."
    """
    listed = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
    return f"the samples have no column {column!r}, which {reader}; beside id and label they have {listed}."
