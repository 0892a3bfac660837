"""Where a pipeline's samples come from, and what their columns mean."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from assay.infra.settings import Settings

ColumnType = Literal["int", "float", "bool", "text", "time"]

ORIGINS = ("dataset", "parquet", "csv", "jsonl", "votes")


def _as_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Paths = Annotated[tuple[str, ...], BeforeValidator(_as_many), Field(min_length=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(_as_many)]


class Source(Settings):
    """One place the samples come from: exactly one of `dataset`, `parquet`, `csv`, `jsonl` and `votes`."""

    dataset: str | None = None
    """A data set by name: an embedded one (`sample/breast-cancer`) or one of the catalogue (`youtube-spam`)."""
    parquet: Paths | None = None
    """Parquet files: paths beside pipelines.yaml, patterns (`day/*.parquet`) or URLs (`s3://bucket/day/*.parquet`)."""
    csv: Paths | None = None
    """CSV files with a header line, in UTF-8: paths, patterns or URLs."""
    jsonl: Paths | None = None
    """JSON Lines files (one object a line), in UTF-8: paths, patterns or URLs."""
    votes: Paths | None = None
    """Votes given as a table (Parquet or CSV): one integer column per labelling function, -1 where it abstains."""
    id: str | None = None
    """The column that names a sample, unique over all files; without it samples are named `file:row`."""
    label: str | None = None
    """The column with the gold class; a missing value (or -1 in a column of whole numbers) means unlabelled."""
    classes: Annotated[tuple[str, ...], Field(min_length=2)] | None = None
    """The classes by name, in the order of their codes 0, 1, ...; without them they are read off the gold labels."""
    columns: dict[str, ColumnType] | None = None
    """Types of columns of text files; those not named are inferred from the first 10 000 rows of the first file."""
    features: Names | None = None
    """The columns to keep beside id and label (default all); in a table of votes, the columns that are no votes."""
    required: Names = ()
    """Columns in which a missing value (null, NaN, empty cell) rejects the row; elsewhere it may enter."""
    split: str | None = None
    """The column that says which part of the data a sample belongs to (train, valid, test)."""
    gold_in: Names | None = None
    """The parts (values of `split`) whose gold labels are used; in the others they are hidden, as in the tutorials."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """The character between the cells of a CSV file."""
    max_rejects: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """The share of rows that may be rejected (each with file, row and reason) before the run stops."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Source:
        given = [name for name in ORIGINS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"a source is exactly one of {', '.join(ORIGINS)}, and here is {found}")
        if self.gold_in is not None and self.split is None and self.dataset is None:
            raise ValueError("gold_in needs split: the column that says which part a sample belongs to")
        if self.classes is not None and len(set(self.classes)) < len(self.classes):
            raise ValueError(f"a class is named twice in classes: {', '.join(self.classes)}")
        return self
