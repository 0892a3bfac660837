"""The files of catalogue data sets, each fault of theirs in a sentence, and the classes that a table names."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from assay.infra.errors import InputError


def present(path: Path) -> Path:
    """The path; refused where no file is there."""
    if not path.exists():
        raise InputError(f"{path} is missing; the catalogue entry says where the data set is to be had.")
    return path


def unpacked(path: Path) -> bytes:
    """The content of a file, unpacked where its name ends in `.gz`."""
    content = present(path).read_bytes()
    try:
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as fault:
        raise InputError(f"{path} cannot be unpacked: {fault}.") from fault


def require_columns(path: Path, wanted: Sequence[str], there: Sequence[object]) -> None:
    """Nothing, or the sentence for the first column that a file lacks."""
    missing = [column for column in wanted if column not in there]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; it has {', '.join(map(str, there))}.")


def with_classes(table: pa.Table, classes: Sequence[str], **about: str) -> pa.Table:
    """The table, its schema's metadata naming its classes in the order of their codes, and what else it says.

    >>> with_classes(pa.table({"id": ["a"]}), ["no", "yes"], images="raw").schema.metadata
    {b'classes': b'["no", "yes"]', b'images': b'raw'}
    """
    return table.replace_schema_metadata({"classes": json.dumps(list(classes)), **about})
