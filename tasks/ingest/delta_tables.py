"""A folder that is a Delta table stands for the files of its latest version, not for those that lie in it."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from assay.infra.contained_paths import contained, escape_of
from assay.infra.errors import InputError
from assay.infra.reasons import reason_of
from assay.infra.regular_files import require_regular

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
    _require_own_log(folder, named)
    try:
        for name in _sidecars(folder):
            contained(os.path.join(folder, LOG, "_sidecars"), unquote(name), f"The checkpoint of {named}")
        table = DeltaTable(folder)
        names = pa.table(table.get_add_actions(flatten=True))["path"].to_pylist()
    except (DeltaError, OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{named} is a Delta table whose log cannot be read ({reason_of(error)[:200]}); mend it, or write "
            "what it holds to Parquet, and name that."
        ) from error
    _require_plain(table, named)
    if not names:
        raise InputError(f"{named} is a Delta table without a row in its latest version ({table.version()}).")
    return sorted(_file(folder, name, f"The log of {named}") for name in names)


def _file(folder: str, name: str, log: str) -> str:
    """Where a file of the table lies. Paths are written as addresses are: what a folder's name holds besides letters is
    in percents, decoded once; some writers left that out, and their names are those on the disk."""
    decoded = contained(folder, unquote(name), log)
    return decoded if os.path.exists(decoded) else contained(folder, name, log)


def _require_own_log(folder: str, named: str) -> None:
    """Nothing, or the sentence for a log whose files are links to elsewhere, or pipes that are never read to their
    end."""
    for place, folders, files in os.walk(os.path.join(folder, LOG)):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if reason := escape_of(os.path.relpath(path, folder), folder):
                raise InputError(f"{named} is a Delta table with {name!r} in its log, which {reason}.")
            if name in files:
                require_regular(path, f"{name!r} in the log of {named}")


def _sidecars(folder: str) -> Iterator[str]:
    """The files that the checkpoints of a log name: parts of the checkpoint, read by Delta's library on its own."""
    for path in glob.glob(os.path.join(glob.escape(folder), LOG, "*.checkpoint*")):
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as lines:
                actions = [json.loads(line).get("sidecar") for line in lines if line.strip()]
        elif path.endswith(".parquet"):
            with pq.ParquetFile(path) as file:
                actions = file.read(["sidecar"]).to_pydict().get("sidecar", [])
        else:
            continue
        yield from (str(action["path"]) for action in actions if action)


def _require_plain(table: DeltaTable, named: str) -> None:
    features = set(table.protocol().reader_features or ())
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    for feature, why in _REWRITTEN.items():
        if feature in features:
            raise InputError(f"{named} is a Delta table with {why}; write what it holds now to Parquet, and name that.")
