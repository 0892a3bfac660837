"""A folder that is a Delta table stands for the files of its latest version, not for those that lie in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import unquote

from assay.infra.errors import InputError
from assay.infra.reasons import reason_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
_REWRITTEN = {
    "deletionVectors": "deletion vectors, so rows that were deleted stand in its files",
    "columnMapping": "mapped columns, whose names are not those in its files",
}
"""What a reader of the files alone would get wrong, by the name of the table's feature."""


def delta_files(folder: str, named: str) -> list[str]:
    """The Parquet files that make up the latest version of the table in a folder on this machine, in order.

    `named` is how a person named it. What a table says beyond its files (rows deleted by vector, other names of
    columns) is refused: reading past it would be another table.
    """
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise InputError(
            f"{named} is a Delta table, and reading it needs the extra `delta`: pip install 'assay-audit[delta]'."
        ) from error
    try:
        table = DeltaTable(folder)
        places = table.file_uris()
    except (DeltaError, OSError, ValueError) as error:
        raise InputError(
            f"{named} is a Delta table whose log cannot be read ({reason_of(error)[:200]}); mend it, or write "
            "what it holds to Parquet, and name that."
        ) from error
    _require_plain(table, named)
    if not places:
        raise InputError(f"{named} is a Delta table without a row in its latest version ({table.version()}).")
    return sorted(_path(place) for place in places)


def _require_plain(table: DeltaTable, named: str) -> None:
    features = set(table.protocol().reader_features or ())
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    for feature, why in _REWRITTEN.items():
        if feature in features:
            raise InputError(f"{named} is a Delta table with {why}; write what it holds now to Parquet, and name that.")


def _path(place: str) -> str:
    """The path of a file; a writer may have put what its folder's name says into letters of an address, or not."""
    path = place.removeprefix("file://")
    return path if os.path.exists(path) else unquote(path)
