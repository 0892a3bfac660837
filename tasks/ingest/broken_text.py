"""Text that is no UTF-8 in a format that promises it: Parquet files say that a column is text, and writers break it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.rows import Reject, Rows


def in_utf8(rows: Rows) -> Rows:
    """The rows whose texts are UTF-8; the others are rejected, each with the first of its columns that is not.

    >>> texts = pa.array([b"a", bytes([255])], pa.binary()).view(pa.string())
    >>> read = in_utf8(Rows("t.parquet", pa.table({"note": texts}), np.array([1, 2])))
    >>> read.positions.tolist(), [(reject.row, reject.column) for reject in read.rejects]
    ([1], [(2, 'note')])
    """
    broken: dict[int, str] = {}
    for name in rows.table.column_names:
        for at in _undecodable(rows.table.column(name), rows.file, name):
            broken.setdefault(at, name)
    if not broken:
        return rows
    whole = np.setdiff1d(np.arange(rows.table.num_rows), list(broken))
    rejects = tuple(
        Reject(rows.file, int(rows.positions[at]), "its text is not UTF-8", broken[at]) for at in sorted(broken)
    )
    return Rows(rows.file, rows.table.take(whole), rows.positions[whole], (*rows.rejects, *rejects), rows.files)


def _undecodable(column: pa.ChunkedArray, file: str, name: str) -> list[int]:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            raise InputError(f"{file} holds values in column {name!r} that cannot be read ({error}).") from error
        return [at for at, value in enumerate(column.cast(pa.binary()).to_pylist()) if not _decodes(value)]
    return []


def _decodes(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
